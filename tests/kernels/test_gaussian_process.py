"""Gaussian process regression against fitting again, and against the densities of scipy."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

import manifuse.kernels.gaussian_process as module
from manifuse.kernels.gaussian_process import (
    LEAST_NOISE,
    NOISE_PRIOR,
    PART_PRIOR,
    covariance_of,
    fit_variances,
    predict_without,
)


def gaussian(points, width):
    return np.exp(-((points[:, None] - points) ** 2) / width)


@pytest.fixture
def process(rng):
    """Covariance of forty function values, their noise, and two drawn functions with noise."""
    points = rng.uniform(-2, 2, 40)
    covariance, noise = gaussian(points, 0.5) + 0.3 * gaussian(points, 3.0), 0.2
    functions = rng.multivariate_normal(np.zeros(40), covariance, 2, method="eigh").T
    return covariance, noise, functions + np.sqrt(noise) * rng.standard_normal((40, 2))


def test_what_is_left_out_is_what_would_not_have_been_observed(process, rng):
    covariance, noise, targets = process
    observed = covariance + noise * np.eye(40)
    left_out = [np.append(row, rng.choice(np.delete(np.arange(40), row), row % 7, replace=False)) for row in range(40)]
    inverse = np.linalg.inv(observed)
    predicted, variances = predict_without(
        inverse, targets, covariance, np.diag(covariance), [np.array([row]) for row in range(40)], left_out
    )
    for row, out in enumerate(left_out):
        kept = np.delete(np.arange(40), out)
        rest, crossing = observed[np.ix_(kept, kept)], covariance[row, kept]
        np.testing.assert_allclose(predicted[row], crossing @ np.linalg.solve(rest, targets[kept]), atol=1e-9)
        variance = covariance[row, row] - crossing @ np.linalg.solve(rest, crossing)
        assert variances[row] == pytest.approx(variance, abs=1e-9)


def test_contrasts_that_touch_a_row_are_left_out_like_values(process, rng):
    covariance, noise, _ = process
    ends = np.array([rng.choice(40, 2, replace=False) for _ in range(40)])
    contrasts = np.zeros((40, 40))
    contrasts[np.arange(40), ends[:, 0]], contrasts[np.arange(40), ends[:, 1]] = 1.0, -1.0
    observed, targets = contrasts @ covariance @ contrasts.T + noise * np.eye(40), rng.standard_normal((40, 1))
    left_out = [np.flatnonzero(contrasts[:, row]) for row in range(40)]
    assert min(len(out) for out in left_out) == 0
    inverse, prior = np.linalg.inv(observed), np.diag(covariance)
    predicted, variances = predict_without(
        inverse, targets, covariance @ contrasts.T, prior, [np.array([row]) for row in range(40)], left_out
    )
    for row, out in enumerate(left_out):
        kept = np.delete(np.arange(40), out)
        crossing = covariance[row] @ contrasts[kept].T
        again = crossing @ np.linalg.solve(observed[np.ix_(kept, kept)], targets[kept])
        np.testing.assert_allclose(predicted[row], again, atol=1e-9)
        variance = prior[row] - crossing @ np.linalg.solve(observed[np.ix_(kept, kept)], crossing)
        assert variances[row] == pytest.approx(variance, abs=1e-9)


def test_the_variances_are_the_most_probable_ones(process, rng):
    """The density is that of scipy. At its maximum every slope is 0, and every step leads down."""
    _, _, targets = process
    points = rng.uniform(-2, 2, 40)
    parts, fixed = np.array([gaussian(points, 0.5), gaussian(points, 3.0)]), 0.5 * np.ones((40, 40))
    means, deviations = np.array([PART_PRIOR, PART_PRIOR, NOISE_PRIOR]).T

    def logarithm(variances):
        total = covariance_of(parts, fixed, variances)
        likelihood = sum(multivariate_normal.logpdf(column, np.zeros(40), total) for column in targets.T)
        return likelihood + norm.logpdf(np.log(variances), means, deviations).sum()

    found = fit_variances(parts, fixed, targets)
    for direction in np.eye(3):
        up, down = (logarithm(found * np.exp(size * direction)) for size in (1e-3, -1e-3))
        assert (up - down) / 2e-3 == pytest.approx(0.0, abs=0.01)
        assert all(logarithm(found * np.exp(size * direction)) < logarithm(found) for size in (0.3, -0.3))


def test_a_part_that_explains_nothing_gets_a_small_variance(rng):
    points, others = rng.uniform(-2, 2, (2, 150))
    parts = np.array([gaussian(points, 0.5), gaussian(others, 0.5)])
    targets = rng.multivariate_normal(np.zeros(150), 0.7 * parts[0], method="eigh") + 0.5 * rng.standard_normal(150)
    first, second, noise = fit_variances(parts, np.zeros((150, 150)), targets[:, None])
    assert first > 10 * second
    assert noise == pytest.approx(0.25, rel=0.4)


def test_what_is_explained_exactly_has_the_least_noise(rng):
    """Without a least variance, rounding would decide where the search ends, and so the order of the rows."""
    points = rng.standard_normal((60, 3))
    squares = np.sum((points[:, None] - points) ** 2, axis=2)
    parts, targets = np.array([points @ points.T / 3.0, np.exp(-squares / 3.0), np.exp(-squares)]), points[:, :1]
    found = fit_variances(parts, 100.0 * np.ones((60, 60)), targets)
    assert LEAST_NOISE < found[-1] < 10.0 * LEAST_NOISE
    order = rng.permutation(60)
    turned = fit_variances(parts[:, order][:, :, order], 100.0 * np.ones((60, 60)), targets[order])
    np.testing.assert_allclose(turned, found, rtol=1e-3)


@pytest.mark.parametrize("failing", [{2}, {2, 3}, {4}])
def test_a_step_to_where_there_is_no_factor_is_taken_back(process, rng, monkeypatch, failing):
    points, (*_, targets) = rng.uniform(-2, 2, 40), process
    parts, fixed = np.array([gaussian(points, 0.5), gaussian(points, 3.0)]), 0.5 * np.ones((40, 40))
    expected, calls = fit_variances(parts, fixed, targets), []
    factor = module.dpftrf

    def sometimes(*given, **options):
        calls.append(given)
        found, failed = factor(*given, **options)
        return (np.full_like(found, np.nan), 1) if len(calls) in failing else (found, failed)

    monkeypatch.setattr(module, "dpftrf", sometimes)
    np.testing.assert_allclose(fit_variances(parts, fixed, targets), expected, rtol=0.05)
    assert len(calls) > max(failing)


def test_folds_are_predicted_together_by_what_is_left(process, rng):
    covariance, noise, targets = process
    observed = covariance + noise * np.eye(40)
    folds = np.array_split(rng.permutation(40), 4)
    predicted, _ = predict_without(
        np.linalg.inv(observed), targets, covariance, np.diag(covariance), folds[:3], folds[:3]
    )
    for fold in folds[:3]:
        kept = np.setdiff1d(np.arange(40), fold)
        again = covariance[np.ix_(fold, kept)] @ np.linalg.solve(observed[np.ix_(kept, kept)], targets[kept])
        np.testing.assert_allclose(predicted[fold], again, atol=1e-9)
    seen = covariance[folds[3]] @ np.linalg.solve(observed, targets)
    np.testing.assert_allclose(predicted[folds[3]], seen, atol=1e-9)
