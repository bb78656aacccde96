"""AWA: the same images in every view, histograms as the roots of their shares."""

import hashlib

import numpy as np
import pytest
from study.tests.datasets.published import write_awa, write_awa_compact

import manifuse as mf
from manifuse_study.datasets.awa import AWA, COMPACT_WIDTHS, ROOT, hellinger

ROWS = "The paper counts 30,475 images; this copy has 100."


def roots(counts):
    totals = counts.sum(axis=1, keepdims=True)
    return np.sqrt(counts / np.where(totals > 0, totals, 1))


def test_euclidean_distances_of_roots_are_hellingers(rng, tmp_path):
    counts = rng.integers(0, 9, (2, 30))
    first, second = hellinger(counts, tmp_path)
    np.testing.assert_allclose(np.sum(first**2), 1.0, rtol=1e-6)
    shares = counts / counts.sum(axis=1, keepdims=True)
    affinity = np.sqrt(shares[0] * shares[1]).sum()
    np.testing.assert_allclose(np.sum((first - second) ** 2), 2 - 2 * affinity, rtol=1e-5)


def test_a_histogram_without_a_count_stays_zero(tmp_path):
    assert hellinger(np.zeros((1, 4)), tmp_path).tolist() == [[0.0] * 4]


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_values_that_are_not_counts_are_refused(tmp_path, bad):
    with pytest.raises(mf.InputError, match="negative or not numbers"):
        hellinger(np.array([[1.0, bad]]), tmp_path)


def test_the_owners_files_keep_the_order_of_classes_and_images(tmp_path, rng):
    written = write_awa(tmp_path, rng)
    dataset = AWA.load(tmp_path)
    assert list(dataset.tasks) == ["surf", "sift", "phog", "decaf", "vgg19"]
    for name, task in dataset.tasks.items():
        expected = written[name] if name in ("decaf", "vgg19") else roots(written[name])
        np.testing.assert_allclose(task.features, expected, rtol=1e-6)
        assert task.features.dtype == np.float32
        np.testing.assert_array_equal(task.labels, np.repeat(np.arange(50), 2))
    assert dataset.deviations == (ROWS,)


def test_one_digest_covers_the_files_of_a_view(tmp_path, rng):
    write_awa(tmp_path, rng, networks=())
    sums = AWA.load(tmp_path).checksums
    assert list(sums) == [f"{ROOT}/classes.txt", *(f"{ROOT}/Features/{v}-hist" for v in ("surf", "sift", "phog"))]
    folder = tmp_path / ROOT / "Features" / "phog-hist"
    # Classes were written in reverse, images by their names.
    files = [path for animal in sorted(folder.iterdir(), reverse=True) for path in sorted(animal.iterdir())]
    whole = b"".join(path.read_bytes() for path in files)
    assert sums[f"{ROOT}/Features/phog-hist"] == hashlib.sha256(whole).hexdigest()


def test_missing_views_of_networks_are_named(tmp_path, rng):
    write_awa(tmp_path, rng, networks=("vgg19",), each=1)
    dataset = AWA.load(tmp_path)
    assert list(dataset.tasks) == ["surf", "sift", "phog", "vgg19"]
    assert dataset.deviations[-1] == "Without the views DeCAF."


def append(path, text):
    path.write_text(path.read_text() + text)


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda root, one: one.unlink(), "has other images in sift than in surf"),
        (lambda root, one: one.write_text("7\n"), "cannot be read as 2000 numbers"),
        (lambda root, one: one.write_text("7 " * 1999 + "x"), "cannot be read as 2000 numbers"),
        (lambda root, one: [path.unlink() for path in one.parent.iterdir()], "has no images"),
        (lambda root, one: (root / "classes.txt").write_text("1 bear\n"), "names 1 classes in 1 lines"),
        (
            lambda root, one: append(root / "classes.txt", "51 animal+07\n"),
            "names 50 classes in 51 lines, but AWA has 50",
        ),
        (
            lambda root, one: (root / "classes.txt").write_text("1 animal+07\n" * 50),
            "names 1 classes in 50 lines",
        ),
        (lambda root, one: (root / "classes.txt").write_bytes(b"\xff"), "cannot be read as text"),
        (lambda root, one: (root / "classes.txt").unlink(), "classes.txt is not there, but"),
    ],
)
def test_owners_files_that_are_something_else_are_refused(tmp_path, rng, change, sentence):
    write_awa(tmp_path, rng, networks=())
    root = tmp_path / ROOT
    change(root, root / "Features" / "sift-hist" / "animal+07" / "animal+07_0002.txt")
    with pytest.raises(mf.InputError, match=sentence):
        AWA.load(tmp_path)


def test_the_compact_files_have_other_views(tmp_path, rng):
    counts = write_awa_compact(tmp_path, rng)
    dataset = AWA.load(tmp_path)
    assert list(dataset.tasks) == ["surf", "sift", "phog", "lss", "rgsift"]
    for name, task in dataset.tasks.items():
        np.testing.assert_allclose(task.features, roots(counts[name].astype(float)), rtol=1e-6)
    assert dataset.deviations == (ROWS, "LSS and RGSIFT replace DeCAF and VGG19.")
    assert len(dataset.checksums) == 6


def resave(path, **changed):
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **(arrays | changed))


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda folder: (folder / "awa_lss.npz").unlink(), "awa_lss.npz is not there, but"),
        (lambda folder: (folder / "awa_lss.npz").write_bytes(b"PK"), "cannot be read as a NumPy archive"),
        (lambda folder: resave(folder / "awa_lss.npz", row_in_class=np.zeros(100)), "describes other rows"),
        (
            lambda folder: resave(folder / "awa_lss.npz", X_lss=np.ones((100, 9))),
            "is 100 x 9, but 100 x 2000 was expected",
        ),
        (lambda folder: resave(folder / "awa_meta.npz", y=np.zeros(100)), "1 classes, but 50"),
        (lambda folder: np.savez(folder / "awa_meta.npz", y=np.zeros(100)), "has no array 'row_in_class'"),
    ],
)
def test_compact_files_that_are_something_else_are_refused(tmp_path, rng, change, sentence):
    write_awa_compact(tmp_path, rng)
    change(tmp_path / "awa")
    with pytest.raises(mf.InputError, match=sentence):
        AWA.load(tmp_path)


def test_awa_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(mf.InputError, match=r"awa_meta\.npz is not there"):
        AWA.load(tmp_path)


def test_awa_is_what_its_readme_says(data):
    dataset = AWA.load(data)
    sizes = np.bincount(dataset.tasks["phog"].labels.astype(int))
    assert (len(dataset), len(sizes), sizes.max(), sizes.min()) == (9845, 50, 200, 92)
    assert {name: task.features.shape[1] for name, task in dataset.tasks.items()} == COMPACT_WIDTHS
    squares = np.einsum("ij,ij->i", dataset.tasks["phog"].features, dataset.tasks["phog"].features)
    # One image has an empty PHOG histogram.
    assert np.sum(squares == 0) == 1
    np.testing.assert_allclose(squares[squares > 0], 1.0, rtol=1e-5)
