import numpy as np
import pytest
import scipy.sparse as sparse

from manifuse.kernels.laplacian import (
    degrees_of,
    feature_weights,
    joined,
    joint_weights,
    local_scales,
    locality_order,
    normalised_affinity,
    prediction_weights,
    squared_distances,
)
from manifuse.kernels.nearest import exact_neighbours


@pytest.fixture
def pattern(rng):
    return edges_of(exact_neighbours(rng.standard_normal((50, 3)), 4))


def edges_of(neighbours):
    return joined(neighbours, np.ones(neighbours.shape))


def test_two_rows_have_an_edge_if_either_names_the_other(rng):
    neighbours = exact_neighbours(rng.standard_normal((30, 2)), 3)
    named = np.zeros((30, 30), dtype=bool)
    named[np.arange(30)[:, None], neighbours] = True
    np.testing.assert_array_equal(edges_of(neighbours).toarray() > 0, named | named.T)


def test_distances_of_edges_equal_the_definition(rng):
    features = rng.standard_normal((40, 5)) + 1e6
    others = rng.integers(0, 40, (40, 3))
    expected = np.sum((features[:, None] - features[others]) ** 2, axis=2)
    np.testing.assert_allclose(squared_distances(features, features, others), expected, rtol=1e-9)
    narrow = features.astype(np.float32)
    np.testing.assert_array_equal(*(squared_distances(each, each, others) for each in (narrow, narrow.astype(float))))


def test_rows_among_copies_take_the_mean_scale():
    scales = local_scales(np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 2.0]]))
    np.testing.assert_allclose(scales, [4.0, 4.0, 4.0])
    np.testing.assert_allclose(local_scales(np.zeros((2, 2))), 1.0)


def test_weights_fall_with_distance_and_with_difference():
    np.testing.assert_allclose(
        feature_weights(np.array([0.0, 2.0]), np.array([1.0, 1.0]), np.array([1.0, 4.0])), [1, np.exp(-1)]
    )
    here, there, ends = np.array([0.0, 2.0]), np.zeros(2), np.arange(2)
    np.testing.assert_allclose(prediction_weights(here, ends, there, ends, 4.0), [1.0, np.exp(-1.0)])
    np.testing.assert_array_equal(prediction_weights(here, ends, there, ends, np.inf), 1.0)


def test_of_several_columns_the_mean_of_their_squared_differences_counts():
    here, there = np.array([[0.0, 0.0], [2.0, 4.0]]), np.zeros((2, 2))
    ends = np.arange(2)
    np.testing.assert_allclose(prediction_weights(here, ends, there, ends, 5.0), [1.0, np.exp(-2.0)])


def weighed(pattern, weigh):
    """Weights on a pattern of edges; each is a function of both rows."""
    start, stop = pattern.nonzero()
    return sparse.csr_array((weigh(start, stop), pattern.indices, pattern.indptr), shape=pattern.shape)


def affinity_of(weights):
    return normalised_affinity(joint_weights(weights, np.zeros(weights.shape[0]), np.inf))


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


def test_weights_degrees_and_affinity_are_the_definition(rng):
    features, predictions = rng.standard_normal((50, 3)), rng.standard_normal(50)
    neighbours = exact_neighbours(features, 4)
    distances = np.sum((features[:, None] - features[neighbours]) ** 2, axis=2)
    scales = local_scales(distances)
    weights = joined(neighbours, feature_weights(distances, scales[:, None], scales[neighbours]))
    squares = np.sum((features[:, None] - features[None, :]) ** 2, axis=2)
    by_features = np.where(edges_of(neighbours).toarray() > 0, np.exp(-squares / np.sqrt(np.outer(scales, scales))), 0)
    np.testing.assert_allclose(weights.toarray(), by_features, rtol=1e-12)
    joint = by_features * np.exp(-((predictions[:, None] - predictions[None, :]) ** 2) / 0.5)
    found = joint_weights(weights, predictions, 0.5)
    np.testing.assert_allclose(degrees_of(found), joint.sum(axis=1), rtol=1e-12)
    affinity = normalised_affinity(found)
    expected = joint / np.sqrt(np.outer(joint.sum(axis=1), joint.sum(axis=1)))
    np.testing.assert_allclose(affinity.toarray(), expected, rtol=1e-12)
    np.testing.assert_array_equal(affinity.toarray(), affinity.toarray().T)


def test_tiny_joint_weights_do_not_cut_rows_off():
    # The scores of two rows are far from all others and from each other.
    weights = sparse.csr_array(np.ones((4, 4)) - np.eye(4))
    joint = joint_weights(weights, np.array([0.0, 0.1, 30.0, 45.0]), 1.0)
    assert 0 < degrees_of(joint)[2] < 1e-90
    affinity = normalised_affinity(joint)
    assert affinity.toarray()[2, 3] == pytest.approx(1.0, rel=1e-6)


def test_rows_without_edges_have_degree_zero():
    weights = sparse.csr_array(np.diag([1.0, 0.0, 0.0, 2.0])[[0, 1, 3, 2]])
    np.testing.assert_array_equal(degrees_of(joint_weights(weights, np.zeros(4), np.inf)), [1.0, 0.0, 2.0, 0.0])


def test_neighbours_stand_near_each_other_in_their_order(rng):
    line = rng.permutation(400).astype(float)[:, None]
    neighbours = exact_neighbours(line, 4)
    order = locality_order(edges_of(neighbours))
    np.testing.assert_array_equal(np.sort(order), np.arange(400))
    places = np.argsort(order)
    assert np.abs(places[neighbours] - places[:, None]).max() <= 8


def test_a_graph_without_edges_is_all_isolated():
    empty = sparse.csr_array((4, 4))
    assert normalised_affinity(empty).nnz == 0


def test_an_edge_has_the_value_that_its_rows_give(rng):
    neighbours, values = exact_neighbours(rng.standard_normal((60, 2)), 4), rng.random((60, 4))
    said = np.zeros((60, 60))
    said[np.arange(60)[:, None], neighbours] = values
    matrix = joined(neighbours, values.copy())
    np.testing.assert_array_equal(matrix.toarray(), np.maximum(said, said.T))
    assert matrix.has_canonical_format


def test_a_neighbour_named_twice_is_one_edge():
    neighbours = np.array([[1, 1], [2, 0], [3, 1], [2, 2]])
    matrix = edges_of(neighbours)
    expected = np.zeros((4, 4))
    for start, stop in ((0, 1), (1, 2), (2, 3)):
        expected[start, stop] = expected[stop, start] = 1.0
    np.testing.assert_array_equal(matrix.toarray(), expected)
    assert matrix.nnz == 6
