"""Labels that were chosen by their class: they do not say how frequent classes are."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit, softmax
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import manifuse as mf
from manifuse.evidence.by_class import ByClass
from manifuse.evidence.chosen_labels import chosen_by_class, offset_that_keeps
from manifuse.evidence.class_score import LogLoss
from manifuse.evidence.labelled import score_of
from manifuse.tables.classes import Classes

ROWS = 3000
CLASSES = Classes(("a", "b", "c"))


def draw(rng):
    """True log-ratios of rows of three classes, of which one is frequent, and their classes."""
    logarithms = 1.5 * rng.standard_normal((ROWS, 3)) + np.log([0.8, 0.15, 0.05])
    probabilities = softmax(logarithms, axis=1)
    return CLASSES.log_ratios(np.log(probabilities)), (rng.random((ROWS, 1)) > probabilities.cumsum(axis=1)).sum(
        axis=1
    )


def of_each_class(rng, truth, count=20):
    return np.concatenate(
        [rng.choice(np.flatnonzero(truth == each), count, replace=False) for each in np.unique(truth)]
    )


def asked(log_ratios, truth, rows):
    return chosen_by_class(LogLoss(rows, truth[rows], CLASSES), log_ratios)


def test_the_excess_is_how_much_more_frequent_classes_are_than_expected(rng):
    log_ratios, truth = draw(rng)
    score = asked(log_ratios, truth, of_each_class(rng, truth))
    assert score.are_chosen
    expected = np.exp(CLASSES.logarithms(log_ratios))
    expected[score.rows] = np.eye(3)[truth[score.rows]]
    usual = expected.mean(axis=0)
    odds = np.log((20.0 + usual) / 61.0 / usual)
    np.testing.assert_allclose(CLASSES.log_ratios(odds[None])[0], score.excess)
    # By Bayes' rule, probabilities of rows that are chosen so are these.
    chosen = np.exp(score.logarithms(log_ratios[:5]))
    expected = np.exp(CLASSES.logarithms(log_ratios[:5]) + odds)
    np.testing.assert_allclose(chosen, expected / expected.sum(axis=1, keepdims=True))
    # How frequent labels are says nothing of rows at random.
    assert score.only(np.arange(30)).excess is score.excess
    coordinates = CLASSES.coordinates(rng.dirichlet([2.0, 2.0, 2.0], 5))
    found = np.exp(score.logarithms(score.log_ratios(coordinates)))
    np.testing.assert_allclose(CLASSES.coordinates(found), coordinates)


def test_what_labels_say_of_each_class_is_that_of_rows_like_them(rng):
    log_ratios, truth = draw(rng)
    score = asked(log_ratios, truth, of_each_class(rng, truth))
    here = log_ratios[score.rows]
    found = ByClass.of(score, here, here[None])
    plain = ByClass.of(replace(score, excess=0.0), here + score.excess, here[None] + score.excess)
    np.testing.assert_allclose(found.counts, plain.counts)
    np.testing.assert_allclose(found.brier, plain.brier)


def test_extreme_decision_values_have_a_finite_excess(rng):
    log_ratios, truth = draw(rng)
    score = asked(log_ratios + CLASSES.log_ratios(np.array([[0.0, 0.0, -1e5]])), truth, of_each_class(rng, truth))
    assert score.are_chosen
    assert np.isfinite(score.excess).all()


@pytest.mark.parametrize("counts, chosen", [((40, 40), True), ((25, 50), True), ((25, 75), True), ((4, 76), False)])
def test_cases_and_controls_are_chosen_in_any_share_but_their_own(counts, chosen, rng):
    odds = 2.0 * rng.standard_normal((ROWS, 1)) - 4.0
    truth = (rng.random(ROWS) < expit(odds[:, 0])).astype(int)
    rows = [rng.choice(np.flatnonzero(truth == one), count) for one, count in zip((1, 0), counts, strict=True)]
    score = LogLoss(np.concatenate(rows), np.repeat([1, 0], counts), Classes(("0", "1")))
    assert chosen_by_class(score, odds).are_chosen is chosen


def test_cases_of_a_rare_event_are_mostly_found_among_more_controls(rng):
    """One row in a hundred is a case. The labels are ten of these and fifty others, or as they come."""
    found = []
    for _ in range(40):
        odds = 1.5 * rng.standard_normal((ROWS, 1)) - 6.0
        truth = (rng.random(ROWS) < expit(odds[:, 0])).astype(int)
        cases, others = (np.flatnonzero(truth == one) for one in (1, 0))
        chosen = np.concatenate([rng.choice(cases, 10, replace=False), rng.choice(others, 50, replace=False)])
        for rows in (chosen, rng.choice(ROWS, 60, replace=False)):
            score = LogLoss(rows, truth[rows], Classes(("0", "1")))
            found.append(chosen_by_class(score, odds).are_chosen)
    assert np.mean(found[::2]) > 0.7
    assert np.mean(found[1::2]) < 0.05


def test_the_offset_keeps_the_mean_risk(rng):
    for spread, rare in ((1.0, -3.5), (8.0, 2.0), (1e3, 0.0)):
        own, log_odds = rare + rng.standard_normal(500), spread * rng.standard_normal(500)
        assert expit(offset_that_keeps(own, log_odds) + log_odds).mean() == pytest.approx(expit(own).mean())


@pytest.mark.parametrize("kind", ["as expected", "wrong frequencies", "too sure", "chosen by a feature", "few"])
def test_other_labels_are_not_taken_to_be_chosen(kind, rng):
    found = []
    for _ in range(60):
        log_ratios, truth = draw(rng)
        rows = rng.choice(ROWS, 60, replace=False)
        if kind == "wrong frequencies":
            log_ratios = log_ratios + CLASSES.log_ratios(np.log([[0.2, 1.0, 2.0]]))
        elif kind == "too sure":
            log_ratios = 4.0 * log_ratios
        elif kind == "chosen by a feature":
            # Rows about which the classifier is least sure.
            rows = np.argsort(np.exp(CLASSES.logarithms(log_ratios)).max(axis=1))[: ROWS // 4]
            rows = rng.choice(rows, 60, replace=False)
        elif kind == "few":
            rows = of_each_class(rng, truth, 1)
        found.append(asked(log_ratios, truth, rows).are_chosen)
    assert np.mean(found) < 0.06


def test_labels_of_all_rows_say_how_frequent_classes_are(rng):
    log_ratios, truth = draw(rng)
    rows = of_each_class(rng, truth)
    assert asked(log_ratios, truth, rows).are_chosen
    score = chosen_by_class(LogLoss(np.arange(60), truth[rows], CLASSES), log_ratios[rows])
    assert not score.are_chosen


def test_two_labels_of_three_classes_say_nothing(rng):
    log_ratios, truth = draw(rng)
    assert not asked(log_ratios, truth, np.array([np.argmax(truth == 1), np.argmax(truth == 2)])).are_chosen


def problem(rng, kind):
    """A classifier of an event that one row in ten has, one reference, and labels of as many cases as controls."""
    features, truth = make_classification(
        4000, 8, n_informative=6, n_redundant=0, weights=[0.9], flip_y=0.05, class_sep=0.7, random_state=1
    )
    ids = np.arange(len(truth))
    ours, theirs = ids[:2000], np.append(ids[2000:], ids[:100])

    def probabilities(rows, columns, learned):
        model = LogisticRegression().fit(features[learned][:, columns], truth[learned])
        return model.predict_proba(features[rows][:, columns])

    def table(rows, columns, learned, name):
        found, given = probabilities(rows, columns, learned), {"ids": rows, "name": name}
        if kind == "risks":
            return mf.Observations(found[:, 1], features[rows][:, columns], scale="probability", **given)
        return mf.Observations(found, features[rows][:, columns], classes=["no", "yes"], **given)

    main = table(ours, slice(0, 4), ids[1700:2000], "ours")
    reference = table(theirs, slice(3, 8), ids[2000:], "theirs")
    rest = ours[100:1700]
    known = np.concatenate([rng.choice(rest[truth[rest] == each], 40, replace=False) for each in (0, 1)])
    test = np.setdiff1d(rest, known)
    return main, reference, known, truth, test


@pytest.mark.parametrize("kind", ["risks", "classes"])
def test_as_many_cases_as_controls_do_not_make_cases_more_frequent(kind, rng):
    main, reference, known, truth, test = problem(rng, kind)
    labels = mf.RankLabels(known, truth[known])
    if kind == "classes":
        labels = mf.ClassLabels(known, np.array(["no", "yes"])[truth[known]])
    result = mf.refine(main, [reference], labels, rng=0)
    assert result.accepted
    assert result.evidence.measured.chosen
    said = " ".join(result.summary().split())
    assert "The labels seem to be chosen by class" in said
    # Of a ranking, the gain is that of any rows.
    assert ("on rows like the labelled ones" in said) is (kind == "classes")

    def risk(predictions):
        return np.asarray(predictions)[test] if kind == "risks" else np.asarray(predictions)[test, 1]

    def loss(found):
        return -float(np.mean(np.log(np.where(truth[test] == 1, found, 1.0 - found))))

    before, after = risk(main.came), risk(result.predictions)
    assert after.mean() == pytest.approx(before.mean(), abs=0.03)
    if kind == "risks":
        assert np.mean(result.predictions) == pytest.approx(np.mean(main.came))
    assert loss(after) < loss(before) + 0.01
    # By the labels alone, every second row would be a case.
    assert loss(expit(logit(after) - logit(before.mean()))) > loss(before) + 0.1


def test_labels_of_groups_do_not_say_how_they_were_chosen(rng):
    main, _, known, truth, _ = problem(rng, "classes")
    names = np.array(["no", "yes"])[truth[known]]
    assert score_of(mf.ClassLabels(known, names), main, regression=False).are_chosen
    grouped = mf.ClassLabels(known, names, groups=known // 20)
    assert not score_of(grouped, main, regression=False).are_chosen
    main, reference, known, truth, _ = problem(rng, "risks")
    result = mf.refine(main, [reference], mf.RankLabels(known, truth[known], groups=known // 20), rng=0)
    assert not result.evidence.measured.chosen
