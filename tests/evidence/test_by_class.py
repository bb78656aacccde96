"""What held-out labels say of each class, against what scikit-learn and SciPy say of the same probabilities."""

import numpy as np
import pytest
from scipy.stats import sem
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, confusion_matrix, recall_score
from tests.test_classes import draw

import manifuse as mf
from manifuse.evidence.by_class import BINNED, MOST_BINS, ByClass, reliability_of_risks
from manifuse.evidence.class_score import RISK, LogLoss, line_of
from manifuse.evidence.gain import Gain
from manifuse.grid import ABSENT
from manifuse.report.class_quality import by_class_grid, draw_confusion, most_confused
from manifuse.tables.classes import Classes

NAMES = ("ash", "beech", "oak", "yew")
ROWS, TRIALS = 100, 3


@pytest.fixture
def case(rng):
    classes, truth = Classes(NAMES), np.repeat([0, 1, 2, 3], [4, 30, 36, 30])
    score = LogLoss(np.arange(ROWS), truth, classes)
    sides = [
        classes.log_ratios(np.log(rng.dirichlet(np.ones(4), (trials, ROWS)))) + sharp * classes.contrasts[truth]
        for trials, sharp in ((1, 0.3), (TRIALS, 0.8))
    ]
    likely = [np.exp(classes.logarithms(each)) for each in sides]
    return ByClass.of(score, sides[0][0], sides[1]), truth, likely


def test_counts_and_shares_are_those_of_scikit_learn(case):
    found, truth, likely = case
    for side, probabilities in enumerate(likely):
        guesses = [each.argmax(axis=1) for each in probabilities]
        expected = np.mean([confusion_matrix(truth, each) for each in guesses], axis=0)
        np.testing.assert_allclose(found.counts[side], expected, rtol=1e-12)
        shares = np.mean([recall_score(truth, each, average=None) for each in guesses], axis=0)
        np.testing.assert_allclose(found.right[side], shares, rtol=1e-12)
    np.testing.assert_array_equal(found.labels, np.bincount(truth))


def test_the_error_of_a_change_is_paired_over_the_rows_of_a_class(case):
    found, truth, (before, after) = case
    changes = (after.argmax(axis=2) == truth).mean(axis=0) - (before[0].argmax(axis=1) == truth)
    expected = [sem(changes[truth == place]) for place in range(4)]
    np.testing.assert_allclose(found.errors, expected, rtol=1e-12)
    grid = by_class_grid(found, Gain(0.1, 0.02, ROWS, "class_accuracy"))
    change = 100 * (found.right[1, 1] - found.right[0, 1])
    assert grid.body[1] == ("beech", "30", *grid.body[1][2:4], f"{change:+.1f} ± {100 * expected[1]:.1f}")
    # Four labels are too few for an error.
    assert grid.body[0][-1] == ABSENT
    assert grid.foot[0][-1] == "+10.0 ± 2.0"


def test_bins_of_probabilities_are_those_of_scikit_learn(case):
    found, truth, likely = case
    for side, probabilities in enumerate(likely):
        said, right = probabilities.max(axis=2).ravel(), (probabilities.argmax(axis=2) == truth).ravel()
        expected = calibration_curve(right, said, n_bins=ROWS // BINNED, strategy="quantile")
        np.testing.assert_allclose(found.reliability[side].T[:2], expected[::-1], rtol=1e-12)
        np.testing.assert_allclose(found.reliability[side][:, 2], BINNED)


def test_bins_of_risks_are_those_of_scikit_learn(rng):
    truth = rng.integers(2, size=200)
    before, after = rng.standard_normal((200, 1)), rng.standard_normal((1, 200, 1))
    found = reliability_of_risks(LogLoss(np.arange(200), truth, RISK), before, after)
    for log_odds, bins in zip((before, after[0]), found, strict=True):
        risk = 1.0 / (1.0 + np.exp(-log_odds[:, 0]))
        share, said = calibration_curve(truth, risk, n_bins=MOST_BINS, strategy="quantile")
        np.testing.assert_allclose(bins[:, :2], np.column_stack([said, share]), atol=1e-12)
        np.testing.assert_array_equal(bins[:, 2], 200 / MOST_BINS)


def test_the_brier_score_is_the_sum_of_those_of_the_classes(case):
    found, truth, likely = case
    for score, probabilities in zip(found.brier, likely, strict=True):
        each = [
            brier_score_loss(truth == place, trial[:, place]) for trial in probabilities for place in range(len(NAMES))
        ]
        assert score == pytest.approx(np.sum(each) / len(probabilities), rel=1e-12)


def test_few_labels_are_one_bin_and_many_are_few_bins(rng):
    for rows, bins in ((5, 1), (39, 1), (40, 2), (5000, MOST_BINS)):
        score = LogLoss(np.arange(rows), rng.integers(4, size=rows), Classes(NAMES))
        found = ByClass.of(score, rng.standard_normal((rows, 3)), rng.standard_normal((2, rows, 3)))
        assert found.reliability.shape == (2, bins, 3)
        assert found.reliability[:, :, 2].sum() == pytest.approx(2 * rows)


def test_a_figure_has_the_classes_that_are_confused_most():
    classes = Classes(tuple(f"c{place:02}" for place in range(30)))
    counts = np.tile(np.diag(np.full(30, 9.0)), (2, 1, 1))
    confused = np.arange(3, 27, 2)
    counts[0, confused[:6], confused[6:]] = 2.0
    found = ByClass(classes, counts, np.zeros(30), np.zeros((2, 1, 3)), (0.0, 0.0))
    np.testing.assert_array_equal(most_confused(found), confused)


@pytest.mark.parametrize(
    "names, below", [(("a", "b"), ["a", "b"]), (("a", "a very long name"), ["1", "2"])], ids=["short", "long"]
)
def test_long_names_stand_beside_a_figure_and_their_numbers_below_it(names, below):
    found = ByClass(Classes(names), np.ones((2, 2, 2)), np.zeros(2), np.zeros((2, 1, 3)), (0.0, 0.0))
    axes = draw_confusion(found, 0).axes[0]
    assert [each.get_text() for each in axes.get_xticklabels()] == below
    beside = [each.get_text() for each in axes.get_yticklabels()]
    expected = [f"{number}: {name}" for name, number in zip(names, below, strict=True)]
    assert beside == (list(names) if below == list(names) else expected)


def test_what_is_measured_of_a_run_agrees_with_its_accuracy_and_is_kept_in_a_file(tmp_path):
    main, others, known, _, _ = draw(1, labels=60)
    result = mf.refine(main, others, known, rng=0)
    found = result.evidence.by_class
    right = np.trace(found.counts, axis1=1, axis2=2) / 60
    np.testing.assert_allclose(right, [result.accuracy.before, result.accuracy.after], rtol=1e-12)
    mf.save(result, tmp_path / "m.npz")
    again = mf.load(tmp_path / "m.npz").evidence.by_class
    np.testing.assert_array_equal(again.counts, found.counts)
    np.testing.assert_array_equal(again.reliability, found.reliability)
    np.testing.assert_array_equal(again.errors, found.errors)
    assert again.brier == found.brier
    # Nothing in it has a line for each label, so that the file does not have the labels.
    assert not any(60 in np.shape(value) for value in vars(again).values())
    assert mf.refine(main, others, rng=0).evidence.by_class is None


def test_labels_of_rows_that_were_taught_do_not_flatter_what_is_measured():
    measured, taught = [], []
    for seed in range(4):
        main, others, known, _, _ = draw(seed, labels=60)
        result = mf.refine(main, others, known, rng=0)
        counts = result.evidence.by_class.counts[1]
        measured.append(np.trace(counts) / 60)
        rows = [main.keys.tolist().index(key) for key in known.keys]
        taught.append(np.mean(result.predicted[rows] == known.names))
    # A row knows its own label, once that has taught.
    assert np.mean(taught) > np.mean(measured)


def test_of_equal_probabilities_the_first_class_counts(rng):
    """As in what is predicted; log-ratios and back again leave them equal but for rounding."""
    ends = np.sort(rng.permuted(np.tile(np.arange(4), (200, 1)), axis=1)[:, :2])
    classes, tied = Classes(NAMES), np.zeros((200, 4))
    np.put_along_axis(tied, ends, 0.5, axis=1)
    score = LogLoss(np.arange(200), ends[:, 0], classes)
    assert score.is_right(classes.log_ratios(np.log(np.maximum(tied, 1e-4)))).all()


def test_labels_fit_better_than_in_other_orders_if_they_have_to_do_with_a_classifier(rng):
    """By the permutations themselves; a factor that makes probabilities too sure changes nothing."""
    classes, truth = Classes(NAMES), rng.integers(4, size=60)
    score = LogLoss(np.arange(60), truth, classes)
    ratios = classes.log_ratios(np.log(rng.dirichlet(np.ones(4), 60))) + 0.5 * classes.contrasts[truth]
    said = classes.logarithms(ratios)[:, truth]
    orders = rng.permuted(np.tile(np.arange(60), (4000, 1)), axis=1)
    fits = said[np.arange(60), orders].sum(axis=1)
    found = score.beyond_chance(ratios)
    assert found == pytest.approx((np.trace(said) - fits.mean()) / fits.std(), abs=0.1)
    assert found > 2.0 > score.beyond_chance(ratios[rng.permutation(60)])
    assert score.beyond_chance(np.zeros((60, 3))) == 0.0


@pytest.mark.parametrize("count, least, most", [(12, 1.0, 1.5), (1200, 2.0, 20.0)])
def test_few_labels_that_are_all_right_steepen_no_line(count, least, most):
    truth = np.arange(count) % 2
    risks = LogLoss(np.arange(count), truth, Classes(("0", "1")))
    offset, slope = line_of(np.where(truth, 2.0, -2.0)[None, :, None], risks)
    assert offset == pytest.approx(0.0, abs=1e-3)
    assert least < slope < most
