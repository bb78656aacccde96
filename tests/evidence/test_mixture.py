"""How what was learned and what was diffused are mixed, and how certain the mixture says that it is."""

from dataclasses import replace

import numpy as np
import pytest

from manifuse.diffusion.units import Units
from manifuse.evidence.mixture import (
    LARGEST_ERROR,
    MOST_SHARE,
    NINETY,
    Mixture,
    Shares,
    error_scale_of,
    mixed,
    ordered_rightly,
)
from manifuse.evidence.score import GradedRanking, PairedRanking, SquaredError
from manifuse.evidence.standard import Standard
from manifuse.kernels.sphere import standardise

ROWS = 400


@pytest.fixture
def truth(rng):
    return standardise(rng.standard_normal(ROWS))


def mix(learned, diffused, *, variances=None, score=None, usual=MOST_SHARE):
    shares = Shares.choose(learned, diffused, usual, score)
    units = Units.of(np.linspace(3.0, 5.0, ROWS))
    return Mixture.of(learned, learned, diffused, variances, shares=shares, score=score, units=units)


def near(truth, size, rng):
    return standardise(truth + size * rng.standard_normal(len(truth)))


def test_without_labels_the_share_is_the_usual_one_and_units_are_kept(truth, rng):
    learned, diffused = near(truth, 0.5, rng), near(truth, 0.5, rng)
    for share in (0.0, 0.4, 0.7):
        mixture, honest = mix(learned, diffused, usual=share)
        assert mixture.share == share
        np.testing.assert_allclose(
            mixture.mix(learned, diffused), standardise(mixed(mixture.share, learned, diffused))
        )
        usual = np.linspace(3.0, 5.0, ROWS)
        assert (honest.mean(), honest.std()) == pytest.approx((usual.mean(), usual.std()))
        assert mixture.line is mixture.error_scale is mixture.errors(np.ones(3)) is None


@pytest.mark.parametrize("regression", [False, True])
def test_labels_move_the_share_only_if_they_are_certain(truth, regression, rng):
    rows = np.arange(100)
    score = SquaredError(rows, truth[rows]) if regression else GradedRanking(rows, truth[rows])
    good, bad = near(truth, 0.2, rng), rng.standard_normal(ROWS)
    assert mix(good, bad, score=score)[0].share == 0.0
    assert mix(bad, good, score=score, usual=0.3)[0].share == MOST_SHARE
    # Both are the same, so no share is better than the usual one.
    assert mix(good, good, score=score, usual=0.3)[0].share == 0.3
    # Nothing was diffused.
    assert mix(bad, good, score=score, usual=0.0)[0].share == 0.0


@pytest.mark.parametrize("kind", ["graded", "paired", "regression"])
def test_the_held_out_share_of_a_row_does_not_depend_on_its_label(truth, kind, rng):
    rows, changes = np.arange(40), 0
    learned, diffused = near(truth, 0.6, rng), near(truth, 0.8, rng)
    better, worse = np.nonzero(truth[rows, None] > truth[rows])

    def choose(grades, turned=None):
        if kind == "graded":
            score = GradedRanking(rows, grades)
        elif kind == "regression":
            score = SquaredError(rows, grades)
        else:
            mine = (better == turned) | (worse == turned)
            score = PairedRanking(rows, np.where(mine, worse, better), np.where(mine, better, worse))
        return Shares.choose(learned, diffused, MOST_SHARE, score)

    before = choose(truth[rows])
    for row in rows:
        grades = truth[rows].copy()
        grades[row] = -grades[row]
        after = choose(grades, row)
        assert after.held_out[row] == before.held_out[row]
        changes += np.any(after.held_out != before.held_out)
    # Labels do decide for others.
    assert changes > 0


def test_labels_that_chose_the_share_do_not_measure_its_gain(rng):
    """Over many draws, the gain at held-out labels is that on other rows; at labels that chose it is larger."""
    leans = []
    for _ in range(120):
        truth = rng.standard_normal(400)
        learned, diffused = near(truth, 1.0, rng), near(truth, 1.0, rng)
        score, rest = GradedRanking(np.arange(30), truth[:30]), GradedRanking(np.arange(30, 400), truth[30:])
        shares, usual = Shares.choose(learned, diffused, MOST_SHARE, score), mixed(MOST_SHARE, learned, diffused)
        chosen = mixed(shares.chosen, learned, diffused)
        honest = mixed(shares.held_out, learned[:30], diffused[:30])
        true = rest.gain(usual[30:], chosen[30:]).value
        leans.append([score.gain(usual[:30], after).value - true for after in (honest, chosen[:30])])
    mean, error = np.mean(leans, axis=0), np.std(leans, axis=0) / np.sqrt(len(leans))
    assert abs(mean[0]) < 3.0 * error[0]
    assert mean[1] > 3.0 * error[1]


def test_where_other_labels_order_nothing_the_share_is_the_usual_one(rng):
    learned, diffused = rng.standard_normal((2, ROWS))
    one_higher = GradedRanking(np.arange(20), (np.arange(20) == 7).astype(float))
    around_one = PairedRanking(np.arange(20), np.arange(1, 20), np.zeros(19, dtype=int))
    for score, alone in ((one_higher, 7), (around_one, 0)):
        assert score.only(np.delete(np.arange(20), alone)) is None
        assert Shares.choose(learned, diffused, 0.7, score).held_out[alone] == 0.7


def test_a_regression_is_a_line_and_held_out_labels_are_predicted_without_themselves(truth, rng):
    rows = rng.choice(ROWS, 30, replace=False)
    learned, targets = near(truth, 0.5, rng), 7.0 + 3.0 * truth[rows] + rng.standard_normal(30)
    mixture, honest = mix(learned, learned, score=SquaredError(rows, targets), usual=0.0)
    slope, offset = np.polyfit(learned[rows], targets, 1)
    assert mixture.line == pytest.approx((offset, slope))
    expected = offset + slope * learned
    np.testing.assert_allclose(mixture.in_units(learned, Units.of(truth)), expected)
    for position, row in enumerate(rows):
        others = np.delete(rows, position)
        line = np.polyfit(learned[others], np.delete(targets, position), 1)
        assert honest[row] == pytest.approx(np.polyval(line, learned[row]))
    unlabelled = np.setdiff1d(np.arange(ROWS), rows)
    np.testing.assert_allclose(honest[unlabelled], expected[unlabelled])


def test_a_line_never_turns_scores_around(truth, rng):
    rows = np.arange(40)
    mixture, _ = mix(truth, truth, score=SquaredError(rows, -truth[rows]), usual=0.0)
    assert mixture.line[1] == 0.0


def test_nine_of_ten_targets_lie_within_their_interval(truth, rng):
    rows, learned = np.arange(200), near(truth, 0.5, rng)
    variances = rng.uniform(0.5, 2.0, ROWS)
    targets = 4.0 * truth[rows]
    mixture, honest = mix(learned, learned, variances=variances, score=SquaredError(rows, targets), usual=0.0)
    errors = mixture.errors(variances)
    assert errors / np.sqrt(variances) == pytest.approx(mixture.error_scale)
    inside = np.abs(honest[rows] - targets) <= 1.6449 * errors[rows] * (1 + 1e-12)
    assert inside.mean() == pytest.approx(0.9, abs=0.01)


@pytest.mark.parametrize("size", [0.2, 1.0])
@pytest.mark.parametrize("paired", [False, True])
def test_errors_of_a_ranking_are_those_with_which_orders_come_true(size, paired, rng):
    """If the truth is the score plus normal noise, the standard error is that of the noise."""
    scores = standardise(rng.standard_normal(ROWS))
    truth, rows = scores + size * rng.standard_normal(ROWS), np.arange(ROWS)
    better, worse = np.nonzero(truth[:, None] > truth)
    chosen = rng.choice(len(better), 20_000, replace=False)
    score = PairedRanking(rows, better[chosen], worse[chosen]) if paired else GradedRanking(rows, truth)
    mixture, _ = mix(scores, scores, variances=np.full(ROWS, 4.0), score=score, usual=0.0)
    deviation = np.linspace(3.0, 5.0, ROWS).std()
    assert mixture.errors(np.full(1, 4.0))[0] == pytest.approx(size * deviation, rel=0.12)


def test_values_out_of_range_are_refused(truth):
    mixture, _ = mix(truth, truth)
    for changes in ({"share": 1.0}, {"share": -0.1}, {"line": (np.nan, 1.0)}, {"error_scale": np.inf}):
        with pytest.raises(ValueError, match="out of range"):
            replace(mixture, **changes).check()


def test_standard_errors_of_huge_scores_are_in_range(rng):
    """In units of a power of two they are the same bits, up to the largest numbers there are."""
    truth = rng.standard_normal(60)
    honest, variances = truth + rng.standard_normal(60), rng.uniform(0.5, 1.0, 60)
    score = GradedRanking(np.arange(60), truth)
    scale = error_scale_of(honest, variances, score)
    assert error_scale_of(honest * 2.0**1020, variances, score) == scale * 2.0**1020


def test_standard_errors_stay_in_the_range_of_floats_and_so_do_probabilities():
    mixture = Mixture(0.0, Standard(0.0, 1.0), None, 1e307)
    errors = mixture.errors(np.array([1.0, 1e4]))
    np.testing.assert_array_equal(errors, [1e307, LARGEST_ERROR])
    most = np.array([1.5e308])
    one = np.ones(1)
    assert ordered_rightly(most, -most, errors[:1], errors[:1]) == ordered_rightly(15 * one, -15 * one, one, one)
    assert ordered_rightly(most, most, errors[1:], errors[1:]) == 0.5


def test_two_labels_choose_no_share(truth):
    for score in (SquaredError(np.arange(2), truth[:2]), GradedRanking(np.arange(2), truth[:2])):
        assert Shares.choose(truth, -truth, 0.4, score).held_out.tolist() == [0.4, 0.4]


def test_probability_and_interval_say_the_same():
    """A truth is outside an interval of 90 % on either side in one case of twenty."""
    zeros, errors = np.zeros(3), np.array([0.5, 1.0, 2.0])
    np.testing.assert_allclose(ordered_rightly(NINETY * errors, zeros, errors, zeros), 0.95)


def test_a_few_rows_far_off_do_not_make_all_others_doubtful(rng):
    """Errors are heavy-tailed: most rows are nearly right, and one of twenty has any score."""
    truth = standardise(rng.standard_normal(ROWS))
    scores = np.where(rng.random(ROWS) < 0.05, rng.permutation(truth), truth + 0.2 * rng.standard_normal(ROWS))
    error = np.full(ROWS, error_scale_of(scores, np.ones(ROWS), GradedRanking(np.arange(ROWS), truth)))
    first, second = np.triu_indices(ROWS, 1)
    sure = ordered_rightly(scores[first], scores[second], error[first], error[second])
    right = np.where((scores[first] > scores[second]) == (truth[first] > truth[second]), 1.0, 0.0)
    sure = np.maximum(sure, 1.0 - sure)
    bins = np.minimum((20 * (sure - 0.5)).astype(int), 9)
    off = np.abs(np.bincount(bins, sure) - np.bincount(bins, right)).sum() / len(sure)
    assert off < 0.035
