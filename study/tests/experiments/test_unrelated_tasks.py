"""Bridges between the unrelated tasks of the toy data."""

import numpy as np

import manifuse as mf
from manifuse.diffusion.setup import Setup
from manifuse.diffusion.tuning import choose_bridges
from manifuse.tables.problem import Problem
from manifuse_study.datasets.synthetic import toy_tasks


def test_alignment_over_the_bridge_is_optimistic_and_the_pairs_are_not():
    # Tasks 9 to 12 of the toy data are unrelated to each other. A strong prediction weight makes
    # the bridge copy the main predictor, which looks like alignment.
    over, held, fidelity = [], [], []
    for seed in range(4):
        tasks = toy_tasks(np.random.default_rng(seed)).decoupled[8:]
        problem = Problem.of(tasks[0], tasks[1:])
        setup = Setup(problem, mf.Algorithm1(), 0, mf.Host())
        tuned = choose_bridges(setup)
        arrived = tuned.bridges.arrive(problem.start).references.values
        over += [abs(np.corrcoef(problem.start, column)[0, 1]) for column in arrived.T]
        held += [aligned for aligned, _ in tuned.aligned]
        fidelity += tuned.fidelity.tolist()
    assert np.mean(over) > 0.2
    assert abs(np.mean(held)) < 0.12
    assert np.mean(fidelity) < np.mean(over)
