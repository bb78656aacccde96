"""PubFig, OSR and Shoes: every row has the rank of its class, whichever form the files come in."""

import numpy as np
import pytest
from study.tests.datasets.published import cells, release, shoes_attributes, write_matlab

import manifuse as mf
from manifuse_study.datasets.osr import OSR
from manifuse_study.datasets.pubfig import PUBFIG
from manifuse_study.datasets.shoes import ATTRIBUTES, SHOES
from manifuse_study.datasets.source import checksums

SOURCES = {"pubfig": PUBFIG, "osr": OSR}


def compact_of(contents, widths):
    """The same contents in the compact file's layout."""
    columns = np.cumsum([0, *widths.values()])
    views = {
        f"X_{view}": contents["feat"][:, start:stop]
        for view, start, stop in zip(widths, columns[:-1], columns[1:], strict=True)
    }
    return views | {
        "y": contents["class_labels"].ravel().astype(int) - 1,
        "relative_ordering": contents["relative_ordering"].T,
        "attribute_names": np.array(contents["attribute_names"].tolist()[0]),
    }


@pytest.mark.parametrize("name", SOURCES)
def test_a_release_gives_each_row_the_rank_of_its_class(tmp_path, rng, name):
    contents = release(name, rng)
    write_matlab(tmp_path / name / "data.mat", contents)
    dataset = SOURCES[name].load(tmp_path)
    assert list(dataset.tasks) == contents["attribute_names"].tolist()[0]
    assert dataset.shares_features
    classes = contents["class_labels"].ravel().astype(int) - 1
    for attribute, task in enumerate(dataset.tasks.values()):
        np.testing.assert_array_equal(task.features, contents["feat"])
        np.testing.assert_array_equal(task.labels, contents["relative_ordering"][attribute][classes])
    assert dataset.checksums == checksums(tmp_path, [f"{name}/data.mat"])


def test_the_release_of_osr_deviates_in_nothing_and_that_of_pubfig_in_its_rows(tmp_path, rng):
    for name in SOURCES:
        write_matlab(tmp_path / name / "data.mat", release(name, rng))
    assert OSR.load(tmp_path).deviations == ()
    assert PUBFIG.load(tmp_path).deviations == ("The paper counts 800 images; this copy has 24.",)


def test_the_compact_file_comes_before_the_release_and_says_the_same(tmp_path, rng):
    contents = release("osr", rng)
    write_matlab(tmp_path / "osr" / "data.mat", contents)
    published = OSR.load(tmp_path)
    np.savez(tmp_path / "osr" / "osr.npz", **compact_of(contents, {"gist": 512}))
    compact = OSR.load(tmp_path)
    assert list(compact.checksums) == ["osr/osr.npz"]
    assert len(compact.deviations) == 1
    for name, task in published.tasks.items():
        np.testing.assert_array_equal(compact.tasks[name].labels, task.labels)
        np.testing.assert_array_equal(compact.tasks[name].features, task.features)


def test_pubfig_is_what_its_readme_says(data):
    dataset = PUBFIG.load(data)
    assert (len(dataset), len(dataset.tasks), dataset.shares_features) == (772, 11, True)
    assert next(iter(dataset.tasks)) == "Male"
    with np.load(data / "pubfig" / "pubfig.npz") as archive:
        task = dataset.tasks["Smiling"]
        np.testing.assert_array_equal(task.labels, archive["relative_ordering"][archive["y"], 3])
        np.testing.assert_array_equal(task.features[:, :512], archive["X_gist"])
        np.testing.assert_array_equal(task.features[:, 512:], archive["X_lab"])


def test_osr_is_what_its_readme_says(data):
    dataset = OSR.load(data)
    assert (len(dataset), len(dataset.tasks), dataset.shares_features) == (2688, 6, True)
    # Forests and mountains are natural, streets and buildings are not.
    with np.load(data / "osr" / "osr.npz") as archive:
        forest = archive["class_names"][archive["y"]] == "forest"
        street = archive["class_names"][archive["y"]] == "street"
    natural = dataset.tasks["natural"].labels
    assert natural[forest].min() > natural[street].max()


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize(
    "change, sentence",
    [
        (lambda c: c.pop("feat"), "has no array 'feat'"),
        (lambda c: c.update(feat=c["feat"][:-1]), "was expected"),
        (lambda c: c.update(feat=cells([1])), "is not a table of numbers"),
        (lambda c: c.update(relative_ordering=c["relative_ordering"].T), "was expected"),
        (lambda c: c.update(class_labels=np.minimum(c["class_labels"], 7)), "7 classes, but 8"),
        (lambda c: c.update(class_labels=c["class_labels"] + 0.5), "0 classes, but 8"),
        (lambda c: c.update(attribute_names=cells(["same", "same"])), "names 1 attributes"),
        (lambda c: c.update(feat=c["feat"] * np.nan), "not finite numbers"),
    ],
)
def test_a_release_that_is_something_else_is_refused(tmp_path, rng, name, change, sentence):
    contents = release(name, rng)
    change(contents)
    write_matlab(tmp_path / name / "data.mat", contents)
    with pytest.raises(mf.InputError, match=sentence):
        SOURCES[name].load(tmp_path)


def test_osr_with_other_class_sizes_is_refused(tmp_path, rng):
    contents = release("osr", rng)
    contents["class_labels"][contents["class_labels"] == 1] = 2
    contents["class_labels"][0] = 1
    write_matlab(tmp_path / "osr" / "data.mat", contents)
    with pytest.raises(mf.InputError, match="has classes of"):
        OSR.load(tmp_path)


def test_a_compact_pubfig_with_other_rows_is_refused(tmp_path, rng):
    (tmp_path / "pubfig").mkdir()
    np.savez(tmp_path / "pubfig" / "pubfig.npz", **compact_of(release("pubfig", rng), {"gist": 512, "lab": 30}))
    with pytest.raises(mf.InputError, match=r"has classes of \[3, 3, .* but \[95, 96, .* were expected"):
        PUBFIG.load(tmp_path)


def test_files_of_matlab_7_3_are_refused_with_the_way_out(tmp_path):
    (tmp_path / "osr").mkdir()
    header = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    (tmp_path / "osr" / "data.mat").write_bytes(header + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(mf.InputError, match=r"save it with .*-v7"):
        OSR.load(tmp_path)


@pytest.mark.parametrize("keep", [0, 100, 150, 2000])
def test_damaged_matlab_files_are_refused(tmp_path, rng, keep):
    path = tmp_path / "pubfig" / "data.mat"
    write_matlab(path, release("pubfig", rng))
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(mf.InputError, match="cannot be read as a MATLAB file"):
        PUBFIG.load(tmp_path)


@pytest.mark.parametrize("name", SOURCES)
def test_sets_that_are_not_there_are_refused(tmp_path, name):
    for folder in (tmp_path / "none", tmp_path):
        with pytest.raises(mf.InputError, match=f"{name}.npz is not there.*data.mat"):
            SOURCES[name].load(folder)


def test_shoes_find_their_features_by_shape(tmp_path, rng):
    contents = shoes_attributes(rng)
    gist, colour = rng.random((40, 960)), rng.random((40, 30))
    write_matlab(tmp_path / "shoes" / "shoes_attributes.mat", contents)
    write_matlab(tmp_path / "shoes" / "some_features.mat", {"a": colour, "b": gist, "c": gist[1:]})
    dataset = SHOES.load(tmp_path)
    assert tuple(dataset.tasks) == ATTRIBUTES
    assert dataset.shares_features
    classes = contents["class_labels"].ravel() - 1
    for attribute, task in enumerate(dataset.tasks.values()):
        np.testing.assert_array_equal(task.labels, contents["orders"][attribute][classes])
    np.testing.assert_array_equal(dataset.tasks["open"].features, np.hstack([gist, colour]))
    assert list(dataset.checksums) == ["shoes/shoes_attributes.mat", "shoes/some_features.mat"]
    assert dataset.deviations == ("The paper counts 14,658 images; this copy has 40.",)


def test_shoes_take_names_and_joint_features_from_the_file(tmp_path, rng):
    both = rng.random((40, 990))
    names = [f"attribute {number}" for number in range(10)]
    contents = shoes_attributes(rng) | {"feat": both, "attribute_names": cells(names)}
    write_matlab(tmp_path / "shoes" / "shoes_attributes.mat", contents)
    dataset = SHOES.load(tmp_path)
    assert list(dataset.tasks) == names
    np.testing.assert_array_equal(dataset.tasks["attribute 9"].features, both)


@pytest.mark.parametrize(
    "more, sentence",
    [
        ({}, "40 rows and 960 columns"),
        ({"a": np.ones((40, 960))}, "40 rows and 30 columns"),
        ({"a": np.ones((40, 960)), "b": np.ones((40, 960)), "c": np.ones((40, 30))}, "Both .*: a and .*: b"),
        ({"feat": np.ones((40, 990)), "orders": np.ones((9, 10))}, "was expected"),
        ({"feat": np.ones((40, 990)), "class_labels": np.ones((40, 1))}, "1 classes, but 10"),
    ],
)
def test_shoes_that_are_something_else_are_refused(tmp_path, rng, more, sentence):
    write_matlab(tmp_path / "shoes" / "shoes_attributes.mat", shoes_attributes(rng) | more)
    with pytest.raises(mf.InputError, match=sentence):
        SHOES.load(tmp_path)


def test_shoes_that_are_not_there_or_half_there_are_refused(tmp_path, rng):
    with pytest.raises(mf.InputError, match=r"shoes_attributes\.mat is not there"):
        SHOES.load(tmp_path)
    contents = shoes_attributes(rng)
    del contents["orders"]
    write_matlab(tmp_path / "shoes" / "shoes_attributes.mat", contents)
    with pytest.raises(mf.InputError, match="has no array 'orders'"):
        SHOES.load(tmp_path)
