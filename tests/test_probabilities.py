"""Probabilities are refined as log-odds, and come back as probabilities."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import rankdata

import manifuse as mf
from manifuse.cli import app
from manifuse.columns.refined_scores import RefinedScores
from manifuse.evidence.class_score import calibrate, calibrated_without, line_of, risks_of
from manifuse.evidence.holding_out import Folds, Held
from manifuse.evidence.rankings import GradedRanking
from manifuse.evidence.reason import Reason
from manifuse.report.refinement_page import page_of
from manifuse.report.refinement_statistics import Shift
from manifuse.run import conclusion
from tests.problems import draw, remade, write_table


@pytest.fixture(scope="module")
def case():
    return draw(0)


@pytest.fixture(scope="module")
def certain(case):
    """Probabilities, some of them 0 and 1."""
    return np.round(expit(4.0 * case.main.scores), 2)


def as_probabilities(case, values, **others):
    return remade(case.main, predictions=values, scale="probability", **others)


@pytest.mark.parametrize("labelled", [True, False])
def test_they_stay_in_their_range(case, certain, labelled, tmp_path):
    assert {0.0, 1.0} < set(certain)
    method = mf.JointDiffusion(same_target=True)
    labels = case.labels() if labelled else None
    result = mf.refine(as_probabilities(case, certain), case.references, labels, method, rng=0)
    assert result.accepted
    assert 0 <= result.predictions.min() < result.predictions.max() <= 1
    np.testing.assert_allclose(np.mean(result.predictions), certain.mean(), atol=0.15)
    mf.save(result, tmp_path / "model.npz")
    later = as_probabilities(case, certain, ids=[f"later {row}" for row in range(len(certain))])
    for each in (result, mf.load(tmp_path / "model.npz")):
        np.testing.assert_array_equal(each.apply(as_probabilities(case, certain)), result.predictions)
        applied = each.apply(later)
        assert 0 <= applied.min() < applied.max() <= 1


def test_their_order_is_that_of_the_refined_log_odds(case, certain):
    main = as_probabilities(case, certain)
    odds = remade(case.main, predictions=main.scores)
    result, plain = (mf.refine(each, case.references, case.labels(), rng=0) for each in (main, odds))
    np.testing.assert_array_equal(result.scores, plain.predictions)
    inside = (result.predictions > 0) & (result.predictions < 1)
    assert inside.mean() > 0.9
    np.testing.assert_array_equal(rankdata(result.predictions[inside]), rankdata(plain.predictions[inside]))


def risks(case):
    """A problem whose truth is 0 or 1, and whose probabilities are too sure and too low."""
    labels = mf.RankLabels(case.labels().keys, (case.labels().grades > 0).astype(float))
    return as_probabilities(case, expit(4.0 * case.main.scores - 2.0)), labels


def test_labels_of_0_and_1_calibrate_them_without_changing_their_order(case, tmp_path):
    main, labels = risks(case)
    result = mf.refine(main, case.references, labels, rng=0)
    odds = remade(case.main, predictions=main.scores)
    plain = mf.refine(odds, case.references, labels, rng=0)
    slope, offset = np.polyfit(plain.scores, result.scores, 1)
    assert slope > 0
    np.testing.assert_allclose(result.scores, offset + slope * plain.scores, rtol=1e-9)
    np.testing.assert_allclose(result.refined.uncertainty, slope * plain.refined.uncertainty, rtol=1e-3)
    assert result.gain.value == pytest.approx(plain.gain.value)
    assert plain.log_loss is None
    # What is said is what the truth of all rows, most of which have no label, confirms.
    truth = (case.truth > 0).astype(float)
    said = (main.came, expit(plain.scores), result.predictions)
    losses = [-np.mean(np.log(np.where(truth, each, 1.0 - each))) for each in said]
    assert losses[2] < 0.8 * min(losses[:2])
    assert abs(np.mean(result.predictions) - truth.mean()) < 0.1
    assert "they calibrate the probabilities: at labelled rows the log loss goes from" in " ".join(
        result.summary().split()
    )
    assert result.to_dict()["log_loss"]["after"] == result.log_loss.after < result.log_loss.before
    assert result.evidence.measured.reliability[..., 2].sum(axis=1) == pytest.approx([len(labels)] * 2)
    assert mf.plot(result, "reliability").axes[0].get_xlabel() == "risk"
    assert "How risks come true" in page_of(result)
    assert "How risks come true" not in page_of(plain)
    # Later rows follow, also of a saved file.
    mf.save(result, tmp_path / "model.npz")
    ids = [f"later {row}" for row in range(160)]
    raw = plain.apply_in_full(remade(odds, ids=ids))
    for each in (result, mf.load(tmp_path / "model.npz")):
        later = each.refine_later(remade(main, predictions=main.came, ids=ids, scale="probability"))
        np.testing.assert_allclose(later.scores, offset + slope * raw.scores, rtol=1e-6)


def test_the_log_loss_after_is_of_labels_that_are_held_out(case, monkeypatch):
    main, labels = risks(case)
    monkeypatch.setattr(conclusion, "calibrate", lambda odds, *given: ((0.0, 1.0), np.zeros_like(odds)))
    assert mf.refine(main, case.references, labels, rng=0).log_loss.after == pytest.approx(np.log(2.0))


def test_what_keeps_labels_from_calibrating_probabilities_is_said(case, certain):
    def said(main, labels, **more):
        found = mf.refine(main, [], labels, rng=0, **more)
        return found.evidence.measured.uncalibrated, " ".join(found.summary().split())

    keys, truth = case.labels().keys, case.labels().grades > np.median(case.labels().grades)
    odds, plain = as_probabilities(case, certain), remade(case.main, predictions=rankdata(certain) / len(certain))
    assert said(odds, mf.RankLabels(keys, truth))[0] is None
    why, sentence = said(odds, mf.RankLabels(keys, truth + 1))
    assert why == "labels"
    assert "Only labels of 0 and 1 calibrate probabilities, and these are others." in sentence
    assert said(remade(case.main, predictions=certain + 0.1), mf.RankLabels(keys, truth))[0] is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.ManifuseWarning)
        why, sentence = said(plain, mf.RankLabels(keys, truth))
        assert said(plain, mf.RankLabels(keys, truth + 1))[0] is None
        assert said(plain, mf.RankLabels(keys, truth), task="regression")[0] is None
    assert why == "scale"
    assert 'in [0, 1]. If they are probabilities, refine with scale="probability"; the labels of 0 and 1' in sentence


def test_intervals_of_probabilities_stay_between_0_and_1(case, certain):
    result = mf.refine(as_probabilities(case, certain), case.references, case.labels(), rng=0)
    (drawn,) = mf.plot(result, "uncertainty").axes[0].collections
    ends = np.array([segment[:, 1] for segment in drawn.get_segments()])
    assert (ends >= 0).all()
    assert (ends <= 1).all()
    assert (np.diff(ends, axis=1) > 0).all()


def test_sums_of_probabilities_that_are_rounded_to_above_1_are_taken(case, certain):
    sums = as_probabilities(case, certain).came.copy()
    exact, sums[:2] = sums.copy(), (1.0 + 3e-7, -3e-7)
    exact[:2] = 1.0, 0.0
    rounded, clipped = (remade(case.main, predictions=each, scale="probability").scores for each in (sums, exact))
    np.testing.assert_array_equal(rounded, clipped)
    of_classes = mf.Observations([[1.0 + 2e-16, 0.0], [0.2, 0.8]], ids=["a", "b"], classes=["x", "y"], name="two")
    assert np.isfinite(of_classes.scores).all()
    with pytest.raises(mf.InputError, match=r"outside of \[0, 1\] in row 0"):
        remade(case.main, predictions=sums + np.eye(1, len(sums))[0] * 1e-5, scale="probability")


def test_where_labels_refuse_the_others_are_calibrated(case):
    main, labels = risks(case)
    # Of shuffled labels, these are the first that only pairs can follow.
    wrong = mf.RankLabels(labels.keys, np.random.default_rng(14).permutation(labels.grades))
    result = mf.refine(main, case.references, wrong, rng=0)
    assert result.reason is Reason.PAIRS
    assert "the others are only calibrated" in " ".join(result.summary().split())
    alone = ~np.isin(main.keys, np.concatenate([each.keys for each in case.references]))
    slope, offset = np.polyfit(main.scores[alone], result.scores[alone], 1)
    np.testing.assert_allclose(result.scores[alone], offset + slope * main.scores[alone], rtol=1e-9)
    assert 0 < slope < 0.5
    # Where labels and prior are most probable, the derivative by the offset is 0.
    own = main.scores[case.labelled]
    assert np.sum(wrong.grades - expit(offset + slope * own)) == pytest.approx(offset, abs=0.01)


def test_the_log_loss_after_is_that_of_labels_that_did_not_calibrate(rng):
    """Scores that say nothing: a line over all labels would find something in them."""
    losses = []
    for _ in range(20):
        odds, truth = 2.0 * rng.standard_normal((1, 20, 1)), np.tile([0.0, 1.0], 10)
        score = risks_of(GradedRanking(np.arange(20), truth), "probability")
        judged = calibrated_without(odds, score, np.arange(20).reshape(10, 2), line_of)
        offset, slope = line_of(odds, score)
        seen = offset + slope * odds
        fresh = offset + slope * 2.0 * rng.standard_normal((1, 2000, 1))
        others = risks_of(GradedRanking(np.arange(2000), np.tile([0.0, 1.0], 1000)), "probability")
        losses.append([score.measured(judged), score.measured(seen), others.measured(fresh)])
    honest, optimistic, elsewhere = np.mean(losses, axis=0)
    assert optimistic < elsewhere - 0.01
    assert abs(honest - elsewhere) < 0.05
    one_kind = calibrated_without(odds[:, :2], score.of_observations(np.arange(2)), [np.array([0])], line_of)
    np.testing.assert_array_equal(one_kind[:, 0], odds[:, 0])


@pytest.mark.parametrize("times, least, most", [(1.0, 0.0, 0.75), (3.0, 0.9, 1.1)])
def test_a_line_is_taken_as_far_as_labels_say_that_it_gains(times, least, most, rng):
    """What it changes at fresh rows, as a share of what all of it changes: of true log-odds, and of too large ones."""
    changes, blocks = [], np.arange(40)
    for _ in range(12):
        odds = 1.5 * rng.standard_normal((1, 1040, 1))
        truth = (rng.random(1040) < expit(odds[0, :, 0])).astype(float)
        score = risks_of(GradedRanking(blocks, truth[:40]), "probability")
        fresh = risks_of(GradedRanking(np.arange(1000), truth[40:]), "probability")
        known, other = times * odds[:, :40], times * odds[:, 40:]
        folds = Folds.of(blocks, Held.AT_RANDOM, rng, trials=1)
        part, judged = calibrate(known, score, folds)
        lines = [part, line_of(known, score)]
        changes.append([fresh.measured(offset + slope * other) - fresh.measured(other) for offset, slope in lines])
        # Held-out labels are judged by as much of the lines of the others.
        share = part[0] / lines[1][0]
        without = calibrated_without(known, score, folds.rows(0), line_of)
        np.testing.assert_allclose(judged, known + share * (without - known))
    part, whole = np.mean(changes, axis=0)
    assert least < part / whole < most


def test_the_line_that_calibrates_is_the_most_probable_one(rng):
    odds = 3.0 * rng.standard_normal((2, 5000))
    drawn = (rng.uniform(size=5000) < expit(0.7 + 0.4 * odds[0])).astype(float)
    score = risks_of(GradedRanking(np.arange(5000), drawn), "probability")
    assert line_of(odds[:1, :, None], score) == pytest.approx((0.7, 0.4), abs=0.05)
    # The prior: of one label of each kind, the derivative of both together is 0.
    few = risks_of(GradedRanking(np.arange(2), np.array([0.0, 1.0])), "probability")
    offset, slope = line_of(np.array([[[-1.0], [1.0]]]), few)
    assert offset == pytest.approx(0.0, abs=1e-4)
    prior = 10.0 * np.log(slope) / (1.0 + np.log(slope) ** 2 * 10.0 / 6.0)
    assert prior == pytest.approx(2.0 * slope * expit(-slope), abs=1e-3)
    # Risks that hardly differ are stretched, where enough labels say so.
    assert line_of(0.01 * odds[:1, :200, None], score.only(np.arange(200)))[1] == pytest.approx(40.0, rel=0.4)
    assert line_of(0.01 * odds[:1, :12, None], score.only(np.arange(12)))[1] < 2.0
    # They may all be small.
    offset, slope = line_of(0.01 * odds[:1, :200, None] - 1.4, score.only(np.arange(200)))
    assert slope == pytest.approx(40.0, rel=0.4)
    assert offset - 1.4 * slope == pytest.approx(0.7, abs=0.5)
    for scale, grades in (("score", drawn), ("probability", 2.0 * drawn)):
        assert risks_of(GradedRanking(np.arange(5000), grades), scale) is None


def test_what_is_unchanged_comes_back_as_it_was(case, certain):
    series = pd.Series(certain, name="risk")
    noise = np.random.default_rng(0)
    idle = [remade(each, predictions=noise.standard_normal(len(each))) for each in case.references]
    result = mf.refine(as_probabilities(case, series), idle, method=mf.JointDiffusion(same_target=False), rng=0)
    assert not result.accepted
    pd.testing.assert_series_equal(result.predictions, series, check_exact=True)


def test_the_main_table_is_known_as_its_own_reference(case, certain):
    coupled = remade(case.main, predictions=certain, features=None, name="copy")
    with pytest.raises(mf.InputError, match="copy is the main table itself"):
        mf.refine(as_probabilities(case, certain), [coupled])


@pytest.mark.filterwarnings("ignore:Features are taken in the order")
def test_the_report_shows_probabilities(case, certain):
    result = mf.refine(as_probabilities(case, certain), case.references, case.labels(), rng=0)
    shift = Shift.of(result)
    np.testing.assert_array_equal(shift.before, certain)
    np.testing.assert_array_equal(shift.after, result.predictions)
    # The same interval, one standard error up in log-odds, where the slope hardly changes.
    step = 1e-4
    up = result.main.in_scale(result.scores + step * result.refined.uncertainty)
    inside = (shift.after > 0.05) & (shift.after < 0.95)
    np.testing.assert_allclose(((up - shift.after) / step)[inside], shift.uncertainty[inside], rtol=1e-2)
    # All that shows errors shows the same.
    features = {f"x{number}": column for number, column in enumerate(case.main.table.T)}
    later = result.apply(pd.DataFrame({"id": case.main.keys, "score": certain} | features))
    for shown in (result.uncertainty, result.to_frame()["uncertainty"], later["uncertainty"]):
        np.testing.assert_array_equal(shown, shift.uncertainty)


def test_no_probability_has_a_standard_error_above_one_half(case, certain):
    table = as_probabilities(case, certain).take(np.arange(2))
    shown = RefinedScores(np.zeros(2), np.ones(2), np.array([1.0, 10.0])).in_scale_of(table)
    np.testing.assert_array_equal(shown.uncertainty, [0.25, 0.5])


@pytest.mark.filterwarnings("ignore:.* has values that are not finite")
def test_what_is_no_probability_is_refused(case, certain):
    with pytest.raises(mf.InputError, match=r"scores outside of \[0, 1\] in row 3; correct them"):
        as_probabilities(case, np.where(np.arange(160) == 3, 1.2, certain))
    with pytest.raises(mf.InputError, match="if they are percentages, divide by 100"):
        as_probabilities(case, 100 * certain)
    values = np.where(np.arange(160) == 3, 1.2, np.where(np.arange(160) == 1, np.nan, certain))
    with pytest.raises(mf.InputError, match=r"scores outside of \[0, 1\] in row 3"):
        as_probabilities(case, values, invalid="drop")
    with pytest.raises(mf.InputError, match="scale='odds' came"):
        remade(case.main, scale="odds")
    regression = mf.JointDiffusion(task="regression")
    with pytest.raises(mf.InputError, match=r"Probabilities came with a scale for a regression.*out\."):
        mf.refine(as_probabilities(case, certain), case.references, case.labels(), regression)
    result = mf.refine(as_probabilities(case, certain), case.references, case.labels(), rng=0)
    with pytest.raises(mf.InputError, match="main has scale='score', but main was fitted with scale='probability'"):
        result.apply(case.main)


@pytest.fixture
def folder(case, certain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, table, scores in (("main", case.main, certain), ("theirs", case.references[0], None)):
        features = {f"x{k}": column for k, column in enumerate(table.table.T)}
        columns = {"id": table.keys, "score": table.scores if scores is None else scores, **features}
        write_table(tmp_path / f"{name}.csv", columns)
    pl.DataFrame({"id": case.labels().keys, "label": case.labels().grades}).write_csv("known.csv")


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["manifuse", *arguments])
    with pytest.raises(SystemExit) as left:
        app.main()
    return left.value.code


REFINE = ("refine", "main.csv", "--reference", "theirs.csv", "--labels", "known.csv", "--out", "out.csv")


def test_scores_that_leave_the_range_of_probabilities_are_warned_of(case, certain):
    plain = remade(case.main, predictions=certain)
    with pytest.warns(mf.ManifuseWarning, match=r"in \[0, 1\], and the refined ones are not; .*scale=.probability"):
        mf.refine(plain, case.references, case.labels(), rng=0)
    mf.refine(plain, case.references, case.labels(), rng=0, task="regression")
    percentages = remade(case.main, predictions=100 * certain)
    with pytest.warns(mf.ManifuseWarning, match=r"in \[0, 100\], .* percentages, divide them by 100 and refine with"):
        mf.refine(percentages, case.references, case.labels(), rng=0)


def test_scores_that_count_by_their_order_are_warned_of_in_their_own_units():
    noise = np.random.default_rng(0)
    truth = noise.standard_normal(400)
    risks = np.exp(2.2 * (truth + 0.6 * noise.standard_normal(400)))
    features = np.column_stack([truth + noise.standard_normal(400), noise.standard_normal(400)])
    main = mf.Observations(risks / risks.max(), features, ids=range(400))
    others = [mf.Observations(truth + 0.3 * noise.standard_normal(400), ids=range(400), name=name) for name in "abc"]
    with pytest.warns(mf.ManifuseWarning, match="the refined ones are not"):
        result = mf.refine(main, others, rng=0)
    assert result.main.straightening is not None
    assert result.predictions.max() > 1.5


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_the_command_line_takes_them_and_asks_about_others(folder, monkeypatch, capsys, certain):
    Path("odds.toml").write_text('scale = "probability"\n')
    assert run(monkeypatch, *REFINE, "--config", "odds.toml", "--save", "model.npz") in (0, None)
    assert "probabilities" not in capsys.readouterr().err
    table = pl.read_csv("out.csv")
    assert table["score"].is_between(0, 1).all()
    np.testing.assert_allclose(table["original"], certain, atol=1e-12)
    assert 'scale = "probability"' in Path("out.run.toml").read_text()
    new = pl.read_csv("main.csv").with_columns(pl.format("later {}", "id").alias("id"))
    new.write_csv("new.csv")
    assert run(monkeypatch, "apply", "model.npz", "new.csv", "--out", "later.csv") in (0, None)
    later = pl.read_csv("later.csv")
    assert later["score"].is_between(0, 1).all()
    np.testing.assert_allclose(later["original"], certain, atol=1e-12)
    features, ids = new.drop("id", "score").to_numpy(), new["id"].to_numpy()
    expected = mf.load("model.npz").apply(mf.Observations(certain, features, ids=ids, scale="probability"))
    np.testing.assert_allclose(later["score"], expected, rtol=1e-9)
    capsys.readouterr()
    assert run(monkeypatch, *REFINE) in (0, None)
    assert "if yours are probabilities, refine with --scale probability" in " ".join(capsys.readouterr().err.split())
    Path("odds.toml").write_text('scale = "odds"\n')
    assert run(monkeypatch, *REFINE, "--config", "odds.toml") == 2
