"""The predicted memory of a run against what it takes, and the refusal of a run that does not fit."""

import gc
import tracemalloc
import weakref
from dataclasses import replace

import numpy as np
import pytest

import manifuse as mf
from manifuse.columns import lesson
from manifuse.columns.covariance import Covariance
from manifuse.columns.lesson import learn
from manifuse.columns.view import View
from manifuse.diffusion import footprint
from manifuse.diffusion.footprint import predicted_bytes
from manifuse.diffusion.setup import Setup
from manifuse.evidence.rankings import PairedRanking
from manifuse.evidence.score import Score
from manifuse.run import preparation
from manifuse.tables.problem import Problem
from tests.alone import alone
from tests.problems import draw, remade
from tests.test_classes import draw as draw_classes

METHOD = mf.Algorithm1(standardised=True)


def predicted(case, method):
    problem = Problem.of(case.main, case.references)
    return predicted_bytes(Setup(problem, method, 0, mf.Host()))


def taken_and_predicted(case, labels, method):
    needed = predicted(case, method)
    alone(case.main, case.references, labels, method)  # modules are loaded
    tracemalloc.start()
    alone(case.main, case.references, labels, method)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return taken, needed


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("features", [True, False])
def test_a_run_takes_about_what_is_predicted(labelled, features):
    case = draw(0, rows=6000, pairs=200, features=features)
    taken, needed = taken_and_predicted(case, case.labels() if labelled else None, METHOD)
    # Few rounds take much less than many. What matters is that a run that is not refused fits.
    assert 0.15 * needed < taken < 1.2 * needed


@pytest.mark.parametrize(
    "changes",
    [
        {"bridge": mf.ImplicitEuler(100.0)},
        {"neighbours": (5, 10, 20, 40)},
        {"standardised": (True, False)},
        {"bridge": mf.ExplicitEuler(step=0.3, steps=2)},
    ],
    ids=["large step", "many neighbours", "two scalings", "explicit"],
)
def test_many_pairs_and_what_else_takes_memory_are_counted(changes):
    case = draw(0, rows=2500, pairs=2000)
    taken, needed = taken_and_predicted(case, None, replace(METHOD, rounds=1, **changes))
    assert 0.1 * needed < taken < 1.2 * needed


def test_it_grows_in_proportion_with_the_rows():
    small, medium, large = (predicted(draw(0, rows=rows), METHOD) for rows in (1000, 3000, 5000))
    assert large - medium == pytest.approx(medium - small, rel=0.1)


def test_more_neighbours_take_more():
    methods = [replace(METHOD, neighbours=n) for n in (5, 10, (5, 40))]
    sizes = [predicted(draw(0), method) for method in methods]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


def test_a_run_that_does_not_fit_is_refused_with_its_size(monkeypatch):
    case = draw(0)
    needed = predicted(case, METHOD)
    monkeypatch.setattr(mf.Host, "free_memory", lambda self: needed - 1)
    setup = Setup(Problem.of(case.main, case.references), METHOD, 0, mf.Host())
    with pytest.raises(mf.InputError, match=f"needs about {needed / 2**30:.3g} GiB of memory, but"):
        footprint.demand_memory(setup)
    with pytest.raises(mf.InputError, match=r"This run needs about .* GiB of memory, but"):
        mf.refine(case.main, case.references, rng=0)
    monkeypatch.setattr(mf.Host, "free_memory", lambda self: needed)
    footprint.demand_memory(setup)


@pytest.mark.parametrize(
    "folds, lessons, remedy",
    [(5, [(4000, 2000)], "labels or pairs"), (10**6, [], "folds"), (5, [], "neighbours or fewer rows")],
)
def test_the_remedy_is_fewer_of_what_is_large(folds, lessons, remedy, monkeypatch):
    case = draw(0)
    least = predicted(case, METHOD)
    monkeypatch.setattr(mf.Host, "free_memory", lambda self: least if remedy != "neighbours or fewer rows" else 1000)
    setup = Setup(Problem.of(case.main, case.references), replace(METHOD, folds=folds), 0, mf.Host())
    with pytest.raises(mf.InputError, match=f"are free; take fewer {remedy}, or use a machine with more memory"):
        footprint.demand_memory(setup, lessons=lessons)


def test_a_pair_is_in_one_fold():
    case = draw(0)
    pairs = max(len(each.main_rows) for each in Problem.of(case.main, case.references).references)
    problem = Problem.of(case.main, case.references)
    setups = (Setup(problem, replace(METHOD, folds=folds), 0, mf.Host()) for folds in (10**6, pairs))
    assert len({footprint._of_bridges(setup) for setup in setups}) == 1


def test_of_many_ordered_pairs_a_part_teaches(monkeypatch):
    case, seen = draw(0), []
    better, worse = (ends[:2000] for ends in np.triu_indices(150, 1))
    score = PairedRanking.of(better, worse)
    problem = Problem.of(case.main, case.references)
    assert preparation._lessons(problem, score)[-1] == (1500, 750)
    few = Score.few
    monkeypatch.setattr(Score, "few", lambda score, most, rng: few(score, seen.append(most) or 10, rng))
    labels = mf.RankLabels.from_pairs(case.main.keys[better], case.main.keys[worse])
    mf.refine(case.main, case.references, labels, rng=0)
    assert seen == [750]


def test_rounds_that_do_not_fit_are_not_repeated(monkeypatch):
    case = draw(0)
    result = alone(case.main, case.references, method=METHOD)
    monkeypatch.setattr(footprint, "available_memory", lambda: 1000)
    with pytest.raises(mf.InputError, match=r"Refining rows that came later needs about .* GiB of memory, but"):
        result.apply(remade(case.main, ids=[f"later {row}" for row in range(len(case.main))]))


@pytest.mark.parametrize("features", [True, False])
def test_a_result_does_not_keep_what_its_rounds_worked_on(features):
    case = draw(0, rows=6000, pairs=200, features=features)
    method = mf.JointDiffusion(same_target=True, diffusion=METHOD)
    mf.refine(case.main, case.references, method=method, rng=0)  # modules are loaded
    tracemalloc.start()
    result = mf.refine(case.main, case.references, method=method, rng=0)
    kept = tracemalloc.get_traced_memory()[0]
    diffused = result.fitted_model.columns.diffused
    assert (diffused is not None) is features
    _ = None if diffused is None else diffused.rounds
    repeated = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept / (8 * 6000) < (60 if features else 20)
    if features:
        # A round has at least the values and the row sums of every reference.
        rounds = result.history[-1].round
        assert rounds > 3
        assert (repeated - kept) / (8 * 6000) > rounds * 2 * len(case.references)


def test_features_of_deleted_references_are_freed():
    case = draw(0)
    reference = mf.Observations(
        case.references[0].scores.copy(), case.references[0].table.copy(), ids=case.references[0].keys, name="it"
    )
    table = weakref.ref(reference)
    result = mf.refine(case.main, [reference], rng=0)
    del reference
    gc.collect()
    assert table() is None
    assert len(result.apply(case.main)) == len(case.main)


@pytest.mark.parametrize("bridge", [mf.ImplicitEuler(), mf.ExplicitEuler(step=0.3, steps=2)])
def test_repeated_rounds_take_about_what_is_predicted(bridge):
    case, method = draw(0, rows=6000, pairs=200), replace(METHOD, bridge=bridge)
    result = alone(case.main, case.references, method=method)
    tracemalloc.start()
    assert result.fitted_model.columns.diffused.rounds
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    diffused = result.fitted_model.columns.diffused
    needed = footprint.bytes_to_replay(diffused.bridges, diffused.start, len(diffused.coefficients))
    assert 0.15 * needed < taken < 1.2 * needed


def test_every_backend_says_what_it_has():
    for backend in (mf.Host(), mf.Torch("cpu")):
        assert backend.free_memory() > 1 << 20


def spent(work):
    """The memory that work takes at most, and what is announced while it is done."""
    announced = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(footprint, "_demand", lambda what, needed, free, remedy: announced.append(needed))
        tracemalloc.start()
        work()
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return taken, max(announced, default=None)


@pytest.mark.parametrize("rows, observed", [(500, 500), (800, 400)], ids=["labels", "ordered pairs"])
def test_a_lesson_takes_about_what_is_predicted(rows, observed, monkeypatch):
    case, rng = draw(0, rows=rows), np.random.default_rng(0)
    columns = {name: rng.standard_normal((rows, 1)) for name in ("own", "smoothed")}
    view = View(case.main.table, {**columns, "references": rng.standard_normal((rows, 2, 1))}, np.zeros((rows, 2)))
    covariance = Covariance.of(view, np.arange(300), "main")
    contrasts = None if observed == rows else np.eye(observed, rows) - np.eye(observed, rows, rows - observed)
    targets, variances = rng.standard_normal((observed, 1)), np.full(10, 0.5)
    # Variances are found by a few observations.
    monkeypatch.setattr(lesson, "drawn", lambda *given: np.arange(5))
    monkeypatch.setattr(lesson, "fit_variances", lambda *given: variances)
    taken, _ = spent(lambda: learn(covariance, view, targets, view["own"], contrasts))
    setup = Setup(Problem.of(case.main, case.references), METHOD, 0, mf.Host())
    needed = footprint._of_lessons(setup, [(rows, observed)]) - footprint.LESSON_BLOCK
    assert 0.5 * needed < taken < 1.3 * needed


def test_many_references_with_pairs_of_their_own_are_counted():
    case = draw(0, rows=1000, pairs=200, references=12)
    alone(case.main, case.references[:2], None, METHOD)  # modules are loaded
    taken, _ = spent(lambda: alone(case.main, case.references, None, METHOD))
    assert 0.5 < taken / predicted(case, METHOD) < 1.3


def test_rows_beyond_the_sample_that_is_fitted_are_counted():
    case = draw(0, rows=40_000, references=3, features=False)
    method = mf.JointDiffusion(fitted_rows=2000)
    small = draw(1, features=False)
    mf.refine(small.main, small.references, rng=0)  # modules are loaded
    taken, needed = spent(lambda: mf.refine(case.main, case.references, method=method, rng=0))
    assert 0.5 * needed < taken < 1.3 * needed


def test_memory_grows_with_classes_about_as_is_predicted():
    taken, needed = [], []
    for count in (2, 12):
        main, others, _, _, _ = draw_classes(0, rows=3000, names=tuple(f"class {each:02}" for each in range(count)))
        mf.refine(main, others, rng=0)  # modules are loaded
        tracemalloc.start()
        assert mf.refine(main, others, rng=0).course.share > 0
        taken.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        needed.append(
            predicted_bytes(Setup(Problem.of(main, others), mf.Algorithm1(), 0, mf.Host()), lessons=[(80, 80)])
        )
    assert 0.15 * needed[1] < taken[1] < 1.2 * needed[1]
    # Of both, most is the block of a lesson, which does not grow.
    assert 0.15 * (needed[1] - needed[0]) < taken[1] - taken[0] < 1.2 * (needed[1] - needed[0])
