"""Cal7, NUS, HW and lipophilicity: every view is a task about the same rows, whichever form the files come in."""

import numpy as np
import pytest
from study.tests.datasets.published import (
    caltech,
    cells,
    molecules,
    nus_cells,
    write_matlab,
    write_mfeat,
    write_nus_text,
)

import manifuse as mf
from manifuse_study.datasets import cal7 as cal7_module
from manifuse_study.datasets import nus as nus_module
from manifuse_study.datasets.cal7 import CAL7
from manifuse_study.datasets.hw import HW
from manifuse_study.datasets.lipophilicity import COUNTS, LIPOPHILICITY, WIDTHS
from manifuse_study.datasets.nus import NUS
from manifuse_study.datasets.source import checksums


def test_cal7_reads_the_cells_of_li(tmp_path, rng):
    contents = caltech(rng)
    write_matlab(tmp_path / "cal7" / "Caltech101-7.mat", contents)
    dataset = CAL7.load(tmp_path)
    assert list(dataset.tasks) == ["gabor", "wm", "centrist", "hog", "gist", "lbp"]
    for task, view in zip(dataset.tasks.values(), contents["X"][0], strict=True):
        np.testing.assert_array_equal(task.features, view)
        np.testing.assert_array_equal(task.labels, contents["Y"].ravel() - 1)
    assert dataset.deviations == ()
    assert list(dataset.checksums) == ["cal7/Caltech101-7.mat"]


def test_cal7_is_what_its_readme_says(data):
    dataset = CAL7.load(data)
    labels = dataset.tasks["lbp"].labels.astype(int)
    assert np.bincount(labels).tolist() == [435, 798, 52, 34, 35, 64, 56]
    with np.load(data / "cal7" / "cal7.npz") as archive:
        np.testing.assert_array_equal(dataset.tasks["hog"].features, archive["X_hog"])
        assert archive["class_names"][3] == "Garfield"
    assert len(dataset.deviations) == 1


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda c: c.pop("Y"), "has no array 'Y'"),
        (lambda c: c.update(X=c["X"][:, :5]), "is not a cell array of 6 views"),
        (lambda c: c.update(X=np.ones((1474, 6))), "is not a cell array of 6 views"),
        (lambda c: c.update(X=np.ones((1, 6))), "'gabor' of .* is not a table of numbers"),
        (lambda c: c.update(X=c["X"][:, ::-1]), "'gabor' of .* is 1474 x 928, but 1474 x 48 was expected"),
        (lambda c: c.update(Y=8 - c["Y"]), "has classes of"),
        (lambda c: c.update(Y=c["Y"][1:]), "1474 x 48, but 1473 x 48 was expected"),
        (lambda c: c.update(Y=np.maximum(c["Y"], 2)), "6 classes, but 7"),
    ],
)
def test_a_cal7_that_is_something_else_is_refused(tmp_path, rng, change, sentence):
    contents = caltech(rng)
    change(contents)
    write_matlab(tmp_path / "cal7" / "Caltech101-7.mat", contents)
    with pytest.raises(mf.InputError, match=sentence):
        CAL7.load(tmp_path)


def test_cal7_in_damaged_or_foreign_archives_is_refused(tmp_path):
    with pytest.raises(mf.InputError, match=r"cal7\.npz is not there"):
        CAL7.load(tmp_path)
    (tmp_path / "cal7").mkdir()
    path = tmp_path / "cal7" / "cal7.npz"
    path.write_bytes(b"PK")
    with pytest.raises(mf.InputError, match="cannot be read as a NumPy archive"):
        CAL7.load(tmp_path)
    np.savez(path, y=np.arange(7))
    with pytest.raises(mf.InputError, match="has no array 'X_gabor'"):
        CAL7.load(tmp_path)
    np.savez(path, y=np.arange(7), **{f"X_{view}": np.ones((7, 2)) for view in cal7_module.WIDTHS})
    with pytest.raises(mf.InputError, match="7 x 2, but 7 x 48 was expected"):
        CAL7.load(tmp_path)


def test_nus_reads_the_cells_of_li_without_the_surplus_column(tmp_path, rng):
    contents = nus_cells(rng)
    write_matlab(tmp_path / "nus" / "NUSWIDEOBJ.mat", contents)
    dataset = NUS.load(tmp_path)
    assert {name: task.features.shape[1] for name, task in dataset.tasks.items()} == nus_module.WIDTHS
    for task, view in zip(dataset.tasks.values(), contents["X"][0], strict=True):
        np.testing.assert_array_equal(task.features, view[:, :-1])
        np.testing.assert_array_equal(task.labels, contents["Y"].ravel() - 1)
    assert dataset.deviations == ("The paper counts 30,000 images; this copy has 93.",)


def test_nus_keeps_a_surplus_column_that_says_something(tmp_path, rng):
    contents = nus_cells(rng)
    contents["X"][0, 4][:, -1] = rng.random(93)
    write_matlab(tmp_path / "nus" / "NUSWIDEOBJ.mat", contents)
    dataset = NUS.load(tmp_path)
    assert dataset.tasks["WT"].features.shape[1] == 129
    assert dataset.deviations[-1] == "One column more than NUS-WIDE describes is kept in WT."


@pytest.mark.parametrize("wide", [False, True])
def test_nus_reads_the_owners_text_and_keeps_rows_of_one_category(tmp_path, rng, wide):
    classes = rng.permutation(np.arange(93) % 31)
    belongs = np.eye(31, dtype=int)[classes]
    belongs[7] = 0
    belongs[80, :2] = 1
    views = write_nus_text(tmp_path, belongs, rng, wide=wide)
    dataset = NUS.load(tmp_path)
    kept = np.delete(np.arange(93), [7, 80])
    for name, task in dataset.tasks.items():
        np.testing.assert_array_equal(task.features, views[name][kept])
        np.testing.assert_array_equal(task.labels, classes[kept])
    assert dataset.deviations[1] == "2 images that are in none or in several of the categories are left out."
    assert len(dataset.checksums) == 10 + 2 * 31
    form = nus_module.WIDE if wide else nus_module.OBJECT
    assert checksums(tmp_path, [form[1]]).items() <= dataset.checksums.items()


def text_nus(folder, rng):
    write_nus_text(folder, np.eye(31, dtype=int)[np.arange(93) % 31], rng)
    return folder / "nus" / "ground truth", folder / "nus" / "low level features"


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda labels, features: (labels / "c30 Train.txt").unlink(), "30 categories"),
        (lambda labels, features: (labels / "c30 Test.txt").unlink(), "c30 Test.txt is not there"),
        (lambda labels, features: (labels / "c30 Test.txt").write_text("2\n" * 33), "labels other than 0 and 1"),
        (lambda labels, features: (features / "Test_WT.txt").unlink(), "Test_WT.txt is not there, but"),
        (lambda labels, features: (features / "Test_WT.txt").write_text("\n"), "cannot be read as a table"),
        (lambda labels, features: (features / "Test_WT.txt").write_text("a b\n"), "cannot be read as a table"),
        (
            lambda labels, features: (labels / "c30 Test.txt").write_text("1\n"),
            "labels 1 images, but c00 Test.txt labels 33",
        ),
        (lambda labels, features: (features / "Test_WT.txt").write_text("1 " * 128), "1 x 128, but 33 x 128 was"),
        (
            lambda labels, features: (features / "Test_WT.txt").write_text(("1 " * 129 + "\n") * 33),
            "33 x 129, but 33 x 128 was",
        ),
        (lambda labels, features: (features / "Test_WT.txt").write_text("1 2\n"), "1 x 2, but 33 x 128 was"),
    ],
)
def test_text_of_nus_that_is_something_else_is_refused(tmp_path, rng, change, sentence):
    change(*text_nus(tmp_path, rng))
    with pytest.raises(mf.InputError, match=sentence):
        NUS.load(tmp_path)


def test_a_category_of_nus_without_an_image_of_its_own_is_refused(tmp_path, rng):
    labels, _ = text_nus(tmp_path, rng)
    for part, rows in (("Train", 60), ("Test", 33)):
        (labels / f"c30 {part}.txt").write_text("0\n" * rows)
    with pytest.raises(mf.InputError, match=r"No image is only in the category of .*c30 Train.txt"):
        NUS.load(tmp_path)


def test_nus_without_files_or_with_other_cells_is_refused(tmp_path, rng):
    with pytest.raises(mf.InputError, match=r"NUSWIDEOBJ\.mat is not there"):
        NUS.load(tmp_path)
    contents = nus_cells(rng)
    contents["X"] = cells([view[:, :-2] for view in contents["X"][0]])
    write_matlab(tmp_path / "nus" / "NUSWIDEOBJ.mat", contents)
    with pytest.raises(mf.InputError, match="93 x 63, but 93 x 64 or 65 was expected"):
        NUS.load(tmp_path)


def test_hw_reads_the_files_of_uci_in_blocks_of_a_digit(tmp_path, rng):
    views = write_mfeat(tmp_path, rng)
    dataset = HW.load(tmp_path)
    for name, task in dataset.tasks.items():
        np.testing.assert_array_equal(task.features, views[name])
        np.testing.assert_array_equal(task.labels, np.repeat(np.arange(10), 200))
    assert list(dataset.checksums) == [f"hw/mfeat-{view}" for view in views]
    assert dataset.deviations == ()


def test_hw_is_what_its_readme_says(data):
    dataset = HW.load(data)
    labels = dataset.tasks["fac"].labels
    assert np.bincount(labels.astype(int)).tolist() == [200] * 10
    assert dataset.tasks["fac"].features.shape[1] == 216
    assert not dataset.shares_features


def test_half_of_hw_is_refused(tmp_path, rng):
    write_mfeat(tmp_path, rng)
    (tmp_path / "hw" / "mfeat-zer").unlink()
    with pytest.raises(mf.InputError, match="mfeat-zer is not there, but hw/mfeat-fou is"):
        HW.load(tmp_path)


def test_files_of_uci_cut_short_are_refused(tmp_path, rng):
    write_mfeat(tmp_path, rng)
    path = tmp_path / "hw" / "mfeat-mor"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    with pytest.raises(mf.InputError, match=r"'mor' of .* is 1999 x 6, but 2000 x 6 was expected"):
        HW.load(tmp_path)
    path.write_text("".join(lines)[:-8])
    with pytest.raises(mf.InputError, match="cannot be read as a table of numbers"):
        HW.load(tmp_path)


def test_a_missing_or_damaged_archive_is_refused(tmp_path):
    with pytest.raises(mf.InputError, match="is not there"):
        HW.load(tmp_path)
    (tmp_path / "hw").mkdir()
    path = tmp_path / "hw" / "mfeat.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(mf.InputError, match="cannot be read as a NumPy archive"):
        HW.load(tmp_path)
    views = {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}
    np.savez(path, **{f"X_{view}": np.ones((10, 2)) for view in views}, y=np.arange(10))
    with pytest.raises(mf.InputError, match="10 x 2, but 10 x 76 was expected"):
        HW.load(tmp_path)
    labels = np.repeat(np.arange(10), 200)
    tables = {f"X_{view}": np.ones((2000, width)) for view, width in views.items()}
    np.savez(path, **tables, y=np.where(np.arange(2000) == 0, 1, labels))
    with pytest.raises(mf.InputError, match=r"has classes of \[199, 201, .* but \[200, 200, .* were expected"):
        HW.load(tmp_path)
    tables["X_mor"][5, 5] = np.inf
    np.savez(path, **tables, y=labels)
    with pytest.raises(mf.InputError, match="mor that are not finite numbers"):
        HW.load(tmp_path)


def write_molecules(folder, arrays):
    (folder / "lipophilicity").mkdir(exist_ok=True)
    np.savez(folder / "lipophilicity" / "lipophilicity.npz", **arrays)


def test_lipophilicity_has_logarithms_of_counts_and_a_continuous_truth(tmp_path, rng):
    arrays = molecules(rng)
    write_molecules(tmp_path, arrays)
    dataset = LIPOPHILICITY.load(tmp_path)
    assert list(dataset.tasks) == ["morgan", "atompair", "torsion", "maccs", "vsa", "desc2d"]
    for view, task in dataset.tasks.items():
        read = np.expm1(task.features) if view in COUNTS else task.features
        np.testing.assert_allclose(read, arrays[f"X_{view}"], atol=1e-12)
        np.testing.assert_array_equal(task.labels, arrays["y"])
    assert dataset.deviations == ()


def test_lipophilicity_is_what_its_readme_says(data):
    dataset = LIPOPHILICITY.load(data)
    assert {view: task.features.shape for view, task in dataset.tasks.items()} == {
        view: (4200, width) for view, width in WIDTHS.items()
    }
    labels = dataset.tasks["vsa"].labels
    assert (labels.min(), labels.max(), len(np.unique(labels))) == (-1.5, 4.5, 553)


@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda c: c.pop("X_vsa"), "has no array 'X_vsa'"),
        (lambda c: c.update(X_vsa=c["X_vsa"][:, 1:]), "4200 x 56, but 4200 x 57 was expected"),
        (lambda c: c.update({name: values[1:] for name, values in c.items()}), "4199 x 1, but 4200 x 1"),
        (lambda c: c.update(y=np.full(4200, np.nan)), "not finite numbers"),
        (lambda c: c.update(y=np.full(4200, "polar")), "'y' of .* is not a table of numbers"),
        (lambda c: c.update(X_morgan=c["X_morgan"] - 1.0), "counts below 0"),
    ],
)
def test_a_lipophilicity_that_is_something_else_is_refused(tmp_path, rng, change, sentence):
    arrays = molecules(rng)
    change(arrays)
    write_molecules(tmp_path, arrays)
    with pytest.raises(mf.InputError, match=sentence):
        LIPOPHILICITY.load(tmp_path)
