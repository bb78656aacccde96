"""Data sets to try things on, and rivals with the interface of refine."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import manifuse as mf
from manifuse.diffusion.problem import Problem
from manifuse.evidence.score import score_of
from manifuse.study.baselines.imputation import impute
from manifuse.study.baselines.own_labels import own_labels
from manifuse.study.baselines.smoothing import self_smoothing
from manifuse.study.baselines.spreading import spread_labels
from manifuse.study.baselines.stacking import mean_of_scores, stack_by_ranksvm
from tests.problems import draw

LOADERS = [mf.datasets.load_clinics, mf.datasets.load_digits]


@pytest.mark.parametrize("load", LOADERS)
def test_nothing_that_judges_is_known_to_anyone(load):
    example = load(labels=60, seed=3)
    tested = set(example.main.keys[example.test])
    assert not tested & set(example.labels.keys)
    for reference in example.references:
        assert not tested & set(reference.keys)
        assert len(set(example.main.keys) & set(reference.keys)) in (100, 200)
    assert len(example.labels.keys) == 60
    labelled = np.isin(example.main.keys, example.labels.keys)
    np.testing.assert_array_equal(example.labels.grades, example.truth[labelled])


@pytest.mark.parametrize("load", LOADERS)
def test_a_seed_is_a_split(load):
    first, again, other = load(labels=0), load(labels=0), load(labels=0, seed=1)
    assert first.labels is None
    np.testing.assert_array_equal(first.main.scores, again.main.scores)
    assert first.main.keys.tolist() != other.main.keys.tolist()


def test_accuracy_of_a_yes_or_no_is_the_area_under_the_curve():
    clinics = mf.datasets.load_clinics()
    expected = roc_auc_score(clinics.truth[clinics.test], clinics.main.scores[clinics.test])
    assert clinics.accuracy(clinics.main.scores) == pytest.approx(expected)


def test_other_views_and_more_labels_than_there_are_are_refused():
    with pytest.raises(mf.InputError, match="There is no task 'fourrier'; did you mean 'fourier'"):
        mf.datasets.load_digits("fourrier")
    with pytest.raises(mf.InputError, match="labels=101 came, but 0 to 100 were expected"):
        mf.datasets.load_clinics(labels=101)


@pytest.fixture(scope="module")
def case():
    return draw(0)


def test_rivals_are_those_of_the_result_tables(case):
    main, references, labels = case.main, case.references, case.labels()
    rows, grades = case.labelled, case.truth[case.labelled]
    imputed = np.column_stack([main.scores, impute(Problem.of(main, tuple(references)), 5)[0]])
    expected = {
        "smooth_alone": self_smoothing(main, score_of(labels, main, regression=False), np.random.default_rng(5))[0],
        "learn_from_labels": own_labels(main, rows, grades, np.random.default_rng(5))[0],
        "spread": spread_labels(main, rows, grades, 5)[0],
        "impute_and_average": mean_of_scores(imputed),
        "impute_and_stack": stack_by_ranksvm(imputed, rows, grades, 5)[0],
    }
    assert expected.keys() == set(mf.rivals.__all__)
    for name, values in expected.items():
        np.testing.assert_array_equal(getattr(mf.rivals, name)(main, references, labels, rng=5), values)


def test_predictions_come_back_in_the_library_of_the_scores(case):
    series = pd.Series(case.main.scores, name="risk")
    main = mf.Observations(series, case.main.table, ids=case.main.keys, name="main")
    assert mf.rivals.smooth_alone(main, labels=case.labels()).name == "risk"


@pytest.mark.parametrize(
    "rival, changes, said",
    [
        ("spread", {"labels": None}, "No labels came"),
        ("impute_and_stack", {"labels": None}, "No labels came"),
        ("impute_and_average", {"references": ()}, "No references came"),
        ("smooth_alone", {"main": mf.Observations([1.0, 2, 3], ids=["m0", "m1", "m2"])}, "has no features"),
        ("impute_and_average", {"main": mf.Observations([1.0, 2, 3], ids=["m0", "m1", "m2"])}, "has no features"),
        ("spread", {"labels": mf.RankLabels.from_pairs(["m0"], ["m1"])}, "Ordered pairs came"),
    ],
)
def test_what_a_rival_needs_is_asked_for(case, rival, changes, said):
    given = {"main": case.main, "references": case.references, "labels": case.labels()} | changes
    with pytest.raises(mf.InputError, match=said):
        getattr(mf.rivals, rival)(**given)


def test_every_picture_of_the_report_can_be_had_alone(case):
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    for picture in ("worth", "relevance", "metric", "shift", "support", "errors", "course"):
        assert mf.plot(result, picture).axes
    with pytest.raises(mf.InputError, match="no picture 'surface' of this result; choose one of worth, relevance"):
        mf.plot(result, "surface")
