"""Choosing N, K, sigma_f² and delta_B once, before the diffusion starts (section 2.2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from manifuse.backends.backend import Backend
from manifuse.backends.neighbours import Neighbours
from manifuse.diffusion.bridges import Bridges, NeighbourTables
from manifuse.diffusion.method import JointDiffusion, Setting, choices
from manifuse.diffusion.problem import Problem
from manifuse.diffusion.randomness import Stream, generator
from manifuse.evidence.relevance import assign_folds, fidelities
from manifuse.kernels.arrays import IndexArray
from manifuse.kernels.sphere import alignment


@dataclass(frozen=True)
class Trial:
    """One setting and what it was judged by."""

    setting: Setting
    criterion: float


#: Rows of a table from which a sample of it says whether features are standardised, and rows of the sample.
LARGE, SAMPLED = 50_000, 20_000


def scalings_to_try(
    problem: Problem, method: JointDiffusion, seed: int, backend: Backend
) -> tuple[tuple[bool, ...], ...]:
    """Ways to scale the features, each a flag for the main table and for every reference: standardised or not.

    All that the method has, the same for all tables; of large tables the one way that samples of them choose, for a
    search of all their rows is most of the work.
    """
    uniform = tuple((flag,) * (1 + len(problem.references)) for flag in choices(method.standardised))
    searched = problem.with_graphs()
    if all(table.neighbours is not None for table in searched):
        return uniform[:1]
    large = any(len(table) >= LARGE for table in searched)
    if len(uniform) == 1 or len(searched) == 1 or not large or any(table.neighbours is not None for table in searched):
        return uniform
    sample = problem.sample(SAMPLED, generator(seed, Stream.SAMPLE))
    chosen, _ = choose_scaling(sample, method, assign_folds(sample, method.folds, seed), seed, backend, uniform)
    return (tuple(flag is True for flag in chosen.standardised),)


def choose_bridges(
    problem: Problem,
    method: JointDiffusion,
    seed: int,
    backend: Backend,
    scalings: Sequence[tuple[bool, ...]],
    mains: Sequence[Neighbours] = (),
) -> tuple[Bridges, list[IndexArray], tuple[Trial, ...]]:
    """Build the bridges of the best setting, the first of equals.

    Parameters
    ----------
    problem : Problem
    method : JointDiffusion
    seed : int
    backend : Backend
    scalings : sequence of tuple of bool
        As `scalings_to_try` has them.
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
    first, tables = choose_scaling(problem, method, folds, seed, backend, scalings, mains)
    settings = method.settings()
    if len(settings) == 1 or first.graph is None:
        return first, folds, ()
    candidates = Bridges.build(problem, settings, tables, backend)
    criteria = [_judge(bridges, folds, method) for bridges in candidates]
    trials = tuple(Trial(setting, criterion) for setting, criterion in zip(settings, criteria, strict=True))
    return candidates[int(np.argmax(criteria))], folds, trials


def choose_scaling(
    problem: Problem,
    method: JointDiffusion,
    folds: Sequence[IndexArray],
    seed: int,
    backend: Backend,
    scalings: Sequence[tuple[bool, ...]],
    mains: Sequence[Neighbours] = (),
) -> tuple[Bridges, NeighbourTables]:
    """Decide for every table whether its features are standardised, by held-out fidelity.

    Each reference takes the better of its own two graphs; the main table the one whose references, so
    served, add up to more. Judged under the first setting, whose bridges are returned with their tables.
    """
    setting = method.settings()[0]
    searched, built = [], []
    for flags, main in zip_longest(scalings, mains):
        rng = generator(seed, Stream.RECALL)
        tables = NeighbourTables.search(problem, method, backend, main=main, standardised=flags, rng=rng)
        searched.append(tables)
        built += Bridges.build(problem, [setting], tables, backend)
    if len(built) == 1 or built[0].graph is None:
        return built[0], searched[0]
    reached = np.array(
        [[fidelities(replace(main, anchors=other.anchors), folds) for other in built] for main in built]
    )
    best = int(np.argmax(reached.max(axis=1).sum(axis=1)))
    sides = reached[best].argmax(axis=0)
    tables = replace(
        searched[best], references=tuple(searched[side].references[number] for number, side in enumerate(sides))
    )
    anchors = [dict(bridges.anchors) for bridges in built]
    chosen = replace(
        built[best],
        anchors=tuple((number, anchors[sides[number]][number]) for number, _ in built[best].anchors),
        standardised=tables.standardised(),
        recall=tables.recall(),
    )
    return chosen, tables


def _judge(bridges: Bridges, folds: Sequence[IndexArray], method: JointDiffusion) -> float:
    if method.selection == "held-out":
        return float(fidelities(bridges, folds).mean())
    # Coupled references align alike under every setting; the largest among them would hide the others.
    places = [place for place, _ in bridges.anchors]
    start = bridges.problem.start
    arrived = bridges.transport(start).values[:, places]
    return float(np.max(alignment(np.broadcast_to(start[:, None], arrived.shape), arrived) ** 2))
