"""Scores against their definitions, and their standard errors against resampling."""

import numpy as np
import pytest

from manifuse.evidence.gain import Accuracy, Gain
from manifuse.evidence.score import GradedRanking, PairedRanking, SquaredError

ROWS = np.arange(60)


def all_pairs(grades):
    better, worse = np.nonzero(grades[:, None] > grades[None, :])
    return PairedRanking(np.arange(len(grades)), better, worse)


@pytest.fixture
def sample(rng):
    grades = rng.integers(0, 5, 60).astype(float)
    return grades, grades + 2.0 * rng.standard_normal(60), grades + 1.5 * rng.standard_normal(60)


def test_graded_and_paired_ranking_agree_on_all_pairs(sample):
    grades, before, after = sample
    graded, paired = GradedRanking(ROWS, grades), all_pairs(grades)
    candidates = np.column_stack([before, after, grades, np.zeros(60)])
    np.testing.assert_allclose(graded.evaluate(candidates), paired.evaluate(candidates), atol=1e-14)
    assert graded.evaluate(candidates)[2:].tolist() == [1.0, 0.5]
    assert graded.gain(before, after).value == pytest.approx(paired.gain(before, after).value)
    # The graded form leaves out the correction for the squares of single pairs, which vanishes like 1 / rows.
    errors = [score.gain(before, after).standard_error for score in (graded, paired)]
    assert errors[0] == pytest.approx(errors[1], rel=0.1)


def test_scoring_in_parts_changes_nothing(sample, monkeypatch, rng):
    grades = sample[0]
    candidates = rng.standard_normal((60, 9))
    whole = GradedRanking(ROWS, grades).evaluate(candidates)
    monkeypatch.setattr(GradedRanking, "BUDGET", 120)
    np.testing.assert_array_equal(GradedRanking(ROWS, grades).evaluate(candidates), whole)


@pytest.mark.parametrize("kind", ["graded", "regression"])
def test_the_standard_error_is_the_deviation_of_the_gain_over_new_samples(kind):
    gains, errors = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 4, 80).astype(float)
        before, after = truth + 1.5 * rng.standard_normal(80), truth + 1.2 * rng.standard_normal(80)
        rows = np.arange(80)
        score = GradedRanking(rows, truth) if kind == "graded" else SquaredError(rows, truth)
        gain = score.gain(before, after)
        gains.append(gain.value)
        errors.append(gain.standard_error)
    assert np.mean(errors) == pytest.approx(np.std(gains), rel=0.12)


def test_disjoint_pairs_have_the_standard_error_of_independent_ones(rng):
    score = PairedRanking(np.arange(80), np.arange(40), np.arange(40, 80))
    before, after = rng.standard_normal((2, 80))
    correct = [(np.sign(values[:40] - values[40:]) + 1) / 2 for values in (before, after)]
    expected = (correct[1] - correct[0]).std() / np.sqrt(40)
    assert score.gain(before, after).standard_error == pytest.approx(expected)


def test_users_read_the_error_of_a_regression_and_the_accuracy_of_a_ranking():
    score = SquaredError(np.arange(3), np.array([1.0, 2.0, 3.0]))
    found = score.compare(np.array([1.0, 2.0, 6.0]), np.array([1.0, 2.0, 3.0]))
    assert found == Accuracy("rmse", pytest.approx(np.sqrt(3.0)), 0.0)
    ranking = GradedRanking(np.arange(3), np.array([1.0, 2.0, 3.0]))
    assert ranking.compare(np.array([1.0, 3.0, 2.0]), np.array([1.0, 2.0, 3.0])) == Accuracy("accuracy", 2 / 3, 1.0)
    assert score.evaluate(np.array([[1.0], [2.0], [6.0]]))[0] == pytest.approx(-np.sqrt(3.0))


def test_no_difference_is_no_certain_gain(sample):
    grades, before, _ = sample
    assert GradedRanking(ROWS, grades).gain(before, before) == Gain(0.0, 0.0, 60, "accuracy")
    assert not Gain(0.0, 0.0, 60, "accuracy").is_certain
    assert Gain(0.02, 0.01, 60, "accuracy").is_certain
    assert not Gain(0.02, 0.01, 9, "accuracy").is_certain
