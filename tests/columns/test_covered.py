"""Covered: classes that no reference can speak of keep the probability of the main predictor."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import manifuse as mf
from manifuse.columns.expected import Expected
from manifuse.columns.spoken import CoveredClasses
from manifuse.tables.classes import Classes
from manifuse.tables.level import Level
from manifuse.tables.problem import Problem
from manifuse.words.findings import findings_of

NAMES = ("a", "b", "c", "d")


def column(*of_references):
    units = Level(np.array([0.3, -0.2, 0.1]), 1.7)
    return CoveredClasses(Classes(NAMES), units, np.array(of_references, dtype=bool))


@pytest.mark.parametrize("pulls", [(1.0, 0.0), (1.0, 2.0), (0.0, 1.0)])
def test_uncovered_classes_keep_their_probability_and_the_others_share_the_rest_as_is_said(pulls, rng):
    covered, pulls = column([1, 1, 0, 0], [0, 1, 1, 0]), np.array(pulls)
    said, own = rng.standard_normal((2, 30, 3))
    of = [np.exp(covered.classes.logarithms(covered.units.undo(each))) for each in (said, own)]
    kept = np.exp(covered.classes.logarithms(covered.units.undo(covered.keep_others(said, own, pulls))))
    there = covered.by(pulls)
    np.testing.assert_array_equal(there, (covered.of_references & (pulls > 0)[:, None]).any(axis=0))
    np.testing.assert_allclose(kept[:, ~there], of[1][:, ~there])
    np.testing.assert_allclose(kept.sum(axis=1), 1.0)
    among = [each[:, there] / each[:, there].sum(axis=1, keepdims=True) for each in (kept, of[0])]
    np.testing.assert_allclose(*among)


def test_if_all_classes_are_covered_or_nobody_is_followed_nothing_changes(rng):
    said, own = rng.standard_normal((2, 5, 3))
    assert column([1, 1, 1, 0], [0, 0, 0, 1]).keep_others(said, own, np.ones(2)) is said
    assert column([1, 1, 0, 0], [1, 0, 0, 1]).keep_others(said, own, np.zeros(2)) is said


def problem(rng, classes=4, rows=400):
    """Rows of several classes, what one classifier says of them from some columns, and what another one says."""
    truth = rng.integers(classes, size=rows)
    centres = 2.0 * rng.standard_normal((classes, 6))
    table = centres[truth] + rng.standard_normal((rows, 6))
    names, sides = np.array(NAMES[:classes]), (table[:, :2], table)
    said = [LogisticRegression().fit(side[:80], truth[:80]).predict_proba(side) for side in sides]
    main = mf.Observations(said[0], sides[0], ids=np.arange(rows), classes=names, name="ours")
    return truth, main, said[1], names


def test_a_class_of_which_there_is_no_pair_keeps_its_probability(rng):
    truth, main, said, names = problem(rng)
    rows = np.flatnonzero(truth != 2)[:120]
    theirs = mf.Observations(said[rows], ids=rows, classes=names, name="theirs")
    result = mf.refine(main, [theirs], rng=0)
    assert result.evidence.uncovered == ("c",)
    of_all = np.exp(main.classes.logarithms(main.scores))
    np.testing.assert_allclose(result.predictions[:, 2], of_all[:, 2], rtol=1e-6)
    assert not np.allclose(result.predictions[:, 0], of_all[:, 0], rtol=0.05)
    (finding,) = (each for each in findings_of(result.evidence, result.refined) if each.code == "uncovered classes")
    assert "“c”" in finding.sentence
    assert finding.sentence.endswith("So it keeps its probability.")
    taught = mf.refine(main, [theirs], mf.ClassLabels(np.arange(200, 300), names[truth[200:300]]), rng=0)
    (finding,) = (each for each in findings_of(taught.evidence, taught.refined) if each.code == "uncovered classes")
    assert finding.sentence.endswith("Without what labels teach it keeps its probability.")
    later = mf.Observations(main.came[:50], main.table[:50], ids=np.arange(1000, 1050), classes=names, name="later")
    of_later = result.apply(later)
    np.testing.assert_allclose(of_later[:, 2], of_all[:50, 2], rtol=1e-6)
    assert result.fitted_model.columns.diffused is None


def test_a_class_that_the_reference_does_not_know_keeps_its_probability(rng):
    _, main, said, names = problem(rng)
    rows, known = np.arange(0, 400, 3), [0, 1, 3]
    shares = said[np.ix_(rows, known)]
    theirs = mf.Observations(shares / shares.sum(axis=1, keepdims=True), ids=rows, classes=names[known], name="theirs")
    with pytest.warns(mf.ManifuseWarning, match="It gives them no probability, or one for several of them together"):
        result = mf.refine(main, [theirs], rng=0)
    assert result.evidence.uncovered == ("c",)
    assert result.to_dict()["uncovered"] == ["c"]
    both = [theirs, mf.Observations(said[rows], ids=rows, classes=names, name="all")]
    with pytest.warns(mf.ManifuseWarning, match="c is missing"):
        assert mf.refine(main, both, rng=0).evidence.uncovered == ()


@pytest.mark.filterwarnings("ignore:theirs does not have all classes")
def test_a_reference_that_divides_or_joins_classes_speaks_of_them(rng):
    truth, main, said, names = problem(rng)
    rows, test, half = np.arange(0, 400, 3), np.arange(81, 400, 3), np.array([[0.3], [0.7]])
    divided = np.hstack([said[:, :2], *(part * said[:, 2:3] for part in half), said[:, 3:]])
    joined = np.column_stack([said[:, 0], said[:, 1] + said[:, 2], said[:, 3]])
    found = []
    for columns, called in ((said, names), (divided, ["a", "b", "c1", "c2", "d"]), (joined, ["a", "b or c", "d"])):
        theirs = mf.Observations(columns[rows], ids=rows, classes=called, name="theirs")
        result = mf.refine(main, [theirs], rng=0)
        assert result.evidence.uncovered == ()
        found.append(np.mean(result.predictions[test].argmax(axis=1) == truth[test]))
    alone = np.mean(main.came[test].argmax(axis=1) == truth[test])
    whole, in_parts, together = found
    assert whole > alone + 0.1
    assert in_parts > alone + 0.9 * (whole - alone)
    # What is said of two classes together does not tell them apart.
    assert whole > together > alone + 0.3 * (whole - alone)


def test_own_scores_say_which_class_pairs_lack_if_the_reference_does_not(rng):
    truth = rng.integers(4, size=400)
    ours = 0.1 + 0.6 * np.eye(4)[truth]
    main = mf.Observations(ours, rng.standard_normal((400, 2)), ids=np.arange(400), classes=NAMES, name="ours")
    rows = np.flatnonzero(truth != 1)[:100]
    theirs = mf.Observations(rng.dirichlet(np.ones(4), 100), ids=rows, classes=NAMES, name="theirs")
    problem = Problem.of(main, [theirs])
    covered = CoveredClasses.of(problem, dict(enumerate(problem.references)))
    np.testing.assert_array_equal(covered.of_references, [[True, False, True, True]])


def test_worths_and_gains_at_pairs_know_what_is_covered(rng, monkeypatch):
    truth, main, said, names = problem(rng)
    rows, measured, given = np.flatnonzero(truth != 2)[:120], Expected.measured, []
    theirs = [mf.Observations(said[rows], ids=rows, classes=names, name=name) for name in ("one", "two")]
    theirs[1] = mf.Observations(0.5 * said[rows] + 0.125, ids=rows, classes=names, name="two")

    def spy(cls, view, pulls, covered=None, spoken=None):
        given.append((tuple(pulls), covered is None))
        return measured(view, pulls, covered, spoken)

    monkeypatch.setattr(Expected, "measured", classmethod(spy))
    known = np.r_[rows[:40], np.flatnonzero(truth == 2)[-20:]]
    mf.refine(main, theirs, mf.ClassLabels(known, names[truth[known]]), rng=0)
    # Only the rival that averages all takes what is imputed as it is.
    assert {pulls for pulls, without in given if without} == {(1.0, 1.0)}
    assert len(given) > 3


def test_pairs_of_one_of_two_classes_are_pairs_of_one_score(rng):
    truth, main, said, names = problem(rng, classes=2)
    rows = np.flatnonzero(truth == 0)[:80]
    result = mf.refine(main, [mf.Observations(said[rows], ids=rows, classes=names, name="theirs")], rng=0)
    assert result.evidence.uncovered == ()


def test_a_reference_of_other_classes_is_turned_and_speaks_of_all(rng):
    _, main, said, _ = problem(rng)
    rows = np.arange(0, 400, 3)
    theirs = mf.Observations(said[rows], ids=rows, classes=["w", "x", "y", "z"], name="theirs")
    assert mf.refine(main, [theirs], rng=0).evidence.uncovered == ()


def test_what_one_reference_is_worth_asks_who_covers_the_classes_without_it(rng):
    rows = SimpleView(rng)
    covered = column([1, 1, 1, 1], [1, 1, 0, 0])
    without = Expected.measured(rows, np.array([0.0, 1.0]), covered).at(rows)
    of = [np.exp(covered.classes.logarithms(covered.units.undo(each))) for each in (without, rows["own"])]
    np.testing.assert_allclose(of[0][:, 2:], of[1][:, 2:])


class SimpleView(dict):
    """Columns of some rows."""

    def __init__(self, rng):
        super().__init__(own=rng.standard_normal((40, 3)), references=rng.standard_normal((40, 2, 3)))


def test_decision_values_that_are_far_apart_stay_finite():
    covered = column([1, 1, 0, 0])
    own, values = np.array([[2e4, -1e4, 3e3], [-2e4, 0.0, 1.0]]), np.array([[-1e4, 2e4, 0.0], [5.0, -3.0, 1e4]])
    kept = covered.keep_others(values, own, np.ones(1))
    assert np.isfinite(kept).all()
    of = [np.exp(covered.classes.logarithms(covered.units.undo(each))) for each in (kept, own)]
    np.testing.assert_allclose(of[0][:, 2:], of[1][:, 2:], atol=1e-12)


@pytest.mark.parametrize(
    "had, came",
    [
        (("red", "blue"), ("Red", "Blue")),
        (("red", "blue"), ("red", "bl ue")),
        (("red", "blue"), ("RED", "BLUE")),
        (("pale red", "blue"), ("pale_red", "blue")),
    ],
)
def test_classes_that_a_reference_writes_otherwise_are_told_of(rng, had, came):
    ours, other = rng.dirichlet((1.0, 1.0), size=(2, 60))
    main = mf.Observations(ours, ids=range(60), classes=had, name="ours")
    theirs = mf.Observations((ours + other) / 2.0, ids=range(60), classes=came, name="theirs")
    with pytest.warns(mf.ManifuseWarning, match="write them alike if they are the same class") as given:
        mf.refine(main, [theirs], rng=0)
    assert [each.message.code for each in given] == ["lacking_classes"]


@pytest.mark.parametrize("names, told", [("abz", True), ("ayz", True), ("xyz", False), ("abcz", False)])
def test_as_many_other_classes_as_are_missing_may_be_the_same_ones(rng, names, told):
    ours = rng.dirichlet((1.0, 1.0, 1.0), size=60)
    main = mf.Observations(ours, ids=range(60), classes=list("abc"), name="ours")
    theirs = rng.dirichlet(np.ones(len(names)), size=60)
    theirs[:, :3] += ours
    reference = mf.Observations(
        theirs / theirs.sum(axis=1, keepdims=True), ids=range(60), classes=list(names), name="it"
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.refine(main, [reference], rng=0)
    said = [str(each.message) for each in caught if each.message.code == "lacking_classes"]
    lacks, has = (", ".join(sorted({*one} - {*other})) for one, other in (("abc", names), (names, "abc")))
    kind = "class" if len(lacks) == 1 else "classes"
    expected = f"it lacks the {kind} {lacks} of ours, and has {has} instead; write them alike if they are the same."
    assert said == ([expected] if told else [])
