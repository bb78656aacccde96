"""Choosing N, K, sigma_f² and delta_B once, before the diffusion starts (section 2.2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manifuse.diffusion.bridges import Bridges, NeighbourTables
from manifuse.diffusion.method import JointDiffusion, Setting
from manifuse.diffusion.problem import Problem
from manifuse.diffusion.relevance import assign_folds, mean_fidelity
from manifuse.kernels.arrays import IndexArray
from manifuse.kernels.sphere import alignment


@dataclass(frozen=True)
class Trial:
    """One setting and what it was judged by."""

    setting: Setting
    criterion: float


def choose_bridges(
    problem: Problem, method: JointDiffusion, rng: np.random.Generator
) -> tuple[Bridges, list[IndexArray], tuple[Trial, ...]]:
    """Build the bridges of the best setting, the first of equals.

    Returns
    -------
    bridges : Bridges
    folds : list of (p,) arrays of int
        Folds of the pairs, for held-out questions still to come.
    trials : tuple of Trial
        Every setting with its criterion; empty if there was nothing to choose.
    """
    tables = NeighbourTables.search(problem, method, rng)
    settings = method.settings()
    if len(settings) == 1 or tables.main is None:
        bridges = Bridges.build(problem, settings[0], tables)
        return bridges, assign_folds(bridges, method.folds, rng), ()
    candidates = [Bridges.build(problem, setting, tables) for setting in settings]
    folds = assign_folds(candidates[0], method.folds, rng)
    criteria = [_judge(bridges, folds, method) for bridges in candidates]
    trials = tuple(Trial(setting, criterion) for setting, criterion in zip(settings, criteria, strict=True))
    return candidates[int(np.argmax(criteria))], folds, trials


def _judge(bridges: Bridges, folds: Sequence[IndexArray], method: JointDiffusion) -> float:
    if method.selection == "held-out":
        return mean_fidelity(bridges, folds)
    start = bridges.problem.start
    arrived = bridges.transport(start).values
    return float(np.max(alignment(np.broadcast_to(start[:, None], arrived.shape), arrived) ** 2))
