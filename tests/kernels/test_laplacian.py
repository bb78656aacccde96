import numpy as np
import pytest
import scipy.sparse as sparse

from manifuse.kernels import blocks
from manifuse.kernels.laplacian import (
    edge_pattern,
    feature_weights,
    local_scales,
    locality_order,
    normalised_affinity,
    prediction_weights,
    squared_distances,
    weigh_by_features,
    weigh_by_predictions,
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


def weighed(pattern, weigh):
    """The pattern with weights that are a function of both ends."""
    start, stop = pattern.nonzero()
    return sparse.csr_array((weigh(start, stop), pattern.indices, pattern.indptr), shape=pattern.shape)


def affinity_of(weights):
    return normalised_affinity(weights, weights.sum(axis=1), threads=1)


def test_the_affinity_is_the_definition_and_symmetric_to_the_last_bit(pattern):
    weights = weighed(pattern, lambda start, stop: np.exp(-((start - stop) ** 2) / 500.0))
    dense = weights.toarray()
    affinity = affinity_of(weights).toarray()
    roots = 1.0 / np.sqrt(dense.sum(axis=1))
    np.testing.assert_allclose(affinity, roots[:, None] * dense * roots[None, :], atol=1e-15)
    np.testing.assert_array_equal(affinity, affinity.T)


def test_the_spectrum_of_the_laplacian_lies_in_zero_to_two(pattern):
    weights = weighed(pattern, lambda start, stop: np.ones(len(start)))
    values = np.linalg.eigvalsh(np.eye(50) - affinity_of(weights).toarray())
    assert values.min() == pytest.approx(0.0, abs=1e-12)
    assert values.max() <= 2.0


def test_a_row_whose_weights_vanish_is_isolated_not_divided_by_zero(pattern):
    weights = weighed(pattern, lambda start, stop: np.where((start == 7) | (stop == 7), 0.0, 1.0))
    affinity = affinity_of(weights)
    assert np.isfinite(affinity.data).all()
    assert not affinity.toarray()[7].any()


@pytest.mark.parametrize("threads", [1, 3])
def test_weights_and_degrees_are_those_of_the_definition_in_any_number_of_blocks(threads, monkeypatch, rng):
    monkeypatch.setattr(blocks, "ROWS", 7)
    features = rng.standard_normal((50, 3))
    neighbours = exact_neighbours(features, 4)
    distances = np.sum((features[:, None] - features[neighbours]) ** 2, axis=2)
    pattern, scales, predictions = edge_pattern(neighbours), local_scales(distances), rng.standard_normal(50)
    weights = weigh_by_features(pattern, distances, scales, threads=threads)
    squares = np.sum((features[:, None] - features[None, :]) ** 2, axis=2)
    by_features = np.where(pattern.toarray() > 0, np.exp(-squares / np.sqrt(np.outer(scales, scales))), 0.0)
    np.testing.assert_allclose(weights.toarray(), by_features, rtol=1e-12)
    joint, degrees = weigh_by_predictions(weights, predictions, 0.5, threads=threads)
    expected = by_features * np.exp(-((predictions[:, None] - predictions[None, :]) ** 2) / 0.5)
    np.testing.assert_allclose(joint.toarray(), expected, rtol=1e-12)
    np.testing.assert_allclose(degrees, expected.sum(axis=1), rtol=1e-12)


def test_rows_without_edges_have_degree_zero():
    weights = sparse.csr_array(np.diag([1.0, 0.0, 0.0, 2.0])[[0, 1, 3, 2]])
    degrees = weigh_by_predictions(weights, np.zeros(4), np.inf, threads=1)[1]
    np.testing.assert_array_equal(degrees, [1.0, 0.0, 2.0, 0.0])


def test_neighbours_stand_near_each_other_in_their_order(rng):
    line = rng.permutation(400).astype(float)[:, None]
    neighbours = exact_neighbours(line, 4)
    order = locality_order(neighbours)
    np.testing.assert_array_equal(np.sort(order), np.arange(400))
    places = np.argsort(order)
    assert np.abs(places[neighbours] - places[:, None]).max() <= 8


def test_a_graph_without_edges_is_all_isolated():
    empty = sparse.csr_array((4, 4))
    assert normalised_affinity(empty, np.zeros(4), threads=1).nnz == 0


def test_an_edge_knows_where_the_table_names_it(rng):
    features = rng.integers(0, 3, (60, 2)).astype(float)  # copies among them: distances of zero are edges too
    neighbours = exact_neighbours(features, 4)
    pattern = edge_pattern(neighbours)
    distances = np.sum((features[:, None] - features[neighbours]) ** 2, axis=2)
    start, stop = pattern.nonzero()
    np.testing.assert_array_equal(distances.ravel()[pattern.data - 1], squared_distances(features, start, stop))


def test_a_neighbour_named_twice_is_one_edge():
    neighbours = np.array([[1, 1], [2, 0], [3, 1], [2, 2]])
    pattern = edge_pattern(neighbours)
    assert pattern.data.min() >= 1
    assert pattern.data.max() <= neighbours.size
    flat = neighbours.ravel()
    start, stop = pattern.nonzero()
    named = np.column_stack([(pattern.data - 1) // 2, flat[pattern.data - 1]])
    assert all({a, b} == set(pair) for a, b, pair in zip(start.tolist(), stop.tolist(), named.tolist(), strict=True))
