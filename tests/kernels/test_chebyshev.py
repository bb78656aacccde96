import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import chebyshev
from scipy.linalg import solve_sylvester

from manifuse.backends.graph import SparseAffinity
from manifuse.kernels.chebyshev import moments, propagate, resolvent_coefficients, smooth, smoothing_coefficients
from manifuse.kernels.laplacian import joined, normalised_affinity
from manifuse.kernels.nearest import exact_neighbours


def affinity_of(rng, rows):
    named = joined(exact_neighbours(rng.standard_normal((rows, 3)), 5), np.ones((rows, 5))).toarray() > 0
    weights = rng.uniform(0.1, 1.0, (rows, rows))
    matrix = sparse.csr_array(np.where(named, weights + weights.T, 0.0))
    return SparseAffinity(normalised_affinity(matrix))


@given(st.floats(0.01, 100.0), st.integers(1, 3), st.floats(0, 2), st.floats(0, 2))
def test_the_coefficients_interpolate_the_resolvent(step, power, x, y):
    coefficients = resolvent_coefficients(step, power=power, tolerance=1e-8)
    value = chebyshev.chebval2d(x - 1, y - 1, coefficients)
    floor = (1 + 4 * step) ** -power
    assert abs(value - (1 + step * (x + y)) ** -power) <= 2e-8 * floor + 1e-12


def test_a_smaller_tolerance_needs_a_higher_degree_and_a_larger_step_too():
    degrees = [len(resolvent_coefficients(10.0, tolerance=10.0**-k)) for k in (2, 4, 8)]
    assert degrees == sorted(set(degrees))
    assert len(resolvent_coefficients(0.1, tolerance=1e-6)) < len(resolvent_coefficients(100.0, tolerance=1e-6))


@pytest.mark.parametrize("step", [0.1, 1.0, 10.0, 100.0])
def test_the_matrix_free_bridge_solves_the_sylvester_equation(step, rng):
    main, reference = affinity_of(rng, 90), affinity_of(rng, 70)
    main_rows, reference_rows = rng.permutation(90)[:20], rng.permutation(70)[:20]
    labels = np.zeros((90, 70))
    labels[main_rows, reference_rows] = 1.0
    left = np.eye(90) + step * (np.eye(90) - main.matrix().toarray())
    right = step * (np.eye(70) - reference.matrix().toarray())
    exact = solve_sylvester(left, right, labels)
    coefficients = resolvent_coefficients(step, tolerance=1e-6)
    gathered = moments(reference, np.eye(70), reference_rows, len(coefficients))
    order = np.argsort(main_rows)
    sources = np.tensordot(coefficients, gathered, axes=1)[:, order]
    bridge = propagate(main, [(main_rows[order], sources)])
    assert np.linalg.norm(bridge - exact) <= 1e-6 * np.linalg.norm(exact)


def test_moments_are_chebyshev_polynomials_of_the_negative_affinity(rng):
    affinity = affinity_of(rng, 40)
    block, rows = rng.standard_normal((40, 2)), np.array([3, 17])
    values, vectors = np.linalg.eigh(-affinity.matrix().toarray())
    for order, found in enumerate(moments(affinity, block, rows, 6)):
        polynomial = chebyshev.chebval(values, np.eye(6)[order])
        np.testing.assert_allclose(found, ((vectors * polynomial) @ vectors.T @ block)[rows], atol=1e-12)


def test_propagation_is_the_adjoint_of_taking_moments(rng):
    affinity = affinity_of(rng, 40)
    block, rows = rng.standard_normal((40, 1)), np.array([1, 5, 30])
    sources = rng.standard_normal((7, 3, 1))
    gathered = moments(affinity, block, rows, 7)
    left, right = np.sum(sources * gathered), np.sum(propagate(affinity, [(rows, sources)]) * block)
    assert left == pytest.approx(right, abs=1e-12)


def test_one_source_of_degree_zero_stays_where_it_is():
    affinity = SparseAffinity(sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])))
    np.testing.assert_array_equal(propagate(affinity, [(np.array([1]), np.array([[[2.0]]]))]), [[0.0], [2.0]])


def test_smoothing_solves_its_systems_all_steps_at_once(rng):
    affinity = affinity_of(rng, 80)
    values = rng.standard_normal((80, 2))
    steps = (0.01, 1.0, 30.0, 1000.0)
    for step, smoothed in zip(steps, smooth(affinity, values, steps), strict=True):
        expected = np.linalg.solve((1 + step) * np.eye(80) - step * affinity.matrix().toarray(), values)
        assert np.all(np.linalg.norm(smoothed - expected, axis=0) <= 1e-8 * np.linalg.norm(expected, axis=0))


@pytest.mark.parametrize("step", [0.001, 0.3, 10.0, 300.0])
def test_what_is_left_out_of_the_smoothing_series_is_small(step):
    coefficients = smoothing_coefficients(step, tolerance=1e-6)
    x = np.linspace(-1, 1, 1001)
    exact = 1.0 / (1.0 + step * (1.0 - x))
    error = np.abs(chebyshev.chebval(x, coefficients) - exact).max()
    assert error <= 1e-6 * exact.min()
    assert np.abs(chebyshev.chebval(x, coefficients[:-1]) - exact).max() > 1e-6 * exact.min() / 30
