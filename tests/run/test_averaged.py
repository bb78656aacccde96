"""What imputing and averaging gains where a refinement is judged, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.problems import draw

import manifuse as mf
from manifuse.report.pictures import shift_of
from manifuse.report.refinement_tables import outcome_grid
from manifuse.words.findings import findings_of


def finding_in(evidence, result):
    return next((each for each in findings_of(evidence, result.refined) if each.code == "averaging"), None)


@pytest.mark.parametrize("seed", range(3))
def test_what_averaging_gains_and_what_refining_gains_over_it_add_up(seed, tmp_path):
    case = draw(seed)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    gain, ahead = result.evidence.measured.averaged
    assert gain.value + ahead.value == pytest.approx(result.gain.value)
    assert gain.rows == ahead.rows == result.gain.rows
    assert finding_in(result.evidence, result).sentence in " ".join(result.summary().split())
    assert result.to_dict()["averaged"][0]["value"] == gain.value
    mf.save(result, tmp_path / "model.npz")
    assert mf.load(tmp_path / "model.npz").evidence.measured.averaged == (gain, ahead)


def test_it_gains_what_users_would_measure():
    """Another library counts it, of averages that we do not compute."""
    measured, expected, errors = [], [], []
    for seed in range(6):
        clinics = mf.datasets.load_clinics(labels=100, seed=seed)
        result = mf.refine(clinics.main, clinics.references, clinics.labels, rng=0)
        gain, _ = result.evidence.measured.averaged
        measured.append(gain.value)
        errors.append(gain.standard_error)
        plain = mf.rivals.impute_and_average(clinics.main, clinics.references)
        labelled = np.isin(clinics.main.keys, clinics.labels.keys)
        truth = clinics.truth[labelled]
        after, before = (roc_auc_score(truth, each[labelled]) for each in (plain, clinics.main.scores))
        expected.append(after - before)
    assert abs(np.mean(measured) - np.mean(expected)) < 2 * np.mean(errors) / np.sqrt(6)


def test_a_regression_and_classes_have_it_in_their_own_measure():
    case = draw(1)
    values = mf.refine(case.main, case.references, case.labels(), task="regression", rng=0)
    assert {each.measure for each in values.evidence.measured.averaged} == {"rmse"}
    halves = mf.datasets.load_digit_halves(labels=60, seed=0)
    classes = mf.refine(halves.main, halves.references, halves.labels, rng=0)
    gain, ahead = classes.evidence.measured.averaged
    assert gain.measure == ahead.measure == "log_loss"
    assert gain.value + ahead.value == pytest.approx(classes.gain.value)
    assert gain.is_certain


def test_only_what_the_input_allows_is_compared():
    case = draw(0)
    alone = mf.refine(case.main, [], case.labels(), rng=0)
    assert alone.evidence.measured.averaged is None
    without = mf.Observations(case.main.scores, ids=case.main.keys, name="main")
    known = [mf.Observations(case.truth + 0.1 * np.cos(np.arange(160)), ids=case.main.keys, name="reference")]
    assert mf.refine(without, known, case.labels(), rng=0).evidence.measured.averaged is not None
    unlabelled = mf.refine(case.main, case.references, rng=0)
    few = mf.refine(case.main, case.references, mf.RankLabels(case.main.keys[:6], case.truth[:6]), rng=0)
    assert [finding_in(each.evidence, each) for each in (alone, unlabelled, few)] == [None] * 3


def test_averaging_with_noise_is_behind_and_what_is_ahead_or_level_is_said_to_be():
    case = draw(5, noise=0.05)
    noise = np.random.default_rng(0).standard_normal(len(case.main))
    result = mf.refine(case.main, [mf.Observations(noise, ids=case.main.keys, name="noise")], case.labels(), rng=0)
    gain, ahead = result.evidence.measured.averaged
    assert gain.value < 0
    assert ahead.is_clear

    def said(changed):
        measured = replace(result.evidence.measured, averaged=(gain, changed))
        return finding_in(replace(result.evidence, measured=measured), result)

    assert said(ahead).speaks_for
    behind = said(replace(ahead, value=-ahead.value))
    assert not behind.speaks_for
    assert "labelled rows, imputing the references and averaging all scores loses " in behind.sentence
    assert "points. The refined scores lose " in behind.sentence
    assert "against that, so they are behind it; measure both with `compare`." in behind.sentence
    level = said(replace(ahead, value=-0.015, standard_error=0.01))
    assert level.sentence.endswith("The refined scores lose 1.5 ± 1.0 points against that, which could be chance.")
    assert not said(replace(ahead, value=0.015, standard_error=0.01)).speaks_for, "one error is as likely to be chance"


def test_a_refinement_that_was_not_taken_is_not_called_the_scores():
    case = draw(5, noise=0.05)
    labels = mf.RankLabels(case.main.keys[case.labelled], -case.truth[case.labelled])
    result = mf.refine(case.main, case.references, labels, rng=0)
    assert not result.accepted
    said = finding_in(result.evidence, result)
    assert "What was not taken gains " in said.sentence
    assert said.sentence.endswith("beyond that, so it is ahead of it.")
    assert not said.speaks_for
    codes = [finding.code for finding in findings_of(result.evidence, result.refined)]
    assert "answer" not in codes
    facts = dict(outcome_grid(result, shift_of(result)).body)
    assert "gain of the refinement that was not taken" in facts
    assert not [name for name in facts if name.startswith(("share of", "how far"))]
    taken = mf.refine(case.main, case.references, case.labels(), rng=0)
    for each in (result, taken):
        drawn = mf.plot(each, "relevance").legends[0].get_texts()
        assert ("refined scores (optimistic)" in [text.get_text() for text in drawn]) is each.accepted
