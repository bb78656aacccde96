"""The memory that a run is said to take, against what it takes, and what happens where there is less."""

import gc
import tracemalloc
import weakref
from dataclasses import replace

import numpy as np
import pytest
from tests.problems import draw

import manifuse as mf
from manifuse.diffusion import joint
from manifuse import footprint
from manifuse.backends import host as graph
from manifuse.footprint import predicted_bytes
from manifuse.diffusion.problem import Problem

METHOD = mf.JointDiffusion(standardised=True)


def taken_and_predicted(case, labels, method):
    needed = predicted_bytes(Problem.of(case.main, case.references), method, mf.Host(), labelled=labels is not None)
    mf.refine(case.main, case.references, labels, method, rng=0)  # modules are loaded
    tracemalloc.start()
    mf.refine(case.main, case.references, labels, method, rng=0)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return taken, needed


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("features", [True, False])
def test_a_run_takes_about_what_is_predicted(labelled, features):
    case = draw(0, rows=6000, pairs=200, features=features)
    taken, needed = taken_and_predicted(case, case.labels() if labelled else None, METHOD)
    # Few rounds take much less than many; what matters is that a run that is let in fits.
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
    few, many = (draw(0, rows=rows) for rows in (1000, 3000))
    small, large = (
        predicted_bytes(Problem.of(c.main, c.references), METHOD, mf.Host(), labelled=True) for c in (few, many)
    )
    assert large == pytest.approx(3 * small, rel=0.2)


def test_more_neighbours_take_more():
    problem = Problem.of(draw(0).main, draw(0).references)
    methods = [replace(METHOD, neighbours=n) for n in (5, 10, (5, 40))]
    sizes = [predicted_bytes(problem, method, mf.Host(), labelled=False) for method in methods]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


def test_a_run_that_does_not_fit_is_refused_with_the_number(monkeypatch):
    case = draw(0)
    needed = predicted_bytes(Problem.of(case.main, case.references), METHOD, mf.Host(), labelled=False)
    monkeypatch.setattr(mf.Host, "free_memory", lambda self: needed - 1)
    with pytest.raises(mf.InputError, match=f"needs about {needed / 2**30:.3g} GiB of memory, but"):
        mf.refine(case.main, case.references, method=METHOD, rng=0)
    monkeypatch.setattr(mf.Host, "free_memory", lambda self: needed)
    assert np.isfinite(mf.refine(case.main, case.references, method=METHOD, rng=0).predictions).all()


def test_rounds_that_do_not_fit_are_not_made_anew(monkeypatch):
    case = draw(0)
    for module in (joint, footprint):
        monkeypatch.setattr(module, "LARGE_ROWS", 10)
    result = mf.refine(case.main, case.references, method=METHOD, rng=0)
    monkeypatch.setattr(footprint, "available_memory", lambda: 1000)
    with pytest.raises(mf.InputError, match=r"What rounds did, made anew for .*, needs about .* GiB of memory, but"):
        result.apply(case.main)


@pytest.mark.parametrize("features", [True, False])
def test_memory_of_large_tables_is_not_kept_by_the_result(features, monkeypatch):
    case = draw(0, rows=6000, pairs=200, features=features)
    kept = []
    for rows in (6000, 6001):
        monkeypatch.setattr(joint, "LARGE_ROWS", rows)
        tracemalloc.start()
        result = mf.refine(case.main, case.references, method=METHOD, rng=0)
        kept.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    vectors = np.array(kept) / (8 * 6000)
    rounds = result.history[-1].round
    assert rounds > 3
    # Of a round the values and the row sums of every reference, at the least.
    assert vectors[1] - vectors[0] > rounds * 2 * len(case.references)
    assert vectors[0] < (45 if features else 20)


def test_references_that_are_let_go_take_their_features_with_them():
    case = draw(0)
    reference = mf.Observations(
        case.references[0].scores.copy(), case.references[0].table.copy(), ids=case.references[0].keys, name="it"
    )
    table = weakref.ref(reference)
    result = mf.refine(case.main, [reference], method=METHOD, rng=0)
    del reference
    gc.collect()
    assert table() is None
    assert len(result.apply(case.main)) == len(case.main)


@pytest.mark.parametrize("bridge", [mf.ImplicitEuler(), mf.ExplicitEuler(step=0.3, steps=2)])
def test_rounds_made_anew_take_about_what_is_predicted(bridge, monkeypatch):
    for module in (joint, footprint, graph):
        monkeypatch.setattr(module, "LARGE_ROWS", 10)
    case, method = draw(0, rows=6000, pairs=200), replace(METHOD, bridge=bridge)
    result = mf.refine(case.main, case.references, method=method, rng=0)
    rounds = result.history[-1].round
    tracemalloc.start()
    assert result._fitted().end is not None
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    needed = footprint.bytes_to_replay(Problem.of(case.main, case.references), method, rounds)
    assert 0.15 * needed < taken < 1.2 * needed


def test_every_place_says_what_it_has(tmp_path):
    for place in (mf.Host(), mf.Torch("cpu"), mf.Cached(mf.Host(), tmp_path)):
        assert place.free_memory() > 1 << 20
