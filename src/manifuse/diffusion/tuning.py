"""Choosing N, K, sigma_f² and delta_B once, before the diffusion starts (section 2.2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from manifuse.diffusion.bridges import Bridges, NeighbourTables
from manifuse.diffusion.graph import Neighbours
from manifuse.diffusion.method import JointDiffusion, Setting, choices
from manifuse.diffusion.problem import Problem
from manifuse.diffusion.randomness import Stream, generator
from manifuse.diffusion.relevance import assign_folds, fidelities
from manifuse.kernels.arrays import IndexArray
from manifuse.kernels.sphere import alignment


@dataclass(frozen=True)
class Trial:
    """One setting and what it was judged by."""

    setting: Setting
    criterion: float


def choose_bridges(
    problem: Problem, method: JointDiffusion, seed: int, mains: Sequence[Neighbours] = ()
) -> tuple[Bridges, list[IndexArray], tuple[Trial, ...]]:
    """Build the bridges of the best setting, the first of equals.

    Parameters
    ----------
    problem : Problem
    method : JointDiffusion
    seed : int
    mains : sequence of Neighbours
        Searches of the main table that were made before, one for each way to scale it.

    Returns
    -------
    bridges : Bridges
    folds : list of (p,) arrays of int
        Folds of the pairs, for held-out questions still to come.
    trials : tuple of Trial
        Every setting with its criterion; empty if there was nothing to choose.
    """
    folds = assign_folds(problem, method.folds, seed)
    tables = choose_scaling(problem, method, folds, seed, mains)
    settings = method.settings()
    if len(settings) == 1 or tables.main is None:
        return Bridges.build(problem, settings[0], tables), folds, ()
    candidates = [Bridges.build(problem, setting, tables) for setting in settings]
    criteria = [_judge(bridges, folds, method) for bridges in candidates]
    trials = tuple(Trial(setting, criterion) for setting, criterion in zip(settings, criteria, strict=True))
    return candidates[int(np.argmax(criteria))], folds, trials


def choose_scaling(
    problem: Problem,
    method: JointDiffusion,
    folds: Sequence[IndexArray],
    seed: int,
    mains: Sequence[Neighbours] = (),
) -> NeighbourTables:
    """Decide for every table whether its features are standardised, by held-out fidelity.

    Each reference takes the better of its own two graphs; the main table the one whose references, so
    served, add up to more. Judged under the first setting.
    """
    searched = [
        NeighbourTables.search(problem, method, main=main, standardised=flag, rng=generator(seed, Stream.RECALL))
        for flag, main in zip_longest(choices(method.standardised), mains)
    ]
    if len(searched) == 1 or searched[0].main is None:
        return searched[0]
    setting = method.settings()[0]
    reached = np.array(
        [
            [
                fidelities(Bridges.build(problem, setting, NeighbourTables(main.main, other.references)), folds)
                for other in searched
            ]
            for main in searched
        ]
    )
    best = int(np.argmax(reached.max(axis=1).sum(axis=1)))
    sides = reached[best].argmax(axis=0)
    references = tuple(searched[side].references[place] for place, side in enumerate(sides))
    return NeighbourTables(searched[best].main, references)


def _judge(bridges: Bridges, folds: Sequence[IndexArray], method: JointDiffusion) -> float:
    if method.selection == "held-out":
        return float(fidelities(bridges, folds).mean())
    # Coupled references align alike under every setting; the largest among them would hide the others.
    places = [place for place, _ in bridges.anchors]
    start = bridges.problem.start
    arrived = bridges.transport(start).values[:, places]
    return float(np.max(alignment(np.broadcast_to(start[:, None], arrived.shape), arrived) ** 2))
