"""The memory that a run is said to take, against what it takes, and what happens where there is less."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from tests.problems import draw

import manifuse as mf
from manifuse.diffusion.footprint import predicted_bytes
from manifuse.diffusion.problem import Problem

METHOD = mf.JointDiffusion(standardised=True)


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("features", [True, False])
def test_a_run_takes_about_what_is_predicted(labelled, features):
    case = draw(0, rows=6000, pairs=200, features=features)
    labels = case.labels() if labelled else None
    needed = predicted_bytes(Problem.of(case.main, case.references), METHOD, labelled=labelled)
    mf.refine(case.main, case.references, labels, METHOD, rng=0)  # modules are loaded
    tracemalloc.start()
    mf.refine(case.main, case.references, labels, METHOD, rng=0)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Few rounds take much less than many; what matters is that a run that is let in fits.
    assert 0.15 * needed < taken < 1.2 * needed


def test_it_grows_in_proportion_with_the_rows():
    few, many = (draw(0, rows=rows) for rows in (1000, 3000))
    small, large = (predicted_bytes(Problem.of(c.main, c.references), METHOD, labelled=True) for c in (few, many))
    assert large == pytest.approx(3 * small, rel=1e-6)


def test_more_neighbours_take_more():
    problem = Problem.of(draw(0).main, draw(0).references)
    sizes = [predicted_bytes(problem, replace(METHOD, neighbours=n), labelled=False) for n in (5, 10, (5, 40))]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]


def test_a_run_that_does_not_fit_is_refused_with_the_number(monkeypatch):
    case = draw(0)
    needed = predicted_bytes(Problem.of(case.main, case.references), METHOD, labelled=False)
    monkeypatch.setattr(mf.Host, "free_memory", lambda self: needed - 1)
    with pytest.raises(mf.InputError, match=f"needs about {needed / 2**30:.3g} GiB of memory, but"):
        mf.refine(case.main, case.references, method=METHOD, rng=0)
    monkeypatch.setattr(mf.Host, "free_memory", lambda self: needed)
    assert np.isfinite(mf.refine(case.main, case.references, method=METHOD, rng=0).predictions).all()


def test_every_place_says_what_it_has(tmp_path):
    for place in (mf.Host(), mf.Torch("cpu"), mf.Cached(tmp_path)):
        assert place.free_memory() > 1 << 20
