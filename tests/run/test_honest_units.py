"""What is said of a regression in other units, of rows that references know, and of noise, on simulated problems."""

import warnings

import numpy as np
import pytest

import manifuse as mf
from manifuse.columns import held_labels
from manifuse.evidence.reason import Reason
from manifuse.report.refinement_page import page_of

ROWS, PAIRS = 300, 80


def problem(seed, labels, *, noise, informative=True, good=True, offset=0.0, scale=1.0):
    """A problem; its outcome (n,); the labelled rows; and the pairs."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((ROWS, 4))
    signal = np.sin(features[:, 0]) + features[:, 1] * features[:, 2] + 0.5 * features[:, 3]
    signal = (signal - signal.mean()) / signal.std() if informative else rng.standard_normal(ROWS)
    outcome = scale * (signal + noise * rng.standard_normal(ROWS)) + offset
    main = mf.Observations(signal + rng.standard_normal(ROWS), features, ids=range(ROWS), name="ours")
    pairs, labelled = rng.choice(ROWS, PAIRS, replace=False), rng.choice(ROWS, labels, replace=False)
    said = (signal if good else rng.standard_normal(ROWS)) + 0.5 * rng.standard_normal(ROWS)
    reference = mf.Observations(said[pairs], ids=pairs.tolist(), name="theirs")
    return (main, [reference], mf.RankLabels(labelled.tolist(), outcome[labelled])), outcome, labelled, pairs


def test_a_line_into_other_units_is_no_gain():
    """Nothing can be learned here. Before and after must pay for the line alike."""
    gains = []
    for seed in range(16):
        given, *_ = problem(seed, 15, noise=0.3, informative=False, offset=1000.0, scale=50.0)
        gains.append(mf.refine(*given, rng=0, task="regression").gain)
    assert np.mean([gain.value for gain in gains]) < np.mean([gain.standard_error for gain in gains])
    assert np.mean([gain.is_clear for gain in gains]) < 0.25


@pytest.mark.parametrize("seed", range(6))
def test_two_groups_show_whether_scores_are_in_other_units(seed):
    """Their errors are so large that no gain is clear by these."""
    (main, references, labels), outcome, labelled, _ = problem(seed, 40, noise=0.3)
    grouped = mf.RankLabels(labels.keys, labels.grades, np.arange(40) % 2)
    others = np.setdiff1d(np.arange(ROWS), labelled)
    for units in (1.0, 100.0):
        scores = units * (main.scores + outcome) / 2.0
        given = mf.Observations(scores, main.table, ids=main.keys, name="ours")
        result = mf.refine(given, references, grouped, rng=0, task="regression")
        assert result.evidence.measured.in_other_units is (units > 1)
        assert np.abs(result.predictions - outcome)[others].mean() < 1.0


@pytest.mark.parametrize("noise", [0.3, 2.0])
def test_intervals_hold_outcomes_of_rows_that_references_know_however_noisy_these_are(noise):
    held = []
    for seed in range(8):
        given, outcome, labelled, pairs = problem(seed, 60, noise=noise)
        result = mf.refine(*given, rng=0, task="regression")
        rows = np.setdiff1d(pairs, labelled)
        misses = np.abs(np.asarray(result.predictions) - outcome)[rows]
        held.append(np.mean(misses <= 1.645 * np.asarray(result.uncertainty)[rows]))
    assert 0.8 < np.mean(held) < 0.97


def test_ordered_pairs_leave_as_much_doubt_at_common_rows_as_graded_labels_do():
    shares = []
    for ordered in (False, True):
        (main, references, labels), outcome, _, pairs = problem(3, 60, noise=0.3)
        if ordered:
            better, worse = np.random.default_rng(0).choice(ROWS, (2, 150))
            turned = outcome[better] < outcome[worse]
            better, worse = np.where(turned, worse, better), np.where(turned, better, worse)
            apart = better != worse
            labels = mf.RankLabels.from_pairs(better[apart].tolist(), worse[apart].tolist())
        doubt = np.asarray(mf.refine(main, references, labels, rng=0).uncertainty)
        shares.append(np.median(doubt[pairs]) / np.median(np.delete(doubt, pairs)))
    assert shares[1] == pytest.approx(shares[0], rel=0.25)


def test_noise_is_worth_nothing():
    worths = [
        mf.refine(*problem(seed, 40, noise=0.3, good=False)[0], rng=0, task="regression").worth for seed in range(12)
    ]
    mean = np.mean([worth.value for worth in worths])
    assert mean < 2.0 * np.std([worth.value for worth in worths]) / np.sqrt(12) + 0.003
    assert np.mean([worth.is_certain for worth in worths]) < 0.4


def test_scores_in_other_units_come_back_in_units_of_the_labels_though_nothing_was_learned():
    reasons = set()
    for seed in range(12):
        (main, _, labels), outcome, *_ = problem(seed, 15, noise=0.3, offset=1000.0, scale=50.0)
        result = mf.refine(main, [], labels, rng=0, task="regression")
        reasons.add(result.reason)
        assert np.sqrt(np.mean((np.asarray(result.predictions) - outcome) ** 2)) < 70.0
    assert Reason.UNITS in reasons


@pytest.mark.parametrize("seed", [34, 51, 56, 78])
def test_no_row_follows_where_what_was_learned_turns_scores_in_other_units_around(seed):
    (main, references, labels), *_ = problem(seed, 15, noise=2.0, offset=1000.0, scale=50.0)
    result = mf.refine(main, references, labels, rng=0, task="regression")
    assert result.reason is Reason.UNITS
    line = np.polyfit(main.scores, result.predictions, 1)
    np.testing.assert_allclose(result.predictions, np.polyval(line, main.scores), rtol=1e-9)


@pytest.mark.parametrize("seed", [115, 200, 257, 433, 514])
def test_what_was_found_is_taken_whole_if_a_mixture_is_worse(seed):
    """What lies between own scores and what was found can be worse than both, by few grades."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(60)
    own = truth + rng.standard_normal(60)
    main = mf.Observations(own, rng.standard_normal((60, 3)), ids=range(60), name="ours")
    reference = mf.Observations((truth + 0.5 * rng.standard_normal(60))[:30], ids=range(30), name="theirs")
    labelled = rng.permutation(60)[:20]
    result = mf.refine(main, [reference], mf.RankLabels(labelled, np.round(truth[labelled])), rng=0)
    assert (result.reason, result.evidence.verdict.certainty) == (Reason.TAUGHT, 1.0)
    assert not result.gain.is_loss


def test_the_page_says_that_scores_are_only_brought_into_other_units():
    given = [problem(seed, 15, noise=0.3, offset=1000.0, scale=50.0)[0] for seed in range(12)]
    results = [mf.refine(main, [], labels, rng=0, task="regression") for main, _, labels in given]
    page = page_of(next(result for result in results if result.reason is Reason.UNITS))
    assert "<h1>The scores of “ours” are in units of the labels</h1>" in page
    assert "accepted, in other units alone" in page


def test_of_a_regression_with_few_labels_it_is_said_that_scores_keep_their_units():
    given, *_ = problem(0, 8, noise=0.3, offset=1000.0, scale=50.0)
    result = mf.refine(*given, rng=0, task="regression")
    assert result.gain.is_of_few
    assert "so the scores stay in their own units" in result.summary().replace("\n", " ")
    assert "so the scores stay in their own units" not in mf.refine(*given, rng=0).summary().replace("\n", " ")


@pytest.mark.parametrize("odd", [1, 4])
def test_few_other_labels_are_not_called_few_rows(odd):
    (main, references, _), *_ = problem(0, 8, noise=0.3)
    labels = mf.RankLabels(range(60), np.arange(60) < odd)
    result = mf.refine(main, references, labels, rng=0, task="regression")
    said = result.summary().replace("\n", " ")
    assert (
        f"60 labelled rows, of which {odd} ha{'s' if odd == 1 else 've'} another label than the rest, are too" in said
    )
    assert "so the scores stay in their own units" in said
    assert "Fewer than ten" not in said


@pytest.mark.parametrize("count", [15, 40])
def test_a_regression_whose_labels_run_backwards_is_refused_and_said_so(count):
    """A wrong sign is no knowledge, whatever a lesson makes of it."""
    said = []
    for seed in range(8):
        (main, references, labels), outcome, *_ = problem(seed, count, noise=0.3)
        sure = mf.Observations(main.scores + 2.0 * outcome, main.table, ids=main.keys, name="ours")
        reversed_labels = mf.RankLabels(labels.keys, -labels.grades)
        result = mf.refine(sure, references, reversed_labels, rng=0, task="regression")
        assert result.reason is Reason.REVERSED
        said.append("rank the labels backwards." in result.summary().replace("\n", " "))
        assert mf.refine(sure, references, labels, rng=0, task="regression").reason is not Reason.REVERSED
    assert all(said)


@pytest.mark.parametrize("seed", [1, 4, 8])
def test_skewed_scores_that_rank_labels_rightly_are_not_called_backwards(seed):
    """A line through them, fitted without a row, runs against that row."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(300)
    scores = np.exp(2.0 * (truth + rng.standard_normal(300)))
    main = mf.Observations(scores, truth[:, None] + rng.standard_normal((300, 3)), ids=range(300), name="ours")
    rows = rng.permutation(300)[:60]
    said = mf.refine(main, [], mf.RankLabels(rows, truth[rows]), rng=0, task="regression").summary()
    assert "backwards" not in said


def test_of_few_labels_no_single_reference_has_a_worth():
    (main, references, labels), *_ = problem(0, 7, noise=0.3)
    second = mf.Observations(references[0].scores[::-1], ids=references[0].keys, name="noise")
    result = mf.refine(main, [*references, second], labels, rng=0, task="regression")
    assert result.worth.is_of_few
    assert [entry.worth for entry in result.relevance] == [None, None]


def claims(seed, unit):
    """Amounts with a heavy tail, a predictor of them in some unit, a reference, and labels."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((800, 4))
    level = features[:, 0] + 0.5 * features[:, 1]
    truth = np.exp(7.5 + 1.1 * level + 0.9 * rng.standard_normal(800))
    said = np.exp(7.5 + 1.1 * features[:, 0] + 0.3 * rng.standard_normal(800))
    main = mf.Observations(said / unit, features, ids=range(800), name="ours")
    theirs = mf.Observations(np.exp(7.5 + 1.1 * level[:150]), ids=range(150), name="theirs")
    labelled = rng.permutation(800)[:150]
    return main, [theirs], mf.RankLabels(labelled, truth[labelled])


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
@pytest.mark.parametrize("seed", range(4))
def test_a_regression_in_other_units_is_told_of_unless_a_line_brings_it_into_theirs(seed):
    for unit in (1.0, 1000.0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = mf.refine(*claims(seed, unit), task="regression", rng=0)
        codes = [each.message.code for each in caught]
        brought = result.evidence.measured.in_other_units
        assert ("other_units" in codes) is (unit > 1 and not brought)
        negative = int((result.predictions < 0).sum())
        assert ("left_label_range" in codes) is (negative > 8)


@pytest.mark.parametrize("share, moved", [(0.03, False), (0.25, True)])
def test_risks_that_move_in_the_mean_are_told_of(share, moved):
    """Labels that were chosen by their outcome move risks, and a weak score does not show it."""
    rng = np.random.default_rng(2)
    log_odds, features = -3.8 + 0.9 * rng.standard_normal(2000), rng.standard_normal((2000, 3))
    risk = 1.0 / (1.0 + np.exp(-log_odds))
    truth = rng.random(2000) < risk
    ones = rng.permutation(np.flatnonzero(truth))[:40]
    others = rng.permutation(np.flatnonzero(~truth))[: round(len(ones) * (1.0 / share - 1.0))]
    rows = np.concatenate([ones, others])
    noisy = 1.0 / (1.0 + np.exp(3.8 - 0.1 * (log_odds + 3.8) - 0.4 * rng.standard_normal(2000)))
    main = mf.Observations(noisy, features, ids=range(2000), scale="probability", name="ours")
    theirs = mf.Observations(log_odds[:150] + 0.3 * rng.standard_normal(150), ids=range(150), name="theirs")
    result = mf.refine(main, [theirs], mf.RankLabels(rows, truth[rows].astype(int)), rng=0)
    (said,) = [each for each in result.findings if each.code == "mean risk"]
    labels, before, after = result.evidence.measured.mean_risks
    assert labels == pytest.approx(share, rel=0.05)
    assert (before, after) == pytest.approx((noisy.mean(), result.predictions.mean()))
    assert said.speaks_for is not moved
    assert ("If the labels were chosen by their outcome" in said.sentence) is moved
    rare = f"({len(ones)} of them have another label than the rest)"
    assert any(rare in each.sentence for each in result.findings) is not moved


def test_of_more_labels_than_teach_the_drawn_ones_are_counted(monkeypatch):
    monkeypatch.setattr(held_labels, "MOST_TAUGHT", 100)
    main, references, labels = claims(1, 1.0)
    result = mf.refine(main, references, mf.RankLabels(labels.keys, labels.grades), rng=0)
    said = " ".join(each.sentence for each in result.findings)
    assert "On 100 of the 150 rows whose truth is known, which were drawn at random, ranking accuracy goes" in said
    assert "On the rows that were drawn" in said
    assert "On all" not in said


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_a_regression_that_leaves_the_range_of_percentages_is_told_of():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((400, 3))
    truth = 100.0 / (1.0 + np.exp(-4.0 * (features[:, 0] + features[:, 1])))
    own = 100.0 / (1.0 + np.exp(-4.0 * features[:, 0]))
    main = mf.Observations(own, features, ids=range(400), name="ours")
    labels = mf.RankLabels(range(100), truth[:100])
    with pytest.warns(mf.ManifuseWarning, match=r"refined scores of ours are outside of \[0, 100\], and no label is"):
        result = mf.refine(main, [], labels, rng=0, task="regression")
    assert np.mean((result.predictions < 0) | (result.predictions > 100)) > 0.01
