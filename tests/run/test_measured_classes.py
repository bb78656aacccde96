"""What labels say of classes: where nothing is taken, in groups, and where labels are all right."""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, softmax
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from tests.test_classes import NAMES, draw

import manifuse as mf
from manifuse.columns.held_labels import Labels
from manifuse.columns.scored import HeldOutScores, OwnScores
from manifuse.evidence.class_score import FREEDOM, PRIOR_PRECISION, LogLoss, temperature_of
from manifuse.evidence.holding_out import Folds, Held
from manifuse.evidence.reason import Reason
from manifuse.report.refinement_page import page_of
from manifuse.tables.classes import Classes
from manifuse.tables.level import Level


def test_where_nothing_is_taken_no_measure_changes():
    main, others, known, _, _ = draw(4, labels=60)
    told = mf.ClassLabels(known.keys, np.random.default_rng(3).permutation(known.names))
    result = mf.refine(main, others, told, rng=0)
    assert result.reason is Reason.REVERSED
    assert result.evidence.measured.unrelated
    assert "say no more of the labels than chance could" in " ".join(result.summary().split())
    assert not mf.refine(main, others, known, rng=0).evidence.measured.unrelated
    assert not result.evidence.measured.calibrated
    assert "calibrated by the labels" not in result.summary()
    assert result.accuracy.measure == "class_accuracy"
    assert result.accuracy.after == result.accuracy.before
    assert result.log_loss.after == result.log_loss.before


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
@pytest.mark.parametrize("mixed", [True, False])
def test_labels_of_other_rows_are_told_of_where_less_sure_probabilities_miss_them_less(mixed):
    """Classes of other rows make probabilities less sure, which is a gain in log loss, and tell nothing of any row."""
    gains, told = [], []
    for seed in range(6):
        main, others, known, _, _ = draw(seed, labels=60)
        names = np.random.default_rng(seed).permutation(known.names) if mixed else known.names
        with warnings.catch_warnings(record=True) as given:
            result = mf.refine(main, others, mf.ClassLabels(known.keys, names), rng=0)
        gains.append(result.accepted and result.gain.is_certain)
        codes = [getattr(each.message, "code", "") for each in given]
        told.append("unrelated_labels" in codes)
        assert ("but say no more of the labels than chance could" in " ".join(result.summary().split())) is told[-1]
    assert sum(gains) >= 3
    assert told == (gains if mixed else [False] * 6)


@pytest.mark.parametrize("seed, reason, words", [(6, Reason.PAIRS, "the others"), (10, Reason.CALIBRATED, "“ours”")])
def test_what_is_not_taken_is_compared_with_own_probabilities_as_they_stay(seed, reason, words):
    """A classifier that is much too sure, and a reference of noise: labels calibrate all rows and take no more."""
    rng, count = np.random.default_rng(seed), 300
    truth, features = rng.integers(4, size=count), rng.standard_normal((count, 5))
    ours = softmax(4 * (1.5 * np.eye(4)[truth] + rng.standard_normal((count, 4))), axis=1)
    pairs, labelled = rng.permutation(count)[:100], rng.permutation(count)[:60]
    main = mf.Observations(ours, features, ids=range(count), classes=NAMES, name="ours")
    noise = softmax(1.2 * rng.standard_normal((100, 4)), axis=1)
    reference = mf.Observations(noise, ids=pairs, classes=NAMES, name="theirs")
    known = mf.ClassLabels(labelled, np.array(NAMES)[truth[labelled]])
    result = mf.refine(main, [reference], known, rng=0)
    assert result.reason is reason
    assert result.gain.is_loss
    rest = np.setdiff1d(np.arange(count), np.union1d(pairs, labelled))
    before, after = (-np.log(each[rest, truth[rest]]).mean() for each in (main.came, np.asarray(result.predictions)))
    assert result.log_loss.after == pytest.approx(after, abs=0.15)
    assert result.log_loss.before - result.log_loss.after == pytest.approx(before - after, abs=0.15)
    said = " ".join(result.summary().split())
    assert f"{words} are only calibrated: on 60 labelled rows" in said
    reached = result.gain.reached_from(result.log_loss.after)
    start = f"{result.log_loss.after:.3f}"
    assert f"with “ours” calibrated by the labels, the log loss would go from {start} to {reached:.3f}" in said
    page = page_of(result)
    assert "Brier score on the labels, before" in page
    assert "Brier score on the labels, after" not in page
    # What the references answer stands there, and, where rows follow them, as a finding, too.
    assert page.count("so the refinement follows them") == (2 if reason is Reason.PAIRS else 1)


def test_rows_of_a_group_count_once_in_the_error_of_the_accuracy():
    """Every labelled row stands twice in the table; its copy says nothing new.

    In this problem, references count the same in both tables. Copies, which they do not know, may let them count less.
    """
    main, others, known, _, _ = draw(7, labels=50)
    rows = [main.keys.tolist().index(key) for key in known.keys.tolist()]
    copies = np.concatenate([np.arange(len(main)), rows])
    ids = [*main.keys.tolist(), *(f"{key} again" for key in known.keys.tolist())]
    twice = mf.Observations(main.came[copies], main.table[copies], ids=ids, classes=main.classes.names, name="ours")
    keys, names = [*known.keys.tolist(), *ids[len(main) :]], [*known.names, *known.names]
    groups = known.keys.tolist() * 2
    _, once = mf.refine(main, others, known, rng=0).evidence.measured.right
    _, of_groups = mf.refine(twice, others, mf.ClassLabels(keys, names, groups), rng=0).evidence.measured.right
    assert of_groups.standard_error == pytest.approx(once.standard_error, rel=0.2)


@pytest.mark.parametrize("labels", [10, 100, 1000])
def test_labels_that_are_all_right_make_rows_as_sure_as_the_prior_allows(labels):
    classes, odds = Classes(("a", "b")), 1.5
    truth = np.arange(labels) % 2
    log_ratios = classes.log_ratios(np.array([[odds, 0.0], [0.0, odds]])[truth])
    score = LogLoss(np.arange(labels), truth, classes)

    # The derivative of the logarithm's loss and its prior, by hand.
    def slope(t):
        prior = PRIOR_PRECISION * t / (1.0 + PRIOR_PRECISION * t**2 / (FREEDOM + 1.0))
        return prior / labels - odds * np.exp(t) * expit(-odds * np.exp(t))

    root = brentq(slope, 0.0, 3.0)
    assert np.log(temperature_of(log_ratios, score)) == pytest.approx(root, abs=1e-5)


def test_few_labels_that_are_all_right_have_the_error_that_the_predictions_expect():
    """Both predictions are right on all labels, and the second is surer: by hand, from one row of two classes."""
    classes, labels = Classes(("a", "b")), 20
    truth = np.arange(labels) % 2
    signs = 1.0 - 2.0 * truth
    score = LogLoss(np.arange(labels), truth, classes)
    before, after = (classes.log_ratios(np.outer(signs, [odds / 2, -odds / 2])) for odds in (1.0, 3.0))
    gain = score.gain(before, after)
    right = expit([1.0, 3.0])
    differences = np.array([np.log(right[1] / right[0]), np.log((1 - right[1]) / (1 - right[0]))])
    weights = np.array([right.mean(), 1 - right.mean()])
    deviation = np.sqrt(weights @ differences**2 - (weights @ differences) ** 2)
    assert gain.value == pytest.approx(differences[0])
    assert gain.standard_error == pytest.approx(deviation / np.sqrt(labels))
    # Wrong labels show more than that.
    truth[:10] = 1 - truth[:10]
    wrong = LogLoss(np.arange(labels), truth, classes).gain(before, after)
    assert wrong.standard_error == pytest.approx(np.abs(np.diff(differences))[0] / 2 / np.sqrt(labels - 1))


@pytest.mark.parametrize("too_sure", [1.0, 4.0])
def test_own_probabilities_are_calibrated_where_that_is_certainly_better(rng, too_sure):
    classes = Classes(("a", "b", "c"))
    logarithms = 1.5 * rng.standard_normal((120, 3))
    chances = np.exp(logarithms) / np.exp(logarithms).sum(axis=1, keepdims=True)
    truth = (rng.random((120, 1)) > chances.cumsum(axis=1)).sum(axis=1)
    own = too_sure * classes.log_ratios(np.log(chances))
    score, rows = LogLoss(np.arange(120), truth, classes), np.arange(120)
    labels = Labels(score, Folds.of(rows, Held.AT_RANDOM, rng, trials=1), [])
    units = Level.of(own)
    found = HeldOutScores.of(units, own, units.apply(own)[None], labels)
    if too_sure == 1.0:
        assert found.scored.own_became is OwnScores.AS_THEY_CAME
        np.testing.assert_array_equal(found.own, own)
    else:
        assert found.scored.own_became is OwnScores.CALIBRATED
        assert found.scored.own.deviation == temperature_of(own, score) < 0.5


@pytest.mark.parametrize("load", [load_wine, load_iris, load_breast_cancer])
def test_few_labels_that_are_all_right_do_not_make_classifiers_certain(load):
    """Easy data: before there was a prior, the log loss of other rows went from 0.28 to 2.34 on one of these."""
    X, y = load(return_X_y=True)
    X, count = StandardScaler().fit_transform(X), len(y)
    before, after = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        ours, theirs = np.array_split(rng.permutation(X.shape[1]), 2)
        order, part = rng.permutation(count), count // 4
        learned = [
            LogisticRegression().fit(X[np.ix_(rows, columns)], y[rows]).predict_proba(X[:, columns])
            for rows, columns in ((order[:part], ours), (order[part : 2 * part], theirs))
        ]
        pairs, labelled = order[2 * part :][:60], order[-30:]
        names = [str(name) for name in range(y.max() + 1)]
        main = mf.Observations(learned[0], X[:, ours], ids=range(count), classes=names, name="ours")
        reference = mf.Observations(learned[1][pairs], ids=pairs.tolist(), classes=names, name="theirs")
        known = mf.ClassLabels(labelled.tolist(), y[labelled].astype(str))
        result = mf.refine(main, [reference], known, rng=0)
        test = np.setdiff1d(order[part:], labelled)
        losses = [-np.log(each[test, y[test]]).mean() for each in (main.came, result.predictions)]
        before.append(losses[0])
        after.append(losses[1])
    assert max(np.subtract(after, before)) < 0.1
    assert np.mean(after) < np.mean(before)


def test_classes_that_are_the_same_at_few_labels_may_differ_elsewhere(rng):
    """A share of rows that differ is one of the rows with one more that does; then the error is that of their mean."""
    classes, truth = Classes(("a", "b", "c")), rng.integers(3, size=20)
    score, before = LogLoss(np.arange(20), truth, classes), rng.standard_normal((20, 2))
    same = score.gain_in_accuracy(before, 1.1 * before)
    assert same.value == 0
    assert same.standard_error == pytest.approx(np.sqrt(1.0 / 21.0 / 20.0))
    # Where many rows differ, the error is that of the differences.
    many = score.gain_in_accuracy(before, -before)
    differences = score.is_right(-before) - score.is_right(before)
    assert many.standard_error == pytest.approx(differences.std(ddof=1) / np.sqrt(20), rel=0.15)
