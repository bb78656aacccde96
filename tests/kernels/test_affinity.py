"""Every kind of affinity against its dense matrix, and every kind of graph against the others."""

import numpy as np
import pytest
import scipy.sparse as sparse
import torch

import manifuse as mf
from manifuse.backends.graph import SparseAffinity
from manifuse.backends.neighbours import Query
from manifuse.backends.torch import TensorAffinity
from manifuse.kernels.chebyshev import moments, propagate, smooth

ROWS = 90


def plain(matrix):
    return SparseAffinity(matrix)


def ordered(matrix):
    order = np.random.default_rng(5).permutation(ROWS)
    return SparseAffinity(matrix[order][:, order], order)


def on_torch(matrix):
    parts = (torch.as_tensor(part) for part in (matrix.indptr, matrix.indices, matrix.data))
    return TensorAffinity(torch, *parts)


@pytest.fixture(params=[plain, ordered, on_torch])
def kind(request):
    return request.param


@pytest.fixture
def matrix(rng):
    dense = np.where(rng.random((ROWS, ROWS)) < 0.08, rng.random((ROWS, ROWS)), 0.0)
    dense = dense + dense.T
    roots = np.sqrt(np.maximum(dense.sum(axis=1), 1.0))
    return sparse.csr_array(dense / np.outer(roots, roots))


def test_blocks_enter_and_leave_unchanged_as_copies(kind, matrix, rng):
    values = rng.standard_normal((ROWS, 3))
    affinity, before = kind(matrix), values.copy()
    block = affinity.enter(values)
    np.testing.assert_array_equal(affinity.leave(block), values)
    block += 1.0
    np.testing.assert_array_equal(values, before)
    assert affinity.shape == matrix.shape
    np.testing.assert_array_equal(affinity.matrix().toarray(), matrix.toarray())


def test_a_step_is_the_product_less_what_was_before(kind, matrix, rng):
    affinity = kind(matrix)
    current, previous = rng.standard_normal((2, ROWS, 4))
    for columns in (4, 2):
        some = slice(0, columns)
        found = affinity.recur(affinity.enter(current[:, some]), affinity.enter(previous[:, some]), -2.0)
        expected = -2.0 * matrix.toarray() @ current[:, some] - previous[:, some]
        np.testing.assert_allclose(affinity.leave(found), expected, atol=1e-13)


def test_rows_are_those_of_the_table(kind, matrix, rng):
    affinity, rows, values = kind(matrix), rng.permutation(ROWS)[:12], rng.standard_normal((12, 2))
    block = affinity.zeros(2)
    affinity.add(block, rows, values)
    np.testing.assert_array_equal(affinity.take(block, rows), values)
    expected = np.zeros((ROWS, 2))
    expected[rows] = values
    np.testing.assert_array_equal(affinity.leave(block), expected)


def test_every_affinity_gives_the_same_recurrence(kind, matrix, rng):
    other, one = kind(matrix), plain(matrix)
    values, rows = rng.standard_normal((ROWS, 2)), rng.permutation(ROWS)[:9]
    sources = rng.standard_normal((6, 9, 2))
    np.testing.assert_allclose(smooth(other, values, [1.0, 30.0]), smooth(one, values, [1.0, 30.0]), atol=1e-12)
    np.testing.assert_allclose(moments(other, values, rows, 8), moments(one, values, rows, 8), atol=1e-12)
    np.testing.assert_allclose(propagate(other, [(rows, sources)]), propagate(one, [(rows, sources)]), atol=1e-12)


@pytest.mark.parametrize("scale", [0.1, np.inf])
def test_every_graph_of_the_same_neighbours_is_the_same(scale, rng):
    features = rng.integers(0, 4, (120, 2)) + 0.1 * rng.integers(0, 3, (120, 2))  # some rows are copies of others
    predictions = rng.standard_normal(120)

    def searched():
        return mf.Host().search(features, Query(6, True), np.random.default_rng(0))

    here = mf.Host().graph(searched(), 5)
    tensor = mf.Torch("cpu").graph(searched(), 5)
    apart = mf.Host(ordered_rows=10).graph(searched(), 5)
    assert here.order is None
    assert apart.order is not None
    for graph in (apart, tensor, tensor.on_host()):
        np.testing.assert_allclose(
            graph.affinity(predictions, scale).matrix().toarray(),
            here.affinity(predictions, scale).matrix().toarray(),
            atol=1e-14,
        )
        np.testing.assert_allclose(graph.degrees(predictions, scale), here.degrees(predictions, scale), rtol=1e-13)
        np.testing.assert_array_equal(graph.scales, here.scales)
        assert (graph.neighbours, graph.standardised) == (5, True)
