"""Labels of rows that are not like the rest teach rows like themselves, and harm no other."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from tests.problems import smooth_truth

import manifuse as mf
from manifuse.columns.like_rest import apart_of, missed_share
from manifuse.columns.view import View
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.evidence.rankings import PairedRanking

ROWS, LABELS = 500, 60


def drawn(seed, where):
    """Own scores, the truth and the labelled rows: those with the largest first feature, half of all, or any."""
    noise = np.random.default_rng(seed)
    features, truth = smooth_truth(noise, ROWS)
    truth = 10 * truth + 3
    order = {"corner": np.argsort(-features[:, 0]), "half": np.flatnonzero(features[:, 0] > 0), "any": np.arange(ROWS)}
    ours = mf.Observations(truth + 4 * noise.standard_normal(ROWS), features, ids=range(ROWS), name="ours")
    return ours, truth, order[where][:LABELS]


def refined(ours, truth, labelled, task, references=()):
    result = mf.refine(ours, references, mf.RankLabels(labelled, truth[labelled]), rng=0, task=task)
    return result, np.setdiff1d(np.arange(ROWS), labelled)


@pytest.mark.parametrize("where", ["corner", "half"])
def test_values_elsewhere_are_not_moved_by_a_line_over_them(where):
    changes = []
    for seed in range(4):
        ours, truth, labelled = drawn(seed, where)
        result, rest = refined(ours, truth, labelled, "regression")
        assert not result.evidence.measured.representative.like_rest
        before, after = (np.sqrt(np.mean((each - truth)[rest] ** 2)) for each in (ours.scores, result.predictions))
        changes.append(after / before)
        assert "not like the other rows" in result.summary()
    # With the line it is 4 for the corner, and 2 for the half.
    assert np.mean(changes) < 1.1


def test_a_ranking_is_refined_near_them_and_kept_elsewhere():
    changes = []
    for seed in range(4):
        ours, truth, labelled = drawn(seed, "corner")
        result, rest = refined(ours, truth, labelled, "ranking")
        before, after = (ranking_accuracy(truth[rest], each[rest]) for each in (ours.scores, result.predictions))
        changes.append(after - before)
    # If it reached as far as what other labels teach, 14 points would be lost; if it had the level of all rows, 3.
    assert np.mean(changes) > 0


def test_labels_anywhere_are_like_the_rest_and_teach_all_rows():
    for seed in range(4):
        ours, truth, labelled = drawn(seed, "any")
        result, rest = refined(ours, truth, labelled, "ranking")
        assert result.evidence.measured.representative.like_rest
        before, after = (ranking_accuracy(truth[rest], each[rest]) for each in (ours.scores, result.predictions))
        assert after > before
        assert "not like the other rows" not in result.summary()


def test_a_constant_feature_makes_no_labels_unlike():
    for value in (0.1, 1 / 3, 1e6 + 0.1):
        ours, truth, labelled = drawn(0, "any")
        features = np.column_stack([ours.table, np.full(ROWS, value)])
        same = mf.Observations(ours.scores, features, ids=range(ROWS), name="ours")
        assert refined(same, truth, labelled, "ranking")[0].evidence.measured.representative.like_rest


@pytest.mark.parametrize("chosen", ["middle", "ends"])
def test_labels_that_were_chosen_by_the_score_are_not_like_the_rest(chosen):
    """As uncertainty sampling and audits of both ends choose them; the means stay."""
    for seed in range(4):
        ours, truth, _ = drawn(seed, "any")
        order = np.argsort(ours.scores)
        middle = order[ROWS // 2 - LABELS // 2 :][:LABELS]
        labelled = middle if chosen == "middle" else np.concatenate([order[: LABELS // 2], order[-LABELS // 2 :]])
        result, _ = refined(ours, truth, labelled, "ranking")
        assert not result.evidence.measured.representative.like_rest


@pytest.mark.parametrize("kind", ["score", "classes"])
@pytest.mark.parametrize("chosen", ["differ", "any"])
def test_labels_that_were_chosen_where_predictors_differ_are_not_like_the_rest(kind, chosen):
    """As disputed cases are looked at first: 60 of the 120 rows that both sides know."""
    for seed in range(2):
        ours, truth, _ = drawn(seed, "any")
        rng = np.random.default_rng(seed)
        theirs = (truth + 2 * rng.standard_normal(ROWS))[:120]
        far = np.argsort(-np.abs(theirs - ours.scores[:120]))[:LABELS]
        labelled = far if chosen == "differ" else rng.permutation(120)[:LABELS]
        if kind == "score":
            reference, labels = mf.Observations(theirs, ids=range(120)), mf.RankLabels(labelled, truth[labelled])
        else:
            sure, known = (expit((scores - 3) / 10) for scores in (ours.scores, theirs))
            ours, reference = (
                mf.Observations(np.column_stack([1 - p, p]), x, ids=range(len(p)), classes=["a", "b"], name=name)
                for p, x, name in ((sure, ours.table, "ours"), (known, None, "theirs"))
            )
            labels = mf.ClassLabels(labelled, np.where(truth[labelled] > 3, "b", "a"))
        result = mf.refine(ours, [reference], labels, rng=0)
        assert result.evidence.measured.representative.like_rest is (chosen == "any")


@pytest.mark.parametrize("chosen", ["least sure", "any"])
def test_labels_of_rows_that_a_classifier_is_least_sure_of_are_not_like_the_rest(chosen):
    """As in active learning."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((ROWS, 3))
        shares = softmax(2 * features + rng.standard_normal((ROWS, 3)), axis=1)
        truth = np.array(list("abc"))[(2 * features + rng.gumbel(size=(ROWS, 3))).argmax(axis=1)]
        ours = mf.Observations(shares, features, ids=range(ROWS), classes=list("abc"))
        unsure = np.argsort(shares.max(axis=1))[:LABELS]
        labelled = unsure if chosen == "least sure" else rng.permutation(ROWS)[:LABELS]
        result = mf.refine(ours, [], mf.ClassLabels(labelled, truth[labelled]), rng=0)
        assert result.evidence.measured.representative.like_rest is (chosen == "any")


@pytest.mark.parametrize("chosen", ["early", "late", "any"])
@pytest.mark.parametrize("follows", [True, False])
def test_early_and_late_labels_are_told_of_if_rows_follow_in_time(chosen, follows):
    """Rows stand in time if those that follow each other are alike; else their places say nothing."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((ROWS, 4))
        for row in range(1, ROWS if follows else 0):
            features[row] = 0.9 * features[row - 1] + np.sqrt(1 - 0.9**2) * features[row]
        truth = features[:, 0] + 0.5 * rng.standard_normal(ROWS)
        ours = mf.Observations(truth + rng.standard_normal(ROWS), features, ids=range(ROWS))
        labelled = rng.permutation(ROWS if chosen == "any" else ROWS // 2)[:LABELS]
        labelled = ROWS - 1 - labelled if chosen == "late" else labelled
        result = mf.refine(ours, [], mf.RankLabels(labelled, truth[labelled]), rng=0)
        told = follows and chosen != "any"
        assert result.evidence.measured.representative.of_all_times is not told
        assert result.evidence.measured.is_of_rest is not told
        said = [finding["sentence"] for finding in result.to_dict()["findings"]]
        assert any("The gain is that of their time" in each for each in said) is told


@pytest.mark.parametrize("chosen, apart", [("near", "closer"), ("ends", "farther"), ("any", None), ("one row", None)])
def test_ordered_pairs_that_are_not_as_far_apart_as_others_are_told_of(chosen, apart):
    """Where experts compare rows that a predictor cannot tell apart, it seems worse, and a gain larger."""
    for seed in range(2):
        ours, truth, _ = drawn(seed, "any")
        order, rng = np.argsort(ours.scores), np.random.default_rng(seed)
        places = rng.permutation(ROWS - 10)[:LABELS]
        one, other = {
            "near": (order[places], order[places + 5]),
            "ends": (order[places % 150], order[ROWS - 1 - places % 140]),
            "any": np.split(rng.permutation(ROWS)[: 2 * LABELS], 2),
            "one row": (np.full(LABELS, order[ROWS // 2]), rng.permutation(order[order != order[ROWS // 2]])[:LABELS]),
        }[chosen]
        first = truth[one] > truth[other]
        labels = mf.RankLabels.from_pairs(np.where(first, one, other), np.where(first, other, one))
        result = mf.refine(ours, [], labels, rng=0)
        assert result.evidence.measured.representative.apart == apart
        assert result.evidence.measured.is_of_rest is (apart is None)
        said = [finding["sentence"] for finding in result.to_dict()["findings"]]
        assert any("The gain is that of such pairs alone" in each for each in said) is (apart is not None)


@pytest.mark.parametrize("chosen", ["unknown", "known", "any"])
def test_labels_of_rows_that_references_do_not_know_vouch_for_no_others(chosen):
    """A noisy reference knows most rows. Labels of the others do not show that it does harm there."""
    gains = []
    for seed in range(6):
        ours, truth, _ = drawn(seed, "any")
        ours = mf.Observations(
            truth + 3 * np.random.default_rng(seed).standard_normal(ROWS), ours.table, ids=range(ROWS)
        )
        rng = np.random.default_rng(seed)
        order = rng.permutation(ROWS)
        known, unknown = order[:300], order[300:]
        noisy = mf.Observations(truth[known] + 40 * rng.standard_normal(300), ids=known, name="noisy")
        labelled = {"unknown": unknown, "known": known, "any": rng.permutation(ROWS)}[chosen][:LABELS]
        result, _ = refined(ours, truth, labelled, "ranking", [noisy])
        measured = result.evidence.measured
        assert measured.representative.of_known is (chosen != "unknown")
        assert measured.is_of_rest is (chosen != "unknown")
        assert ("References know the labelled rows less often" in str(result.to_dict()["findings"])) is (
            chosen == "unknown"
        )
        rest = np.setdiff1d(known, labelled)
        before, after = (ranking_accuracy(truth[rest], each[rest]) for each in (ours.scores, result.scores))
        gains.append(100 * (after - before))
    # Without this rule it is -1.5 where no label is of a known row.
    assert np.mean(gains) > -0.6


@pytest.mark.parametrize("task", ["regression", "ranking"])
@pytest.mark.parametrize("times", [2.4, 2.6])
def test_a_regression_tells_of_scores_that_are_far_farther_out_than_those_of_labelled_rows(times, task):
    """Its error hangs on them. Ranks do not."""
    ours, truth, labelled = drawn(0, "any")
    scores, middle = ours.scores.copy(), np.median(ours.scores)
    far = np.setdiff1d(np.arange(ROWS), labelled)[0]
    scores[far] = middle + times * np.abs(scores[labelled] - middle).max()
    main = mf.Observations(scores, ours.table, ids=range(ROWS), name="ours")
    result, _ = refined(main, truth, labelled, task)
    told = times > 2.5 and task == "regression"
    measured = result.evidence.measured
    assert measured.representative.of_far is not told
    assert measured.is_of_rest
    assert ("Some scores of “ours” are much farther from" in str(result.to_dict()["findings"])) is told


def test_gaps_are_compared_with_those_of_any_two_rows():
    """The share of smaller gaps is 1/2 in the mean, with variance 1/12; pairs that share a row count as fewer."""
    scores = np.arange(1500.0)[:, None]

    def told(gap, pairs):
        first = 18 * np.arange(pairs)
        return apart_of(scores, PairedRanking.of(first, first + gap))

    # Of the gaps of 1,500 rows in a line, the share 1 - (1 - g / 1500)^2 is below g.
    for pairs in (20, 60):
        for share, found in ((0.5 - 3.3 / np.sqrt(12 * pairs), "closer"), (0.5 - 2.7 / np.sqrt(12 * pairs), None)):
            gap = round(1500 * (1 - np.sqrt(1 - share)))
            assert told(gap + (gap % 18 == 0), pairs) == found
    assert told(1090, 20) == "farther"
    shared = PairedRanking.of(np.zeros(60, dtype=int), np.arange(1000, 1060))
    assert apart_of(scores, shared) is None
    few = np.repeat([0.0, 1.0], 100)[:, None]
    # Half of all pairs are equal, and count one half: the mean share of equal pairs is 1/4.
    assert apart_of(few, PairedRanking.of(np.arange(9), np.arange(9) + 50)) is None
    assert apart_of(few, PairedRanking.of(np.arange(40), np.arange(40) + 50)) == "closer"


@pytest.mark.parametrize("share, labels, missed", [(0.4, 60, True), (0.25, 60, True), (0.6, 4, False)])
def test_the_share_of_rows_that_labels_miss_is_that_of_references_which_know_none(share, labels, missed):
    known = np.zeros((400, 2))
    known[: int(400 * share), 0] = 1.0
    known[:, 1] = 1.0  # This one knows all rows, and hides nothing.
    rows = View(None, {}, known)
    assert missed_share(rows, np.arange(400 - labels, 400)) == (share if missed else 0.0)
    assert missed_share(rows, np.arange(labels)) == 0.0
    assert missed_share(View(None, {}, np.zeros((400, 0))), np.arange(labels)) == 0.0
    # Labels of nearly all rows leave little to chance.
    assert missed_share(rows, np.arange(int(60 * share), 400)) == share
