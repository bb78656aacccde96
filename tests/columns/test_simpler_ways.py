"""Simpler ways: what smoothing and averaging reach where a refinement is judged, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.problems import draw

import manifuse as mf
from manifuse.words.findings import findings_of


def finding_in(evidence, result):
    return next((each for each in findings_of(evidence, result.refined) if each.code == "simpler way"), None)


def finding_of(result):
    return finding_in(result.evidence, result)


@pytest.mark.parametrize("seed", range(3))
def test_what_a_way_gains_and_what_refining_gains_over_it_add_up(seed, tmp_path):
    case = draw(seed)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    ways = result.evidence.measured.simpler
    assert [way.name for way in ways] == ["smoothed", "averaged"]
    for way in ways:
        assert way.gain.value + way.ahead.value == pytest.approx(result.gain.value)
        assert way.ahead.rows == result.gain.rows
    assert result.evidence.measured.nearest == max(ways, key=lambda way: way.gain.value)
    assert finding_of(result).sentence in " ".join(result.summary().split())
    assert [way["name"] for way in result.to_dict()["simpler_ways"]] == ["smoothed", "averaged"]
    mf.save(result, tmp_path / "model.npz")
    assert mf.load(tmp_path / "model.npz").evidence.measured.simpler == ways


def test_a_way_gains_what_users_would_measure():
    """Without folds there is one comparison; another library counts it, of averages that we do not compute."""
    measured, expected, errors = [], [], []
    for seed in range(6):
        clinics = mf.datasets.load_clinics(labels=100, seed=seed)
        result = mf.refine(clinics.main, clinics.references, clinics.labels, rng=0)
        averaged = next(way for way in result.evidence.measured.simpler if way.name == "averaged")
        measured.append(averaged.gain.value)
        errors.append(averaged.gain.standard_error)
        plain = mf.rivals.impute_and_average(clinics.main, clinics.references)
        labelled = np.isin(clinics.main.keys, clinics.labels.keys)
        truth = clinics.truth[labelled]
        after, before = (roc_auc_score(truth, each[labelled]) for each in (plain, clinics.main.scores))
        expected.append(after - before)
    assert abs(np.mean(measured) - np.mean(expected)) < 2 * np.mean(errors) / np.sqrt(6)


def test_a_regression_and_classes_have_them_in_their_own_measure():
    case = draw(1)
    values = mf.refine(case.main, case.references, case.labels(), task="regression", rng=0)
    assert {way.gain.measure for way in values.evidence.measured.simpler} == {"rmse"}
    halves = mf.datasets.load_digit_halves(labels=60, seed=0)
    classes = mf.refine(halves.main, halves.references, halves.labels, rng=0)
    assert {way.gain.measure for way in classes.evidence.measured.simpler} == {"log_loss"}
    assert classes.evidence.measured.nearest.gain.is_certain


def test_only_what_the_input_allows_is_compared():
    case = draw(0)
    alone = mf.refine(case.main, [], case.labels(), rng=0)
    assert [way.name for way in alone.evidence.measured.simpler] == ["smoothed"]
    without = mf.Observations(case.main.scores, ids=case.main.keys, name="main")
    known = [mf.Observations(case.truth + 0.1, ids=case.main.keys, name="reference")]
    coupled = mf.refine(without, known, case.labels(), rng=0)
    assert [way.name for way in coupled.evidence.measured.simpler] == ["averaged"]
    unlabelled = mf.refine(case.main, case.references, rng=0)
    assert unlabelled.evidence.measured is None
    assert finding_of(unlabelled) is None
    few = mf.RankLabels(case.main.keys[:6], case.truth[:6])
    assert finding_of(mf.refine(case.main, case.references, few, rng=0)) is None


def test_averaging_with_noise_is_said_to_be_behind_and_a_way_that_is_ahead_is_said_to_be():
    case = draw(5, noise=0.05)
    noise = np.random.default_rng(0).standard_normal(len(case.main))
    result = mf.refine(case.main, [mf.Observations(noise, ids=case.main.keys, name="noise")], case.labels(), rng=0)
    measured = result.evidence.measured
    averaged = next(way for way in measured.simpler if way.name == "averaged")
    assert averaged.gain.value < 0
    assert averaged.ahead.is_clear
    ahead = replace(averaged, ahead=replace(averaged.ahead, value=-averaged.ahead.value))
    turned = replace(result.evidence, measured=replace(measured, simpler=(ahead,)))
    finding = finding_in(turned, result)
    assert not finding.speaks_for
    assert "averaging all scores is the best" in finding.sentence
    assert "; the refined scores are behind it (-" in finding.sentence
    equal = replace(averaged, ahead=replace(averaged.ahead, value=-0.001, standard_error=0.01))
    turned_again = replace(result.evidence, measured=replace(measured, simpler=(equal,)))
    assert "cannot be told apart from it (-0.1 ± 1.0 points)." in finding_in(turned_again, result).sentence
    assert finding.sentence.endswith(" points), so measure both with `compare`.")
