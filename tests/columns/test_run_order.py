"""The order of a run: what decides whether something is diffused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.problems import draw
from tests.test_classes import draw as draw_classes

import manifuse as mf
from manifuse.columns import run_order
from manifuse.columns.diffused import Diffusion
from manifuse.columns.expected import Expected
from manifuse.columns.run_order import labels_like_smoothing, pairs_show_the_rest
from manifuse.columns.spoken import CoveredClasses
from manifuse.columns.view import View
from manifuse.evidence.rankings import GradedRanking
from manifuse.run.conclusion import _pairs_follow
from manifuse.tables.classes import Classes
from manifuse.tables.level import Level


@pytest.mark.parametrize(
    "carried, fewest, diffuses", [((0.2, 0.6), 40, True), ((0.2, 0.4), 40, False), ((0.2, 0.6), 41, False)]
)
def test_a_graph_is_diffused_over_if_it_carries_a_reference_and_pairs_are_many(carried, fewest, diffuses, monkeypatch):
    """One reference that it carries is enough; another may be noise. There are 40 pairs."""
    monkeypatch.setattr(run_order, "FEWEST_PAIRS", fewest)
    asked, worth = [], run_order.is_worth_diffusing

    def judge(given, known, agreement, expected):
        # Lessons as bad as bridges, and smoothed scores that are certainly better.
        given = replace(given, tuned=replace(given.tuned, fidelity=np.array(carried)))
        monkeypatch.setattr(run_order, "MOST_LOST", 10.0)
        monkeypatch.setattr(run_order, "LEAST_SMOOTHED", -10.0)
        asked.append(worth(given, known, agreement, expected))
        return asked[-1]

    monkeypatch.setattr(run_order, "is_worth_diffusing", judge)
    case = draw(0)
    result = mf.refine(case.main, case.references, rng=0)
    assert asked == [diffuses]
    assert (result.fitted_model.columns.diffused is not None) == diffuses


@pytest.mark.parametrize("known", [0.45, 0.55, 0.8])
def test_a_graph_carries_a_reference_that_knows_most_rows_as_well_as_one_that_knows_few(known):
    """What the reference says itself is no prediction, which a graph would have to reach."""
    rng = np.random.default_rng(0)
    digits = load_digits()
    rows = rng.permutation(len(digits.target))[:400]
    features, truth = digits.data[rows], 3.0 * (digits.target[rows] == 3)
    main = mf.Observations(truth + 2.0 * rng.standard_normal(400), features, ids=range(400), name="ours")
    pairs = rng.permutation(400)[: int(400 * known)]
    theirs = truth[pairs] + 0.7 * rng.standard_normal(len(pairs))
    result = mf.refine(main, [mf.Observations(theirs, features[pairs, ::2], ids=pairs, name="theirs")], rng=0)
    assert result.fitted_model.columns.diffused is not None


@pytest.mark.parametrize("pairs, stays", [(64, False), (96, True)])
def test_labels_are_judged_with_the_pairs_of_references_that_know_most_rows(pairs, stays, monkeypatch):
    """Other rows are likely to be known to such a reference, too. There are 160 rows."""
    case, run, ran = draw(0, references=1, pairs=pairs), Diffusion.run, []

    def spy(diffusion, start, without=None):
        ran.append((diffusion, start, without))
        return run(diffusion, start, without)

    monkeypatch.setattr(run_order, "is_worth_diffusing", lambda *given: True)
    monkeypatch.setattr(Diffusion, "run", spy)
    mf.refine(case.main, case.references, case.labels(), rng=0)
    diffusion, start, held = next(each for each in ran if each[2] is not None)
    assert np.isin(held, diffusion.problem.references[0].main_rows).any()
    whole, without = (run(diffusion, start, rows).predictions for rows in (None, held))
    assert np.array_equal(whole, without) is stays


def test_columns_have_the_order_in_which_the_run_computes_them(monkeypatch):
    monkeypatch.setattr(run_order, "is_worth_diffusing", lambda *given: True)
    monkeypatch.setattr(run_order, "is_denied", lambda *given: False)
    case, (main, others, labels, *_) = draw(0), draw_classes(0, labels=60)
    first, learned, diffused = ["smoothed", "references", "expected"], ["learned", "taught"], ["diffused", "refined"]
    for given, order in (
        ((case.main, case.references), first + diffused),
        ((case.main, case.references, case.labels()), first + learned + diffused),
        ((main, others, labels), first + diffused + ["calibrated"] + learned),
    ):
        columns = mf.refine(*given, rng=0).fitted_model.columns
        assert list(columns.by_name) == order
        assert columns.last == order[-1]


def view(rng, known, own=None):
    """Rows with two features, and whether each of two references knows them."""
    own = rng.standard_normal((len(known), 1)) if own is None else own
    return View(rng.standard_normal((len(known), 2)), {"own": own}, known.astype(float))


def expected(pulls, covered=None):
    return Expected(np.array(pulls), np.zeros((2, 1)), Level(np.zeros(1), 1.0), covered)


def test_a_few_pairs_show_nothing_of_the_rest(rng):
    known = np.zeros((500, 2), dtype=bool)
    known[rng.choice(500, 60, replace=False), 0] = True
    known[rng.choice(500, 20, replace=False), 1] = True
    rows = view(rng, known)
    shown = [pairs_show_the_rest(rows, expected(pulls)) for pulls in ([1.0, 0.0], [0.5, 0.5], [0.4, 0.6], [0.0, 1.0])]
    assert shown == [True, True, False, False]
    assert pairs_show_the_rest(view(rng, np.ones((20, 2), dtype=bool)), expected([1.0, 0.0]))


@pytest.mark.parametrize("what", ["feature", "own", "middle"])
def test_pairs_that_are_chosen_do_not_show_the_rest(what, rng):
    known = np.zeros((500, 2), dtype=bool)
    rows = view(rng, known)
    sorted_by = {"feature": rows.features[:, 1], "own": rows["own"][:, 0], "middle": -np.abs(rows["own"][:, 0])}[what]
    rows.known[np.argsort(sorted_by)[-100:], 0] = 1.0
    rows.known[rng.choice(500, 100, replace=False), 1] = 1.0
    assert not pairs_show_the_rest(rows, expected([1.0, 0.0]))
    assert pairs_show_the_rest(rows, expected([0.0, 1.0]))


def test_pairs_that_lack_a_class_do_not_show_the_rest(rng):
    rows, units = view(rng, np.ones((60, 2), dtype=bool)), Level(np.zeros(2), 1.0)
    covered = CoveredClasses(Classes(("a", "b", "c")), units, np.array([[True] * 3, [True, True, False]]))
    assert pairs_show_the_rest(rows, expected([0.2, 0.8], covered))
    assert not pairs_show_the_rest(rows, expected([0.0, 0.8], covered))


@pytest.mark.parametrize("noise, surely", [(1.0, False), (0.5, True)])
def test_labels_surely_like_smoothing_if_it_gains_more_than_an_error(noise, surely, rng):
    truth = rng.standard_normal((200, 1))
    own = truth + rng.standard_normal((200, 1))
    smoothed = truth + noise * rng.standard_normal((200, 1))
    rows = View(np.zeros((200, 1)), {"own": own, "smoothed": smoothed}, np.zeros((200, 0)))
    score = GradedRanking(np.arange(100), truth[:100, 0])
    gain = score.gain(own[:100, 0], smoothed[:100, 0])
    assert gain.value > 0, "the test needs such rows"
    assert (gain.value > gain.standard_error) is surely
    given = SimpleNamespace(score=score, problem=SimpleNamespace(units=Level(np.asarray(0.0), 1.0)))
    assert labels_like_smoothing(given, rows)
    assert labels_like_smoothing(given, rows, surely=True) is surely
    equal = View(rows.features, {"own": own, "smoothed": own}, rows.known)
    assert not labels_like_smoothing(given, equal)
    assert not labels_like_smoothing(SimpleNamespace(score=None), rows)


def test_labels_may_ask_for_a_diffusion_where_pairs_are_few(monkeypatch):
    """There are 30 pairs; smoothed own scores predict references, and are better on the labels."""
    case = draw(0, pairs=30)
    monkeypatch.setattr(run_order, "MOST_LOST", 10.0)
    diffused = []
    for labels in (None, case.labels()):
        result = mf.refine(case.main, case.references, labels, rng=0)
        diffused.append(result.fitted_model.columns.diffused is not None)
    monkeypatch.setattr(run_order, "labels_like_smoothing", lambda *_, **__: False)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    assert [*diffused, result.fitted_model.columns.diffused is not None] == [False, True, False]


def test_labels_cannot_ask_for_a_diffusion_over_a_graph_that_carries_no_reference(monkeypatch):
    case = draw(0, pairs=30)
    monkeypatch.setattr(run_order, "MOST_LOST", 10.0)
    monkeypatch.setattr(run_order, "LEAST_CARRIED", 1.0)
    monkeypatch.setattr(run_order, "labels_like_smoothing", lambda *_, **__: True)
    result = mf.refine(case.main, case.references, case.labels(), rng=0)
    assert result.fitted_model.columns.diffused is None


@pytest.mark.parametrize("value, follow", [(-0.001, False), (0.0, True), (0.001, True), (None, True)])
def test_pairs_follow_unless_labels_there_show_a_loss_however_small(value, follow):
    found = SimpleNamespace(
        agreement=SimpleNamespace(is_followed=True),
        views=SimpleNamespace(fitted={"known itself": np.array([0.0, 1.0])}),
    )
    assert _pairs_follow(found, None if value is None else SimpleNamespace(value=value)) is follow
