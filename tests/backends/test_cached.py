import shutil
from dataclasses import replace

import numpy as np
import pytest
from tests.problems import Counting

import manifuse as mf
from manifuse.backends.neighbours import Query


@pytest.fixture
def features(rng):
    return rng.standard_normal((40, 3))


def search(backend, features, count=5, standardised=True, search="auto"):
    return backend.search(features, Query(count, standardised, "it", search), np.random.default_rng(0))


def test_a_kept_search_serves_requests_for_fewer_neighbours(features, tmp_path):
    counting = Counting()
    first = search(mf.Cached(counting, tmp_path / "kept"), features, 7)
    again = search(mf.Cached(counting, tmp_path / "kept"), features.copy(), 4)
    assert counting.counts == [7]
    np.testing.assert_array_equal(again.indices, first.indices[:, :4])
    np.testing.assert_array_equal(again.distances, first.distances[:, :4])
    assert (again.recall, again.standardised) == (1.0, True)
    search(mf.Cached(counting, tmp_path / "kept"), features, 9)
    search(mf.Cached(counting, tmp_path / "kept"), features, 9)
    assert counting.counts == [7, 9]


def test_another_table_or_kind_of_search_is_searched_again(features, tmp_path):
    counting = Counting()
    backend = mf.Cached(counting, tmp_path)
    changed = features.copy()
    changed[39, 2] += 1e-15
    for table, options in (
        (features, {}),
        (changed, {}),
        (features.astype(np.float32), {}),
        (features.T.copy().T.reshape(20, 6), {}),
        (features, {"standardised": False}),
        (features, {"search": "exact"}),
    ):
        search(backend, table, **options)
    assert len(counting.counts) == 6


def test_a_table_that_is_not_stored_row_by_row_is_the_same_table(features, tmp_path):
    counting = Counting()
    search(mf.Cached(counting, tmp_path), features)
    search(mf.Cached(counting, tmp_path), np.asfortranarray(features))
    assert len(counting.counts) == 1


@pytest.mark.parametrize("content", [b"", b"not an archive", None])
def test_a_damaged_file_warns_and_the_search_is_done_again(features, tmp_path, content):
    backend = mf.Cached(mf.Host(), tmp_path)
    before = search(backend, features)
    (path,) = tmp_path.iterdir()
    if content is None:
        np.savez(path, indices=before.indices + 40, distances=before.distances, recall=1.0)
    else:
        path.write_bytes(content)
    with pytest.warns(mf.ManifuseWarning, match="cannot be used .* the search is done again"):
        after = search(backend, features)
    np.testing.assert_array_equal(after.indices, before.indices)
    np.testing.assert_array_equal(search(backend, features).indices, before.indices)


@pytest.mark.parametrize("changed", ["indices", "distances", "recall"])
def test_a_file_that_was_edited_is_not_used(features, tmp_path, changed):
    backend = mf.Cached(mf.Host(), tmp_path)
    before = search(backend, features)
    (path,) = tmp_path.iterdir()
    with np.load(path) as archive:
        arrays = dict(archive)
    arrays[changed] = arrays[changed][::-1].copy() if arrays[changed].ndim else np.array(0.97)
    np.savez(path, **arrays)
    with pytest.warns(mf.ManifuseWarning, match="changed after it was written.* the search is done again"):
        after = search(backend, features)
    np.testing.assert_array_equal(after.indices, before.indices)
    np.testing.assert_array_equal(after.distances, before.distances)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(mf.InputError, match="cannot be used"):
        mf.Cached(mf.Host(), tmp_path / "file" / "folder")


def test_its_repr_names_backend_and_folder(tmp_path):
    assert repr(mf.Cached(mf.Host(), tmp_path)) == f"Cached(Host(), {str(tmp_path)!r})"


def test_a_kept_search_of_low_recall_warns_again_and_an_unkept_search_is_used(features, tmp_path):
    class Poor(Counting):
        """A host that reports a recall of one half for every search."""

        def search(self, *arguments, **options):
            return replace(self.host.search(*arguments, **options), recall=0.5)

    backend = mf.Cached(Poor(), tmp_path / "kept")
    search(backend, features)
    with pytest.warns(mf.ManifuseWarning, match="found 50% of the true neighbours"):
        search(backend, features)
    shutil.rmtree(tmp_path / "kept")
    with pytest.warns(mf.ManifuseWarning, match="could not be kept: .* cannot be written"):
        assert search(backend, features).indices.shape[1] == 5
