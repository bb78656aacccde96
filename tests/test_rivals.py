"""Data sets to try things on, and rivals with the interface of refine."""

from importlib.metadata import EntryPoint

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

import manifuse as mf
from manifuse.datasets import two_sides
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.evidence.labelled import score_of
from manifuse.evidence.rankings import GradedRanking
from manifuse.rivals import comparison, methods
from manifuse.rivals.methods import imputed_scores, mean_of_scores, stack_by_ridge
from manifuse.rivals.own_graph import self_smoothing, spread_labels
from manifuse.rivals.own_labels import own_labels
from manifuse.tables.drawing_order import order_of
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
    with pytest.raises(mf.InputError, match="There is no task of digits named 'fourrier'; did you mean 'fourier'"):
        mf.datasets.load_digits("fourrier")
    with pytest.raises(mf.InputError, match=r"There is no task of digits named 0\. There are: "):
        mf.datasets.load_digits(0)
    with pytest.raises(mf.InputError, match="labels=101 came, but a whole number from 0 to 100 was expected"):
        mf.datasets.load_clinics(labels=101)
    with pytest.raises(mf.InputError, match=r"labels=10\.5 came"):
        mf.datasets.load_digits(labels=10.5)
    with pytest.raises(mf.InputError, match=r"labels=True came"):
        mf.datasets.load_clinics(labels=True)
    with pytest.raises(mf.InputError, match="seed=-1 came"):
        mf.datasets.load_clinics(seed=-1)
    with pytest.raises(mf.InputError, match=r"\(258,\), but \(259,\) was expected"):
        mf.datasets.load_clinics().accuracy(np.zeros(258))


def test_labels_leave_rows_to_judge_on(rng):
    tasks = {name: (rng.standard_normal((720, 3)), rng.integers(0, 5, 720).astype(float)) for name in "ab"}
    with pytest.raises(mf.InputError, match="from 0 to 30 was expected"):
        two_sides("mine", tasks, "a", labels=200, seed=0)
    example = two_sides("mine", tasks, None, labels=30, seed=0)
    assert (example.main.name, len(example.test)) == ("a", 30)
    small = {name: (features[:600], truth[:600]) for name, (features, truth) in tasks.items()}
    with pytest.raises(mf.InputError, match="mine has 600 rows, which are too few"):
        two_sides("mine", small, "a", labels=30, seed=0)


def test_other_data_sets_come_by_an_entry_point(monkeypatch):
    found = EntryPoint("any", "tests.test_rivals:seen", mf.datasets.GROUP)
    monkeypatch.setattr(mf.datasets, "entry_points", lambda group: [found])
    assert mf.datasets.load("osr", "open", seed=4) == (("osr", "open"), {"labels": 200, "seed": 4, "folder": None})
    monkeypatch.setattr(mf.datasets, "entry_points", lambda group: [])
    with pytest.raises(mf.InputError, match=r"'osr' came, but only .* 'digits' .* run: pip install ./study$"):
        mf.datasets.load("osr")
    np.testing.assert_array_equal(mf.datasets.load("digits").main.scores, mf.datasets.load_digits().main.scores)


def seen(*values, **named):
    """What the loader of another package was asked for."""
    return values, named


@pytest.fixture(scope="module")
def case():
    return draw(0)


def test_rivals_are_those_of_their_room(case):
    main, references, labels = case.main, case.references, case.labels()
    rows = case.labelled[order_of(main, case.labelled)]
    grades = case.truth[rows]
    imputed = imputed_scores(main, references, 5)
    expected = {
        "smooth_alone": self_smoothing(main, score_of(labels, main, regression=False), np.random.default_rng(5))[0],
        "learn_from_labels": own_labels(main, rows, grades, np.random.default_rng(5))[0],
        "spread": spread_labels(main, rows, grades, 5)[0],
        "impute_and_average": mean_of_scores(imputed),
        "impute_and_stack": stack_by_ridge(imputed, rows, grades)[0],
    }
    assert expected.keys() | {"compare"} == set(mf.rivals.__all__)
    for name, values in expected.items():
        np.testing.assert_array_equal(getattr(mf.rivals, name)(main, references, labels, rng=5), values)


@pytest.mark.parametrize("name", sorted({*mf.rivals.__all__} - {"compare"}))
def test_a_data_frame_is_refused_in_a_sentence(case, name):
    frame = pd.DataFrame({"id": case.main.keys, "score": case.main.scores, "x": case.main.table[:, 0]})
    with pytest.raises(mf.InputError, match="DataFrame came where Observations was expected"):
        getattr(mf.rivals, name)(frame, [frame], case.labels())


def test_predictions_come_back_in_the_library_of_the_scores(case):
    series = pd.Series(case.main.scores, name="risk")
    main = mf.Observations(series, case.main.table, ids=case.main.keys, name="main")
    assert mf.rivals.smooth_alone(main, labels=case.labels()).name == "risk"


def bare(table):
    return mf.Observations(table.scores, ids=table.keys, name=table.name)


@pytest.mark.parametrize(
    "rival, changes, said",
    [
        ("spread", {"labels": None}, "No labels came"),
        ("impute_and_stack", {"labels": None}, "No labels came"),
        ("impute_and_average", {"references": ()}, "No references came"),
        ("smooth_alone", {"main": mf.Observations([1.0, 2, 3], ids=["m0", "m1", "m2"])}, "has no features"),
        ("impute_and_average", {"main": bare(draw(0).main)}, "main has no features"),
        ("spread", {"labels": mf.RankLabels.from_pairs(["m0"], ["m1"])}, "Ordered pairs came"),
        ("spread", {"labels": mf.RankLabels(["m0", "m1", "m2"], [1, 2, 3])}, "3 labels came, but this rival learns"),
        ("impute_and_average", {"references": [draw(0, pairs=5).references[0]]}, "reference 1 has 5 pairs"),
        ("spread", {"main": np.zeros(3)}, "ndarray came where Observations was expected"),
    ],
)
@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
def test_what_a_rival_needs_is_asked_for(case, rival, changes, said):
    given = {"main": case.main, "references": case.references, "labels": case.labels()} | changes
    with pytest.raises(mf.InputError, match=said):
        getattr(mf.rivals, rival)(**given)


def test_stacking_of_scores_that_are_known_everywhere_needs_no_features():
    case = draw(0, features=False)
    stacked = mf.rivals.impute_and_stack(case.main, case.references, case.labels())
    scores = [case.main.scores]
    for reference in case.references:
        by_id = dict(zip(reference.keys, reference.scores, strict=True))
        scores.append([by_id[key] for key in case.main.keys])
    expected, _ = stack_by_ridge(np.column_stack(scores), case.labelled, case.truth[case.labelled])
    np.testing.assert_allclose(stacked, expected)


def test_grades_are_not_taken_for_log_odds(case):
    chances = mf.Observations(expit(case.main.scores), case.main.table, ids=case.main.keys, scale="probability")
    grades = mf.RankLabels(case.main.keys[case.labelled], np.arange(len(case.labelled)))
    assert np.ptp(mf.rivals.spread(chances, labels=grades)) > 1
    assert np.ptp(mf.rivals.smooth_alone(chances, labels=grades)) < 1
    generator = np.random.default_rng(0)
    assert len(mf.rivals.spread(chances, labels=grades, rng=generator)) == len(chances)


def test_every_picture_of_the_report_can_be_had_alone(case):
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    for picture in ("worth", "relevance", "metric", "shift", "support", "uncertainty", "course"):
        assert mf.plot(result, picture).axes
    with pytest.raises(mf.InputError, match="no picture 'surface'; did you mean"):
        mf.plot(result, "surface")


@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
def test_a_comparison_judges_held_out_rows_by_their_ranks(case, monkeypatch):
    for name in ("learn_from_labels", "spread"):
        # These take long, and are tested above.
        monkeypatch.setattr(comparison, name, lambda main, *others, **more: main.scores)
    for place in (comparison, methods):
        monkeypatch.setattr(place, "imputed_scores", lambda main, *others: np.column_stack([main.scores, main.table]))
    labels, rows = case.labels(), case.labelled[order_of(case.main, case.labelled)]
    # The order counts, not the unit, which differs from fold to fold.
    others = {
        "mine": lambda main, references, known, rng: np.exp(main.scores) * len(references) * known.grades.sum(),
        "averaged": mf.rivals.impute_and_average,
        "stacked": mf.rivals.impute_and_stack,
    }
    found = mf.rivals.compare(case.main, case.references, labels, rng=3, others=others, library=pd).set_index("method")
    assert found["accuracy"].is_monotonic_decreasing
    assert len(found) == 10
    # `compare` imputes once, and every rival by itself.
    for ours, theirs in {"averaged": "impute_and_average", "stacked": "impute_and_stack"}.items():
        assert found.loc[ours, "accuracy"] == found.loc[theirs, "accuracy"]
    refined, alone = np.empty(len(rows)), rankdata(case.main.scores)[rows]
    for train, test in KFold(5, shuffle=True, random_state=3).split(rows):
        known = mf.RankLabels(case.main.keys[rows[train]], case.truth[rows[train]])
        refined[test] = rankdata(mf.refine(case.main, case.references, known, rng=3).scores)[rows[test]]
    truth = case.truth[rows]
    assert found.loc["refine", "accuracy"] == pytest.approx(ranking_accuracy(truth, refined))
    before, gain = ranking_accuracy(truth, alone), GradedRanking(rows, truth).gain(refined, alone)
    for name in ("alone", "mine"):
        assert found.loc[name, "accuracy"] == pytest.approx(before)
        assert found.loc[name, "minus_refine"] == pytest.approx(gain.value)
        assert found.loc[name, "standard_error"] == pytest.approx(gain.standard_error)
    assert "impute_and_stack" not in comparison._methods(mf.JointDiffusion(), {}, case.main, [], 0)


def test_methods_of_ones_own_are_checked(case, monkeypatch):
    monkeypatch.setattr(comparison, "refine", lambda main, *others, **more: main)
    for name in ("learn_from_labels", "smooth_alone", "spread"):
        monkeypatch.setattr(comparison, name, lambda main, *others, **more: main.scores)
    for method in (lambda main, *others: main.scores[1:], lambda main, *others: np.full(len(main), np.nan)):
        with pytest.raises(mf.InputError, match="'mine' must return a finite prediction for each of 160 main rows"):
            mf.rivals.compare(case.main, [], case.labels(), others={"mine": method})
    with pytest.raises(mf.InputError, match="What 'mine' returned came as <U1, but numbers were expected"):
        mf.rivals.compare(case.main, [], case.labels(), others={"mine": lambda main, *others: ["a"] * len(main)})
    with pytest.raises(mf.InputError, match="'alone' is the name of another method"):
        mf.rivals.compare(case.main, [], case.labels(), others={"alone": method})
    with pytest.raises(mf.InputError, match="function came where Mapping was expected"):
        mf.rivals.compare(case.main, [], case.labels(), others=method)


def test_a_comparison_of_few_or_equal_labels_is_refused(case):
    for count in (8, 30):
        with pytest.raises(mf.InputError, match=f"{count} labels came, but comparing needs at least 50"):
            mf.rivals.compare(case.main, [], mf.RankLabels(case.main.keys[:count], case.truth[:count]))
    one = np.zeros(60)
    one[0] = 1.0
    with pytest.raises(mf.InputError, match="All labels but those of one fold are equal"):
        mf.rivals.compare(case.main, [], mf.RankLabels(case.main.keys[:60], one))
