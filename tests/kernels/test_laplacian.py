import numpy as np
import pytest
import scipy.sparse as sparse

from manifuse.kernels.laplacian import (
    edge_ends,
    edge_pattern,
    edge_values,
    feature_weights,
    local_scales,
    normalised_affinity,
    prediction_weights,
    squared_distances,
)
from manifuse.kernels.neighbours import exact_neighbours


@pytest.fixture
def pattern(rng):
    return edge_pattern(exact_neighbours(rng.standard_normal((50, 3)), 4))


def test_an_edge_stands_where_either_end_names_the_other(rng):
    neighbours = exact_neighbours(rng.standard_normal((30, 2)), 3)
    named = np.zeros((30, 30), dtype=bool)
    named[np.arange(30)[:, None], neighbours] = True
    np.testing.assert_array_equal(edge_pattern(neighbours).toarray() > 0, named | named.T)


def test_distances_of_edges_equal_the_definition(rng):
    features = rng.standard_normal((40, 5)) + 1e6
    start, stop = rng.integers(0, 40, (2, 100))
    expected = np.sum((features[start] - features[stop]) ** 2, axis=1)
    np.testing.assert_allclose(squared_distances(features, start, stop), expected, rtol=1e-9)


def test_rows_among_copies_take_the_mean_scale():
    scales = local_scales(np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 2.0]]))
    np.testing.assert_allclose(scales, [4.0, 4.0, 4.0])
    np.testing.assert_allclose(local_scales(np.zeros((2, 2))), 1.0)


def test_weights_fall_with_distance_and_with_difference():
    np.testing.assert_allclose(
        feature_weights(np.array([0.0, 2.0]), np.array([1.0, 1.0]), np.array([1.0, 4.0])), [1, np.exp(-1)]
    )
    np.testing.assert_allclose(prediction_weights(np.array([0.0, 2.0]), 4.0), [1.0, np.exp(-1.0)])
    np.testing.assert_array_equal(prediction_weights(np.array([0.0, 2.0]), np.inf), 1.0)


def test_the_affinity_is_the_definition_and_symmetric_to_the_last_bit(pattern, rng):
    start, stop = edge_ends(pattern)
    weights = np.exp(-((start - stop) ** 2) / 500.0)
    affinity = normalised_affinity(pattern, weights).toarray()
    dense = np.zeros(pattern.shape)
    dense[start, stop] = weights
    roots = 1.0 / np.sqrt(dense.sum(axis=1))
    np.testing.assert_allclose(affinity, roots[:, None] * dense * roots[None, :], atol=1e-15)
    np.testing.assert_array_equal(affinity, affinity.T)


def test_the_spectrum_of_the_laplacian_lies_in_zero_to_two(pattern, rng):
    weights = np.ones(pattern.nnz)
    values = np.linalg.eigvalsh(np.eye(50) - normalised_affinity(pattern, weights).toarray())
    assert values.min() == pytest.approx(0.0, abs=1e-12)
    assert values.max() <= 2.0


def test_a_row_whose_weights_vanish_is_isolated_not_divided_by_zero(pattern):
    start, stop = edge_ends(pattern)
    weights = np.where((start == 7) | (stop == 7), 0.0, 1.0)
    affinity = normalised_affinity(pattern, weights)
    assert np.isfinite(affinity.data).all()
    assert not affinity.toarray()[7].any()


def test_a_graph_without_edges_is_all_isolated():
    empty = sparse.csr_array((4, 4))
    assert normalised_affinity(empty, np.empty(0)).nnz == 0


def test_what_neighbours_know_arrives_at_both_ends_of_every_edge(rng):
    features = rng.integers(0, 3, (60, 2)).astype(float)  # copies among them: distances of zero are edges too
    neighbours = exact_neighbours(features, 4)
    pattern = edge_pattern(neighbours)
    distances = np.sum((features[:, None] - features[neighbours]) ** 2, axis=2)
    start, stop = edge_ends(pattern)
    np.testing.assert_array_equal(
        edge_values(pattern, neighbours, distances), squared_distances(features, start, stop)
    )
