"""Scores against their definitions, and their standard errors against resampling."""

import numpy as np
import pytest
from scipy.special import ndtri, stdtrit

from manifuse.evidence.class_score import LogLoss, temperature_towards
from manifuse.evidence.gain import Gain
from manifuse.evidence.holding_out import Folds, Held
from manifuse.evidence.rankings import GradedRanking, PairedRanking
from manifuse.evidence.squared_error import SquaredError
from manifuse.tables.classes import Classes

ROWS = np.arange(60)


def all_pairs(grades):
    return PairedRanking.of(*np.nonzero(grades[:, None] > grades[None, :]))


@pytest.fixture
def sample(rng):
    grades = rng.integers(0, 5, 60).astype(float)
    return grades, grades + 2.0 * rng.standard_normal(60), grades + 1.5 * rng.standard_normal(60)


def test_graded_and_paired_ranking_agree_on_all_pairs(sample):
    grades, before, after = sample
    graded, paired = GradedRanking(ROWS, grades), all_pairs(grades)
    candidates = np.column_stack([before, after, grades, np.zeros(60)])
    np.testing.assert_allclose(graded.evaluate(candidates), paired.evaluate(candidates[paired.rows]), atol=1e-14)
    assert graded.evaluate(candidates)[2:].tolist() == [1.0, 0.5]
    ends = before[paired.rows], after[paired.rows]
    assert graded.gain(before, after).value == pytest.approx(paired.gain(*ends).value)
    # The graded form leaves out the correction for the squares of single pairs, which vanishes like 1 / rows.
    errors = [graded.gain(before, after).standard_error, paired.gain(*ends).standard_error]
    assert errors[0] == pytest.approx(errors[1], rel=0.1)


def test_of_ordered_pairs_those_are_taken_of_which_both_rows_are():
    score = PairedRanking.of(np.array([5, 6, 7]), np.array([1, 2, 3]))
    taken = score.only(np.array([0, 1, 2, 3, 5]))
    np.testing.assert_array_equal(taken.rows, [5, 7, 1, 3])
    assert score.only(np.array([0, 1, 2])) is None


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


def test_errors_of_what_is_learned_in_folds_are_larger_than_those_of_its_rows():
    """Four useless numbers are learned from 30 targets of deviation 1, and the truth would be 0 everywhere."""
    rows, hits = np.arange(30), []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        features, truth = np.column_stack([np.ones(30), rng.standard_normal((30, 3))]), rng.standard_normal(30)
        folds, after = Folds.of(rows, Held.AT_RANDOM, rng), np.empty((5, 30))
        for trial, values in enumerate(after):
            for fold in folds.rows(trial):
                others = np.setdiff1d(rows, fold)
                values[fold] = features[fold] @ np.linalg.lstsq(features[others], truth[others])[0]
        score, own = SquaredError(rows, truth), np.zeros(30)
        learned = np.linalg.lstsq(features, truth)[0]
        gain, alone = score.gain(own, after, folds), score.gain(own, after, folds.together())
        assert gain.standard_error == pytest.approx(1.5 * alone.standard_error)
        # On new rows, the squared error is that of the targets and of the four numbers.
        missed = abs(gain.value - (1.0 - np.sqrt(1.0 + learned @ learned)))
        hits.append([missed < 1.645 * each.standard_error for each in (gain, alone)])
    certain, deceived = np.mean(hits, axis=0)
    assert deceived < 0.72
    assert 0.8 < certain < 0.95


def test_disjoint_pairs_have_the_standard_error_of_independent_ones(rng):
    score = PairedRanking(np.arange(80))
    before, after = rng.standard_normal((2, 80))
    correct = [(np.sign(values[:40] - values[40:]) + 1) / 2 for values in (before, after)]
    # One more pair is counted that only one of both puts right. The factor is of an error that 80 rows measure.
    expected = _student(80) * np.sqrt(40 * (correct[1] - correct[0]).var() + 1) / 40
    assert score.gain(before, after).standard_error == pytest.approx(expected)


def _student(count):
    """By how much an error that so many blocks measure is larger than that of infinitely many."""
    return stdtrit(count - 1, 0.975) / ndtri(0.975) * np.sqrt(count / (count - 1.0))


def test_the_error_of_pairs_leaves_each_row_out_in_turn(rng):
    """One row is in most of the pairs."""
    better, worse = np.r_[np.zeros(30, dtype=int), np.arange(1, 11)], np.r_[np.arange(1, 31), np.arange(21, 31)]
    score = PairedRanking.of(better, worse)
    before, after = rng.standard_normal((2, 31))
    was, now = (each[score.rows] for each in (before, after))
    off = (np.sign(after[better] - after[worse]) - np.sign(before[better] - before[worse])) / 2.0
    off = off - off.mean()
    ends = [(better == row) | (worse == row) for row in range(31)]
    usual = 1.0 - np.mean([each.mean() for each in ends])
    left = [usual * 40 * off[~each].mean() for each in ends]
    scale = [usual / (1.0 - each.mean()) for each in ends]
    twice = sum(each**2 * scale[i] * scale[j] for each, i, j in zip(off, better, worse, strict=True))
    expected = _student(31) * np.sqrt(max(np.sum(np.square(left)) - twice, np.sum(off**2)) + 1.0) / 40
    assert score.gain(was, now).standard_error == pytest.approx(expected)


def test_users_read_the_error_of_a_regression_and_the_accuracy_of_a_ranking():
    score = SquaredError(np.arange(3), np.array([1.0, 2.0, 3.0]))
    assert score.measured(np.array([1.0, 2.0, 6.0])) == pytest.approx(np.sqrt(3.0))
    ranking = GradedRanking(np.arange(3), np.array([1.0, 2.0, 3.0]))
    assert ranking.measured(np.array([1.0, 3.0, 2.0])) == pytest.approx(2 / 3)
    assert score.evaluate(np.array([[1.0], [2.0], [6.0]]))[0] == pytest.approx(-np.sqrt(3.0))


def test_no_difference_is_no_certain_gain(sample):
    grades, before, _ = sample
    assert GradedRanking(ROWS, grades).gain(before, before) == Gain(0.0, 0.0, 60, "accuracy", others=46)
    assert not Gain(0.0, 0.0, 60, "accuracy").is_certain
    assert Gain(0.02, 0.01, 60, "accuracy").is_certain
    assert not Gain(0.02, 0.01, 9, "accuracy").is_certain


@pytest.mark.parametrize(("positive", "is_of_few"), [(1, True), (4, True), (5, False), (55, False), (56, True)])
def test_a_few_labels_of_one_kind_make_no_gain_in_ranking_certain(positive, is_of_few, rng):
    score = GradedRanking(ROWS, np.repeat([1.0, 0.0], [positive, 60 - positive]))
    gain = score.gain(*rng.standard_normal((2, 60)))
    assert score.is_of_few == gain.is_of_few == is_of_few
    assert gain.others == min(positive, 60 - positive)


def test_accuracies_rise_by_a_gain_at_most_to_one_and_errors_fall():
    assert Gain(0.25, 0.01, 60, "accuracy").reached_from(0.5) == 0.75
    assert Gain(0.25, 0.01, 60, "rmse").reached_from(3.0) == 2.75


def test_a_gain_within_folds_is_the_mean_over_pairs_of_one_fold(rng):
    grades = rng.integers(0, 4, 30).astype(float)
    before, after = rng.standard_normal(30), rng.standard_normal((2, 30))
    folds = Folds.of(np.arange(30), Held.AT_RANDOM, rng, trials=2)
    gain = GradedRanking(np.arange(30), grades).gain(before, after, folds)
    changes = [
        ((values[i] > values[j]) - 1.0 * (before[i] > before[j]))
        for trial, values in enumerate(after)
        for fold in folds.rows(trial)
        for i in fold
        for j in fold
        if grades[i] > grades[j]
    ]
    assert gain.value == pytest.approx(np.mean(changes))
    again = GradedRanking(np.arange(30), grades).gain(after, np.broadcast_to(before, after.shape), folds)
    assert again.value == pytest.approx(-gain.value)
    assert again.standard_error == pytest.approx(gain.standard_error)


@pytest.mark.parametrize("kind", ["graded", "paired", "squared", "classes"])
def test_rows_that_a_group_repeats_are_no_more_evidence(kind, rng):
    """But for the factor of Student's t, because the spread of groups is measured on so many of them."""
    truth, before, after = rng.standard_normal((3, 40))

    def gain(times):
        known, was, now = (np.tile(each, times) for each in (truth, before, after))
        rows = np.arange(len(known))
        block, pairs = rows % 40, rows.reshape(-1, 2).T
        if kind == "paired":
            # Each group is of two rows that are compared.
            score, block = PairedRanking.of(*pairs), block // 2
            was, now, block = (each[np.concatenate(pairs)] for each in (was, now, block))
        elif kind == "classes":
            score = LogLoss(rows, (known > 0).astype(int), Classes(("a", "b")))
            was, now = was[:, None], now[:, None]
        else:
            score = {"graded": GradedRanking, "squared": SquaredError}[kind](rows, known)
        folds = Folds(np.zeros((1, len(rows)), dtype=int), Held.BY_GROUP, block)
        return score.gain(was, now, folds), score.gain(was, now)

    (once, alone), (often, deceived) = gain(1), gain(7)
    # Without groups, 40 rows measure the error of pairs.
    student = _student(20) / _student(40) if kind == "paired" else stdtrit(39, 0.975) / ndtri(0.975)
    assert often.value == pytest.approx(once.value)
    assert often.standard_error == pytest.approx(student * alone.standard_error, rel=0.03)
    # Of pairs, one more is counted among 20 and among 140.
    more = _student(280) / _student(40) if kind == "paired" else 1.0
    assert deceived.standard_error == pytest.approx(more * alone.standard_error / np.sqrt(7), rel=0.05)
    # A group of the two rows of a pair is one pair, as before, but for the factor.
    factor = student if kind == "paired" else 1.0
    assert once.standard_error == pytest.approx(factor * alone.standard_error)


def test_every_ordered_pair_is_held_out_with_all_pairs_of_its_rows(rng):
    score = PairedRanking.of(np.array([0, 1, 2, 3]), np.array([1, 2, 3, 4]))
    blocks = np.unique(score.rows, return_inverse=True)[1]
    folds, (unseen,) = score.hold_out(blocks, Held.AT_RANDOM, rng, 5)
    assert [sorted(out.tolist()) for out in unseen] == [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3]]
    np.testing.assert_array_equal(folds.numbers[0, :4], folds.numbers[0, 4:])


def test_ordered_pairs_are_held_out_by_blocks_of_rows(rng):
    better, worse = rng.permuted(np.tile(np.arange(60), (80, 1)), axis=1)[:, :2].T
    score = PairedRanking.of(better, worse)
    _, (unseen,) = score.hold_out(score.rows, Held.AT_RANDOM, rng, 5)
    for pair, out in enumerate(unseen):
        shares = np.isin(better, [better[pair], worse[pair]]) | np.isin(worse, [better[pair], worse[pair]])
        assert np.isin(np.flatnonzero(shares), out).all()
    # Two of ten blocks have a row of 36 in 100 pairs, and one of them of 19.
    assert 0.15 < np.mean([len(out) for out in unseen]) / 80 < 0.45


@pytest.mark.parametrize("pairs", [10, 100, 1000])
def test_one_pair_that_is_put_right_is_no_certain_gain(pairs):
    score = PairedRanking(np.arange(2 * pairs))
    # All pairs are in the wrong order.
    before = np.repeat([-1.0, 1.0], pairs)
    for changed, certain in ((1, False), (8, True)):
        after = before.copy()
        after[:changed], after[pairs : pairs + changed] = 1.0, -1.0
        gain = score.gain(before, after)
        assert gain.value == pytest.approx(changed / pairs)
        assert gain.is_certain is certain


@pytest.mark.parametrize("share", [None, 0.5, 0.1])
def test_the_error_by_chance_is_that_of_random_scores(share, rng):
    truth = rng.standard_normal(80) if share is None else (np.arange(80) < 80 * share).astype(float)
    score = GradedRanking(np.arange(80), truth)
    drawn = score.evaluate(rng.standard_normal((80, 4000)))
    assert drawn.std() == pytest.approx(score.error_by_chance, rel=0.05)
    # By chance, 0.6 of 100 are 2.5 standard errors below one half.
    told = [score.is_backwards(each) for each in rng.standard_normal((1500, 80))]
    assert 0.001 < np.mean(told) < 0.015
    for backwards in (score, SquaredError(np.arange(80), truth)):
        assert backwards.is_backwards(-truth)
    assert not score.is_backwards(drawn[0] + np.zeros(80))


def test_ordered_pairs_that_share_no_row_are_right_by_chance_as_coins_are(rng):
    score = PairedRanking.of(np.arange(40), np.arange(40, 80))
    drawn = score.evaluate(rng.standard_normal((80, 4000)))
    assert drawn.std() == pytest.approx(score.error_by_chance, rel=0.05)


def test_a_temperature_towards_warmer_targets_is_theirs(rng):
    classes, centre = Classes(("a", "b", "c")), np.array([0.3, -0.2])
    distances = rng.standard_normal((50, 2))
    for temperature in (0.4, 1.7):
        found = temperature_towards(distances, centre + temperature * distances, classes, centre)
        assert found == pytest.approx(temperature, rel=1e-4)
