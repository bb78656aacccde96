"""Intervals: how often they hold the truth of a row that taught nothing."""

import numpy as np
import pytest

from manifuse.evidence.holding_out import Folds, Held
from manifuse.evidence.intervals import NINETY, error_scale_of, standard_errors, unevenness_of
from manifuse.evidence.rankings import GradedRanking
from manifuse.evidence.squared_error import SquaredError


@pytest.mark.parametrize("count", [12, 40, 300])
def test_intervals_hold_ninety_of_a_hundred_new_rows_however_few_the_labels(rng, count):
    held = []
    for _ in range(400):
        misses = rng.standard_t(3.0, count + 1)
        score = SquaredError(np.arange(count), misses[:-1])
        folds = Folds(np.zeros((1, count), dtype=int), Held.AT_RANDOM, np.arange(count))
        scale = error_scale_of(np.zeros((1, count)), np.ones((1, count)), score, folds)
        held.append(abs(misses[-1]) <= NINETY * standard_errors(np.ones(1), scale)[0])
    assert np.mean(held) == pytest.approx(0.9, abs=0.045)


@pytest.mark.parametrize("groups", [3, 5, 9, 20])
def test_intervals_hold_rows_of_a_new_group_if_those_of_a_group_are_missed_by_the_same(rng, groups):
    held, block = [], np.repeat(np.arange(groups + 1), 10)
    for _ in range(400):
        misses = rng.standard_normal(groups + 1)[block] + 0.3 * rng.standard_normal(len(block))
        score = SquaredError(np.arange(10 * groups), misses[:-10])
        folds = Folds.of(block[:-10], Held.BY_GROUP, rng, trials=1)
        values = np.zeros((1, 10 * groups))
        scale = error_scale_of(values, np.ones_like(values), score, folds)
        held.append(np.mean(abs(misses[-10:]) <= NINETY * standard_errors(np.ones(10), scale)))
    assert 0.8 < np.mean(held) < 0.97


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_few_labels_in_perfect_order_or_in_reverse_leave_errors_in_the_size_of_the_scores(sign):
    """By the labels alone, errors would be as small, or as large, as is searched."""
    grades = np.arange(10.0)
    score = GradedRanking(np.arange(10), grades)
    folds = Folds(np.zeros((1, 10), dtype=int), Held.AT_RANDOM, np.arange(10))
    scale = error_scale_of(sign * grades[None], np.ones((1, 10)), score, folds)
    assert 0.2 < scale / grades.std() < 20.0


@pytest.mark.parametrize("rises, sign", [(0.0, 0), (1.0, 1), (-1.0, -1)])
def test_misses_that_grow_with_the_score_are_seen(rises, sign, rng):
    scores, variances = rng.standard_normal((1, 100)), np.ones((1, 100))
    truth = scores[0] + np.exp(rises * scores[0]) * rng.standard_normal(100)
    found = unevenness_of(scores, variances, SquaredError(np.arange(100), truth))
    assert np.sign(found) == sign
    # If the variances know it, nothing is left.
    known = np.exp(2.0 * rises * scores)
    assert unevenness_of(scores, known, SquaredError(np.arange(100), truth)) == 0.0
    # Few targets that differ say nothing, and rankings have no misses.
    assert unevenness_of(scores, variances, SquaredError(np.arange(100), np.r_[truth[:4], np.zeros(96)])) == 0.0
    assert unevenness_of(scores, variances, GradedRanking(np.arange(100), truth)) == 0.0
