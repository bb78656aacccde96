"""Lessons: Gaussian process regression over columns and features."""

from dataclasses import replace

import numpy as np
import pytest

from manifuse.columns import lesson as lesson_module
from manifuse.columns.covariance import FEATURE_WIDTHS, Covariance, weighed
from manifuse.columns.lesson import FLAT, learn
from manifuse.columns.view import View


@pytest.fixture
def rows(rng):
    features = rng.standard_normal((80, 4)) * [1.0, 10.0, 0.1, 0.0]
    columns = {"own": rng.standard_normal((80, 1)), "references": rng.standard_normal((80, 3, 1))}
    return View(features, columns, np.zeros((80, 3)))


@pytest.fixture
def covariance(rows):
    return Covariance.of(rows, np.arange(80), "main")


def test_the_parts_are_own_scores_features_and_references(rows, covariance):
    assert [part.count for part in covariance.parts] == [1, 1, 2, 2, 1, 1, 1]
    points = covariance.points(rows)
    own, linear, wide, *_ = matrices = list(covariance.each(points, points))
    np.testing.assert_allclose(own, rows["own"] @ rows["own"].T)
    scaled = (rows.features - rows.features.mean(axis=0))[:, :3] / rows.features.std(axis=0)[:3]
    np.testing.assert_allclose(linear, scaled @ scaled.T / 3.0, atol=1e-9)
    squares = np.sum((scaled[:, None] - scaled) ** 2, axis=2)
    median = np.median(squares[np.triu_indices(80, 1)])
    np.testing.assert_allclose(wide, np.exp(-squares / (FEATURE_WIDTHS[0] * median)), atol=1e-9)
    variances = np.arange(1.0, 10.0)
    total = weighed(covariance.each(points, points), variances)
    np.testing.assert_allclose(total, np.tensordot(variances, np.array(matrices), axes=1))
    np.testing.assert_allclose(weighed(covariance.own(points), variances), np.diag(total))


def test_a_lesson_is_the_posterior_of_the_sum_of_its_parts(rows, covariance, rng, monkeypatch):
    taught, targets = np.arange(30), rng.standard_normal((30, 2))
    expected = rows["own"]
    found = learn(covariance, rows.take(taught), targets, expected[taught])
    lesson = found.lesson
    points = covariance.points(rows)
    prior = weighed(covariance.each(points, points), lesson.variances[:-1]) + FLAT * (1.0 + expected @ expected.T)
    observed = prior[:30, :30] + lesson.variances[-1] * np.eye(30)
    values, variances = lesson.predict(rows, expected)
    np.testing.assert_allclose(values, prior[:, :30] @ np.linalg.solve(observed, targets), atol=1e-7)
    wanted = np.diag(prior) - np.einsum("ql,lq->q", prior[:, :30], np.linalg.solve(observed, prior[:30]))
    np.testing.assert_allclose(variances, wanted, atol=1e-6)
    monkeypatch.setattr(lesson_module, "NUMBERS", 60)
    np.testing.assert_allclose(lesson.predict(rows, expected)[0], values, atol=1e-9)
    again = learn(covariance, rows.take(taught), targets, expected[taught], variances=2.0 * lesson.variances)
    np.testing.assert_array_equal(again.lesson.variances, 2.0 * lesson.variances)
    twice = prior + weighed(covariance.each(points, points), lesson.variances[:-1])
    observed_twice = twice[:30, :30] + 2.0 * lesson.variances[-1] * np.eye(30)
    found_again, _ = again.lesson.predict(rows, expected)
    np.testing.assert_allclose(found_again, twice[:, :30] @ np.linalg.solve(observed_twice, targets), atol=1e-7)
    # Without a fold, it is what it would have been if the fold had never taught.
    fold, kept = np.arange(5), np.arange(5, 30)
    without, _ = found.without_fold(fold).predict(rows, expected)
    rest = observed[np.ix_(kept, kept)]
    np.testing.assert_allclose(without, prior[:, kept] @ np.linalg.solve(rest, targets[kept]), atol=1e-7)
    np.testing.assert_allclose(found.without([fold], [fold])[0][fold], without[fold], atol=1e-7)


def test_a_linear_function_of_the_features_is_learned_beyond_the_rows_that_taught(rng):
    """What Gaussian parts cannot: rows far out."""
    features = rng.standard_normal((200, 5))
    slopes = rng.standard_normal(5)
    far = features[:, 0] > 1.0
    view = View(features, {"own": np.zeros((200, 1))}, np.zeros((200, 0)))
    taught = np.flatnonzero(~far)[:60]
    truth = features @ slopes
    covariance = Covariance.of(view, np.arange(200), "main")
    curved = replace(covariance, parts=tuple(part for part in covariance.parts if part.widths))
    errors = []
    for each in (covariance, curved):
        found = learn(each, view.take(taught), truth[taught, None], np.empty((60, 0)))
        values, _ = found.lesson.predict(view, np.empty((200, 0)))
        errors.append(np.sqrt(np.mean((values[far, 0] - truth[far]) ** 2)) / truth.std())
    assert errors[0] < 0.1 < errors[1]
