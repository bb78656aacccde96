"""Feature graphs of difficult tables."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse.csgraph import connected_components

import manifuse as mf
from manifuse.backends import host as host_module
from manifuse.backends.neighbours import Query

tables = arrays(
    np.float64, st.tuples(st.integers(4, 25), st.integers(1, 3)), elements=st.sampled_from([0.0, 1.0, 1.0, -2.5, 1e6])
)


def search(features, count=5, **options):
    query = Query(count, **({"standardised": True, "name": "it"} | options))
    return mf.Host().search(np.asarray(features, float), query, np.random.default_rng(0))


@settings(deadline=None, max_examples=60)
@given(tables, st.integers(1, 6), st.sampled_from([0.01, 1.0, np.inf]))
def test_any_table_gives_a_symmetric_contraction(features, count, scale):
    if (features == features[0]).all():
        with pytest.raises(mf.InputError, match="are equal"):
            search(features, count)
        return
    neighbours = search(features, count)
    graph = mf.Host().graph(neighbours, count)
    affinity = graph.affinity(np.linspace(-2, 2, len(features)), scale).matrix().toarray()
    np.testing.assert_array_equal(affinity, affinity.T)
    assert not affinity.diagonal().any()
    assert np.abs(np.linalg.eigvalsh(affinity)).max() <= 1 + 1e-12


def test_constant_columns_and_scales_of_columns_do_not_matter(rng):
    features = rng.standard_normal((60, 3))
    wild = np.column_stack([features * [1.0, 1e6, 1e-6], np.full(60, 7.0)])
    np.testing.assert_array_equal(search(features).indices, search(wild).indices)
    plain = search(wild, standardised=False).indices
    assert (plain != search(features).indices).any()


def test_far_blobs_make_components_of_their_own(rng):
    features = np.vstack([rng.standard_normal((30, 2)), 1e3 + rng.standard_normal((30, 2))])
    graph = mf.Host().graph(search(features), 5)
    count, membership = connected_components(graph.on_host().weights)
    assert count >= 2
    assert not set(membership[:30]) & set(membership[30:])


def test_zero_rows_are_rows_like_others(rng):
    features = np.vstack([np.zeros((10, 4)), rng.standard_normal((40, 4))])
    affinity = mf.Host().graph(search(features), 4).affinity(rng.standard_normal(50), 1.0)
    assert np.isfinite(affinity.matrix().data).all()


def test_smaller_neighbourhoods_are_prefixes_of_larger(rng):
    features = rng.standard_normal((60, 3))
    small, large = search(features, 3), search(features, 9)
    np.testing.assert_array_equal(small.indices, large.indices[:, :3])
    np.testing.assert_allclose(
        mf.Host().graph(small, 3).on_host().weights.data, mf.Host().graph(large, 3).on_host().weights.data
    )


def test_a_short_table_uses_all_other_rows():
    assert search([[0.0], [1.0], [3.0]], 10).indices.shape == (3, 2)


def test_predictions_far_apart_cut_the_edge(rng):
    graph = mf.Host().graph(search(rng.standard_normal((40, 2))), 5)
    predictions = np.where(np.arange(40) < 20, -1.0, 1.0)
    cut = graph.affinity(predictions, 0.01).matrix().toarray()
    assert cut[:20, 20:].max() < 1e-80
    assert graph.affinity(predictions, np.inf).matrix().toarray()[:20, 20:].max() > 0.01


def test_degrees_are_the_row_sums_behind_the_affinity(rng):
    graph = mf.Host().graph(search(rng.standard_normal((40, 2))), 5)
    predictions = rng.standard_normal(40)
    weights = graph.affinity(predictions, 1.0).matrix().toarray() * np.sqrt(
        np.outer(*[graph.degrees(predictions, 1.0)] * 2)
    )
    np.testing.assert_allclose(weights.sum(axis=1), graph.degrees(predictions, 1.0))


def test_large_tables_are_searched_approximately_with_their_recall_kept(rng):
    found = mf.Host(exact_work=0).search(rng.standard_normal((2000, 4)), Query(5, True), rng)
    assert 0.95 <= found.recall <= 1.0


def test_exact_search_is_for_tables_that_it_can_afford(monkeypatch):
    class SearchedError(Exception):
        pass

    def refuse(*_, **__):
        raise SearchedError

    monkeypatch.setattr(host_module, "approximate_neighbours", refuse)
    table, work = np.random.default_rng(0).random((60, 8)), 60**2 * 8
    assert mf.Host(exact_work=work).search(table, Query(5, True), np.random.default_rng(0)).recall == 1.0
    with pytest.raises(SearchedError):
        mf.Host(exact_work=work - 1).search(table, Query(5, True), np.random.default_rng(0))
    assert mf.Host().exact_work > 60_000**2 * 128


def test_a_poor_search_warns(rng, monkeypatch):
    monkeypatch.setattr(host_module, "approximate_neighbours", lambda *_, **__: (np.ones((9, 2), dtype=int), 0.6))
    with pytest.warns(mf.ManifuseWarning, match="60% of the true neighbours"):
        search(rng.standard_normal((9, 2)), 2, search="approximate")


def test_without_faiss_the_message_says_how_to_install_it(rng, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    with pytest.raises(mf.MissingExtraError, match=r"pip install 'manifuse\[neighbours\]'"):
        search(rng.standard_normal((9, 2)), 2, search="approximate")
