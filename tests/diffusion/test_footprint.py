"""The memory that a run is said to take, against what it takes, and what happens where there is less."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from tests.problems import draw

import manifuse as mf
from manifuse.diffusion import footprint, joint
from manifuse.diffusion.footprint import predicted_bytes
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
    monkeypatch.setattr(joint, "LARGE_ROWS", 10)
    result = mf.refine(case.main, case.references, method=METHOD, rng=0)
    monkeypatch.setattr(footprint, "available_memory", lambda: 1000)
    with pytest.raises(mf.InputError, match=r"To apply or save what \d+ rounds did to 160 rows needs about .* GiB"):
        result.apply(case.main)


def test_memory_of_large_tables_is_not_kept_by_the_result(monkeypatch):
    case = draw(0, rows=6000, pairs=200, features=False)
    kept = []
    for rows in (6000, 6001):
        monkeypatch.setattr(joint, "LARGE_ROWS", rows)
        tracemalloc.start()
        result = mf.refine(case.main, case.references, rng=0)
        kept.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    vectors = np.array(kept) / (8 * 6000)
    assert vectors[0] < 20 < 30 < vectors[1]
    assert result.history[-1].round > 3


def test_every_place_says_what_it_has(tmp_path):
    for place in (mf.Host(), mf.Torch("cpu"), mf.Cached(tmp_path)):
        assert place.free_memory() > 1 << 20
