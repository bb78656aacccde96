"""Lessons against the Gaussian processes of scikit-learn, and against learning again."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from manifuse.evidence.lesson import FLAT, learn
from manifuse.evidence.likeness import FEATURE_WIDTHS, Likeness, Rows
from manifuse.kernels.sphere import standardise

VARIANCES = np.array([0.2, 0.3, 0.5, 0.1, 0.4, 0.25])


def rows_of(points):
    """Rows whose one score and one feature are the same number."""
    return Rows(points[:, None], np.empty((len(points), 0)), points[:, None])


def itself(count):
    return [np.array([row]) for row in range(count)]


@pytest.fixture
def points(rng):
    return standardise(rng.standard_normal(60))


@pytest.fixture
def likeness(points, rng):
    return Likeness.of(rows_of(points), np.arange(min(len(points), 300)), "main")


def test_values_and_variances_are_those_of_scikit_learn(points, likeness, rng):
    """On one number, standardising changes no kernel, so each width occurs twice; what is flat is linear."""
    lengths = [np.sqrt(factor * likeness.widths[0] / 2.0) for factor in FEATURE_WIDTHS]
    kernel = (VARIANCES[0] + FLAT) * DotProduct(0.0, "fixed") + ConstantKernel(FLAT)
    for variance, length in zip(VARIANCES[1:5], lengths * 2, strict=True):
        kernel += ConstantKernel(variance) * RBF(length)
    targets, later = np.sin(2 * points) + 0.3 * rng.standard_normal(60), np.linspace(-4, 4, 25)
    process = GaussianProcessRegressor(kernel, alpha=VARIANCES[-1], optimizer=None).fit(points[:, None], targets)
    found = learn(likeness, rows_of(points), points, targets[:, None], itself(60), variances=VARIANCES)
    mean, deviation = process.predict(later[:, None], return_std=True)
    np.testing.assert_allclose(found.lesson.predict(rows_of(later), later)[:, 0], mean, atol=1e-8)
    np.testing.assert_allclose(found.lesson.predict_with_variance(rows_of(later), later)[1], deviation**2, atol=1e-8)


def test_far_from_all_rows_a_lesson_is_a_line_of_what_was_expected(points, likeness):
    """Off the rows that taught, only an offset and slopes of what was expected and of the scores are left."""
    targets = 1.0 + 0.8 * points + 0.5 * np.cos(5 * points)
    found = learn(likeness, rows_of(points), points, targets[:, None], itself(60), variances=VARIANCES)
    far = Rows(np.zeros((3, 1)), np.empty((3, 0)), np.array([[40.0], [50.0], [60.0]]))
    at = found.lesson.predict(far, np.array([0.0, 1.0, 2.0]))[:, 0]
    assert at[2] - at[1] == pytest.approx(at[1] - at[0])
    # The four Gaussian parts know nothing there.
    unknown = VARIANCES[1:5].sum()
    assert found.lesson.predict_with_variance(far, np.zeros(3))[1].min() > unknown
    assert np.median(found.lesson.predict_with_variance(rows_of(points), points)[1]) < 0.2 * unknown


@pytest.mark.parametrize("paired", [False, True])
def test_a_row_held_out_has_the_value_of_a_lesson_without_it(points, likeness, paired, rng):
    near = [np.append(row, (row + np.arange(1, 1 + row % 4)) % 60) for row in range(60)]
    targets, contrasts = (np.sin(2 * points) + 0.3 * rng.standard_normal(60))[:, None], None
    if paired:
        ends = np.array([rng.choice(60, 2, replace=False) for _ in range(90)])
        contrasts = np.zeros((90, 60))
        contrasts[np.arange(90), ends[:, 0]], contrasts[np.arange(90), ends[:, 1]] = 1.0, -1.0
        targets = np.ones((90, 1))
    rows = rows_of(points)
    found = learn(likeness, rows, points, targets, near, contrasts, VARIANCES)
    for row in range(0, 60, 7):
        kept = np.delete(np.arange(60), near[row])
        seen = targets[kept] if contrasts is None else targets[~contrasts[:, near[row]].any(axis=1)]
        among = None if contrasts is None else contrasts[~contrasts[:, near[row]].any(axis=1)][:, kept]
        again = learn(likeness, rows.take(kept), points[kept], seen, itself(len(kept)), among, VARIANCES)
        here = rows.take(np.array([row]))
        assert found.held_out[row, 0] == pytest.approx(again.lesson.predict(here, points[[row]])[0, 0], abs=1e-6)
        if not paired:
            expected = again.lesson.predict_with_variance(here, points[[row]])[1][0]
            assert found.held_out_variances[row] == pytest.approx(expected, abs=1e-6)


def test_contrasts_of_single_rows_are_values(points, likeness, rng):
    targets = rng.standard_normal((60, 1))
    plain, other = (
        learn(likeness, rows_of(points), points, targets, itself(60), contrasts, VARIANCES)
        for contrasts in (None, np.eye(60))
    )
    np.testing.assert_allclose(other.held_out, plain.held_out, atol=1e-9)
    np.testing.assert_allclose(other.lesson.weights, plain.lesson.weights, atol=1e-9)
    np.testing.assert_allclose(other.lesson.precision, plain.lesson.precision, atol=1e-9)


def test_pairs_are_conditions_on_a_joint_gaussian(points, likeness, rng):
    ends = np.array([rng.choice(60, 2, replace=False) for _ in range(40)])
    contrasts = np.zeros((40, 60))
    contrasts[np.arange(40), ends[:, 0]], contrasts[np.arange(40), ends[:, 1]] = 1.0, -1.0
    rows, later = rows_of(points), np.linspace(-3, 3, 9)
    found = learn(likeness, rows, points, np.ones((40, 1)), itself(60), contrasts, VARIANCES).lesson
    everywhere, places = rows_of(np.append(points, later)), np.append(points, later)
    parts = likeness.parts(everywhere, everywhere)
    joint = np.tensordot(VARIANCES[:-1], parts, axes=1) + FLAT * (1.0 + np.outer(places, places))
    told = contrasts @ joint[:60, :60] @ contrasts.T + VARIANCES[-1] * np.eye(40)
    crossing = joint[60:, :60] @ contrasts.T
    np.testing.assert_allclose(
        found.predict(rows_of(later), later)[:, 0], crossing @ np.linalg.solve(told, np.ones(40)), atol=1e-7
    )
    variances = np.diag(joint[60:, 60:] - crossing @ np.linalg.solve(told, crossing.T))
    np.testing.assert_allclose(found.predict_with_variance(rows_of(later), later)[1], variances, rtol=1e-6)


def test_rows_in_blocks_are_the_rows_at_once(points, likeness, rng, monkeypatch):
    found = learn(likeness, rows_of(points), points, rng.standard_normal((60, 2)), itself(60), variances=VARIANCES)
    rows, later = rows_of(np.linspace(-3, 3, 50)), np.linspace(-3, 3, 50)
    whole = found.lesson.predict(rows, later), found.lesson.predict_with_variance(rows, later)[1]
    monkeypatch.setattr("manifuse.kernels.columns.NUMBERS", 8 * 60 * 7)
    np.testing.assert_allclose(found.lesson.predict(rows, later), whole[0], atol=1e-9)
    np.testing.assert_allclose(found.lesson.predict_with_variance(rows, later)[1], whole[1], atol=1e-9)


def test_the_parts_of_likeness_are_as_documented(rng):
    rows = Rows(rng.standard_normal((30, 2)), rng.standard_normal((30, 3)), rng.standard_normal((30, 4)))
    likeness = Likeness.of(rows, np.arange(min(len(rows), 300)), "main")
    parts = likeness.parts(rows, rows)
    assert len(parts) == 1 + 4 + 2
    np.testing.assert_allclose(likeness.own(rows), [np.diag(part) for part in parts], atol=1e-12)
    np.testing.assert_allclose(parts[0], rows.scores @ rows.scores.T / 2)
    squares = ((rows.features[:, None] - rows.features) ** 2).sum(axis=2)
    median = np.median(squares[np.triu_indices(30, 1)])
    np.testing.assert_allclose(parts[4], np.exp(-squares / median), atol=1e-10)
    for part in parts:
        assert np.linalg.eigvalsh(part).min() > -1e-9
