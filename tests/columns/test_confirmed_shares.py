"""What labels of rows that references know say of the references, and of what is learned there."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import manifuse as mf
from manifuse.columns.confirmed_shares import factor_by_labels, left_at_pairs, measured_share
from manifuse.columns.view import View
from manifuse.evidence.class_score import LogLoss
from manifuse.evidence.rankings import GradedRanking, PairedRanking
from manifuse.evidence.squared_error import SquaredError
from manifuse.kernels.sphere import standardise
from manifuse.tables.classes import Classes


def known_rows(own, reference, pairs):
    """Rows of which the first ones are known to one reference."""
    columns = {"own": own.reshape(len(own), -1), "references": reference.reshape(len(own), 1, -1)}
    known = (np.arange(len(own)) < pairs).astype(float)
    return View(np.empty((len(own), 0)), {**columns, "known itself": known}, known[:, None])


@pytest.mark.parametrize("evenness", [1.0, 0.3])
def test_a_measured_share_is_that_which_makes_the_truth_most_probable(evenness, rng):
    """Between the slope of the truth and the prior, by the inverses of their variances; uneven labels measure less."""
    was, changed, noise = rng.standard_normal((3, 1, 50, 1))
    was, changed, noise = (each - each.mean() for each in (was, changed, noise))
    truth = 2.0 * (was + 0.4 * changed) + noise
    design = np.column_stack([was.ravel(), changed.ravel()])
    slopes, squares, _, _ = np.linalg.lstsq(design, truth.ravel(), rcond=None)
    covariance = np.linalg.inv(design.T @ design) * squares[0] / (50 - 1 - 2)
    ratio = slopes[1] / slopes[0]
    gradient = np.array([-ratio, 1.0]) / slopes[0]
    precisions = np.array([evenness**2 / (gradient @ covariance @ gradient), 1.0 / 0.3**2])
    expected = precisions @ [ratio, 0.9] / precisions.sum()
    found = measured_share(was, changed, truth, means=1, prior=0.9, evenness=evenness)
    assert found == pytest.approx(expected)


def test_references_count_as_much_as_makes_the_labels_most_probable(rng):
    """Scores of the truth with independent errors count by the inverses of the variances of these."""
    truth, noise = rng.standard_normal(5000), rng.standard_normal((2, 5000))
    for errors in ((0.5, 1.0), (1.0, 0.5), (2.0, 1.0)):
        own, said = (standardise(truth + error * each) for error, each in zip(errors, noise, strict=True))
        deviations = [np.hypot(1.0, error) for error in errors]
        expected = (deviations[1] / errors[1] ** 2) / (deviations[0] / errors[0] ** 2)
        rows, pulls = known_rows(own, said, 5000), np.array([0.5])
        for score in (SquaredError(np.arange(5000), 7.0 + 100.0 * truth), GradedRanking(np.arange(5000), truth)):
            assert 0.5 * factor_by_labels(rows, pulls, score) == pytest.approx(expected, rel=0.15)


def test_a_reference_of_noise_is_left_out_and_a_perfect_one_counts_most(rng):
    truth, noise = rng.standard_normal(300), rng.standard_normal((2, 300))
    own, pulls = standardise(truth + 0.5 * noise[0]), np.array([0.5])
    for score in (GradedRanking(np.arange(300), truth), SquaredError(np.arange(300), 7.0 + 100.0 * truth)):
        assert factor_by_labels(known_rows(own, noise[1], 300), pulls, score) < 0.2
        assert factor_by_labels(known_rows(own, truth, 300), pulls, score) == pytest.approx(20.0 / 0.5)
        # Only labels of rows that it knows count, and two of them say little.
        assert factor_by_labels(known_rows(own, noise[1], 2), pulls, score) > 0.9
        assert factor_by_labels(known_rows(own, noise[1], 0), pulls, score) == 1.0
        assert factor_by_labels(known_rows(own, noise[1], 300), np.zeros(1), score) == 1.0


def test_five_labels_that_differ_from_all_others_say_little_of_a_reference(rng):
    """It is wrong about these, and half of all labels would say so."""
    noise = rng.standard_normal((2, 300))
    for count, least, most in ((5, 0.9, 1.0), (150, 0.0, 0.1)):
        events = (np.arange(300) < count).astype(float)
        rows = known_rows(standardise(noise[0] + 2.0 * events), standardise(noise[1] - 3.0 * events), 300)
        assert least <= factor_by_labels(rows, np.array([0.5]), GradedRanking(np.arange(300), events)) <= most


def test_a_reference_of_noise_is_left_out_for_classes_too(rng):
    """Also if own probabilities are far too certain, or not certain enough: only the share counts."""
    truth = rng.standard_normal((300, 2))
    classes = Classes(("a", "b", "c"))
    places = np.array([rng.choice(3, p=each) for each in classes.probabilities(2.0 * truth)])
    noise, score = rng.standard_normal((2, 300, 2)), LogLoss(np.arange(300), places, classes)
    own, pulls = truth + 0.5 * noise[0], np.array([0.5])
    assert factor_by_labels(known_rows(own, noise[1], 300), pulls, score) < 0.5
    assert factor_by_labels(known_rows(own, truth, 300), pulls, score) > 2.0


def test_labels_that_say_nothing_of_single_rows_leave_references_as_they_are(rng):
    rows = known_rows(*rng.standard_normal((2, 40)), 40)
    for score in (None, PairedRanking.of(np.arange(20), np.arange(20, 40))):
        assert factor_by_labels(rows, np.ones(1), score) == 1.0
    # Labels that are all alike measure nothing.
    for same in (GradedRanking(np.arange(40), np.ones(40)), SquaredError(np.arange(40), np.ones(40))):
        assert factor_by_labels(rows, np.ones(1), same) == 1.0


def test_where_references_know_a_row_labels_there_say_how_much_of_a_lesson_is_left(rng):
    """Of half of the usual share, if what is expected is right at pairs; of all of it, if the lesson is."""
    truth, noise = rng.standard_normal((400, 3)), rng.standard_normal((5, 400, 3))
    pairs = (np.arange(400) < 200).astype(float)
    for expected, learned, least, most in (
        (truth, truth + noise, 0.0, 0.1),
        (truth + noise[0], np.array([truth] * 5), 1.0, 1.0),
        (truth + noise[0], truth + np.roll(noise, 1, axis=1), 0.7, 0.9),
    ):
        rows = View(np.empty((400, 0)), {"known itself": pairs, "calibrated": expected}, np.empty((400, 0)))
        assert least <= left_at_pairs(rows, "calibrated", learned, truth, share=0.6, evenness=1.0) <= most
    # Uneven labels say less against the usual share, and one row says nothing against it.
    most = left_at_pairs(rows, "calibrated", learned, truth, share=0.6, evenness=1.0)
    assert most < left_at_pairs(rows, "calibrated", learned, truth, share=0.6, evenness=0.1) < 1.0
    rows = rows.with_column("known itself", (np.arange(400) < 1).astype(float))
    assert left_at_pairs(rows, "calibrated", learned, truth, share=0.6, evenness=1.0) == 1.0


#: Columns of the tumours that our predictor knows, and those that each reference knows.
OURS, THEIRS = [8, 9, 11, 14, 15, 16, 18, 19], [np.arange(20, 30), np.arange(10), [1, 3, 13, 21, 24, 26]]


def probabilities_by(data, columns, taught, asked):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        data.data[taught][:, columns], data.target[taught]
    )
    return model.predict_proba(data.data[asked][:, columns])[:, 1]


@pytest.mark.filterwarnings("ignore:The scores of .* are in .0, 1.:manifuse.ManifuseWarning")
def test_labels_do_not_make_rows_worse_that_nearly_perfect_references_know():
    data, areas = load_breast_cancer(), []
    for seed in range(1, 5):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(data.target))
        ours, rest = rows[:280], rows[280:]
        scores = probabilities_by(data, OURS, rest[:60], ours)
        main = mf.Observations(scores, data.data[ours][:, OURS], ids=ours, name="main")
        others = []
        for number, columns in enumerate(THEIRS):
            known, taught = rng.permutation(ours[:120])[:90], rest[60 + 70 * number :][:70]
            theirs = probabilities_by(data, columns, taught, known)
            others.append(mf.Observations(theirs, ids=known, name=f"reference {number}"))
        labelled = rng.permutation(ours)[:180]
        labels = mf.RankLabels(labelled, data.target[labelled])
        asked = np.isin(ours, ours[:120]) & ~np.isin(ours, labelled)
        truth = data.target[ours[asked]]
        refined = [mf.refine(main, others, each, rng=0).scores[asked] for each in (None, labels)]
        areas.append([roc_auc_score(truth, each) for each in refined])
    without, taught = np.mean(areas, axis=0)
    assert taught > without - 0.005


def test_rows_that_a_reference_of_noise_knows_hardly_get_worse_with_labels():
    changes = []
    for seed in range(12):
        noise = np.random.default_rng(seed)
        features, truth = noise.standard_normal((200, 4)), noise.standard_normal(200)
        main = mf.Observations(truth + 0.5 * noise.standard_normal(200), features, ids=range(200), name="main")
        other = mf.Observations(noise.standard_normal(60), ids=range(60), name="noise")
        labelled = np.concatenate([np.arange(15), np.arange(60, 105)])
        labels = mf.RankLabels(labelled, truth[labelled])
        result = mf.refine(main, [other], labels, task="regression", rng=0)
        errors = [np.sqrt(np.mean((each - truth)[15:60] ** 2)) for each in (main.scores, result.predictions)]
        changes.append(errors[1] - errors[0])
    assert max(changes) < 0.05
