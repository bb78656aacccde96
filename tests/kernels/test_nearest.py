import faiss
import numpy as np
import pytest

from manifuse.kernels.nearest import approximate_neighbours, exact_neighbours, squared_distances_to


def test_exact_neighbours_are_the_nearest_others(rng):
    points = rng.standard_normal((80, 3))
    distances = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    np.fill_diagonal(distances, np.inf)
    expected = np.sort(distances, axis=1)[:, :5]
    found = np.take_along_axis(distances, exact_neighbours(points, 5), axis=1)
    np.testing.assert_allclose(found, expected)


def test_a_row_is_never_its_own_neighbour_among_copies():
    points = np.zeros((12, 2))
    points[0] = 1.0
    neighbours = exact_neighbours(points, 4)
    assert not (neighbours == np.arange(12)[:, None]).any()


def test_approximate_neighbours_reach_the_recall_they_report(rng):
    points = rng.standard_normal((3000, 6))
    neighbours, recall = approximate_neighbours(points, 8, faiss=faiss, rng=rng)
    exact = exact_neighbours(points, 8)
    true_recall = np.mean([np.isin(a, b).mean() for a, b in zip(exact, neighbours, strict=True)])
    assert recall >= 0.95
    assert recall == pytest.approx(true_recall, abs=0.01)


def test_approximate_neighbours_leave_out_the_row_itself_among_copies(rng):
    points = np.repeat(rng.standard_normal((100, 6)), 30, axis=0)
    neighbours, _ = approximate_neighbours(points, 8, faiss=faiss, rng=rng)
    assert neighbours.shape == (3000, 8)
    assert not (neighbours == np.arange(3000)[:, None]).any()


def test_squared_distances_are_those_of_differences_or_nothing_where_only_rounding_is_left(rng):
    points = rng.standard_normal((60, 5))
    points[30:] = points[:30] + 1e-9
    exact = ((points[:, None] - points) ** 2).sum(axis=2)
    found = squared_distances_to(points, points)
    assert (found[exact < 1e-16] == 0.0).all()
    np.testing.assert_allclose(found[exact > 1e-4], exact[exact > 1e-4], rtol=1e-9)
