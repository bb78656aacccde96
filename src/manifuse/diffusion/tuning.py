"""Tuning: what the pairs say of each reference, and the choice of N, K, sigma_f² and delta_B by it (section 2.2.4)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from manifuse.diffusion.algorithm1 import Setting, choices
from manifuse.diffusion.bridges import Bridges, NeighbourTables
from manifuse.diffusion.setup import Setup
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray, without_rounding
from manifuse.kernels.randomness import Stream, generator
from manifuse.kernels.sphere import inner, on_sphere
from manifuse.tables.problem import Problem

#: Whether features are standardised: of the main table, then of every reference.
Flags = tuple[bool, ...]

#: The alignment of the main predictor with every reference at the pairs, unbridged (eq. 8), and its chance level.
Aligned = Sequence[tuple[float, float]]

#: Permutations that give a chance level, and the share of them that stays below it.
PERMUTATIONS, LEVEL = 499, 0.95

#: With more pairs than this the normal limit of the permutation distribution takes the place of permutations.
MANY_PAIRS = 1000


@dataclass(frozen=True)
class TriedSetting:
    """One setting and the criterion that judged it; larger is better."""

    setting: Setting
    criterion: float


@dataclass(frozen=True, eq=False)
class TunedBridges:
    """Bridges under the best setting, and how they were chosen.

    Attributes
    ----------
    bridges : Bridges
    tables : NeighbourTables
        The neighbour searches that the bridges are made of.
    aligned : m pairs of float
        See `alignments_and_chance`.
    fidelity : (m,) array
        Of every reference's bridge, as `fidelities` measures it.
    tried : tuple of TriedSetting
        Every setting with its criterion; empty if there was nothing to choose.
    """

    bridges: Bridges
    tables: NeighbourTables
    aligned: Aligned
    fidelity: FloatArray
    tried: tuple[TriedSetting, ...] = ()


def scalings_to_try(setup: Setup) -> tuple[Flags, ...]:
    """Ways to scale the features: a flag for the main table and for every reference, standardised or not.

    All ways that the method has, the same for all tables; the first if no pairs can choose. Searching all rows of a
    large table is most of the work of a run; for large tables a sample chooses one way.
    """
    problem = setup.problem
    uniform = tuple((flag,) * (1 + len(problem.references)) for flag in choices(setup.algorithm.standardised))
    if not problem.bridged:
        return uniform[:1]
    if len(uniform) == 1 or not problem.is_large:
        return uniform
    sample = replace(setup, problem=problem.sample(generator(setup.seed, Stream.SAMPLE)))
    chosen = choose_scaling(sample, uniform, alignments_and_chance(sample.problem, sample.seed))
    return (tuple(flag is True for flag in chosen.tables.standardised()),)


def choose_bridges(setup: Setup) -> TunedBridges:
    """Build the bridges of the best setting, the first of equals."""
    aligned = alignments_and_chance(setup.problem, setup.seed)
    first = choose_scaling(setup, scalings_to_try(setup), aligned)
    settings = setup.algorithm.settings()
    if len(settings) == 1 or not first.bridges.anchors:
        return first
    candidates = Bridges.build(setup, settings, first.tables)
    folds, judging = setup.folds(), _judging(setup, aligned)
    found = [fidelities(setup.problem, bridges, folds) for bridges in candidates]
    criteria = [_judge(setup, bridges, fidelity[judging]) for bridges, fidelity in zip(candidates, found, strict=True)]
    tried = tuple(TriedSetting(setting, criterion) for setting, criterion in zip(settings, criteria, strict=True))
    best = int(np.argmax(criteria))
    return TunedBridges(candidates[best], first.tables, aligned, found[best], tried)


def choose_scaling(setup: Setup, scalings: Sequence[Flags], aligned: Aligned) -> TunedBridges:
    """Decide for every table whether its features are standardised, by held-out fidelity under the first setting.

    Each reference takes the better of its own two graphs. The main table takes the graph under which the bridges of
    such references have the largest total fidelity. References that cannot take part have no say in it.
    """
    problem, folds = setup.problem, setup.folds()
    searched, built = [], []
    for flags in scalings:
        tables = NeighbourTables.search(setup, flags, generator(setup.seed, Stream.RECALL))
        searched.append(tables)
        built += Bridges.build(setup, setup.algorithm.settings()[:1], tables)
    if len(built) == 1:
        return TunedBridges(built[0], searched[0], aligned, fidelities(problem, built[0], folds))
    # Without graphs of references, their sides are the same under every scaling.
    of_references = built if any(table is not None for table in searched[0].references) else built[:1]
    reached = np.array(
        [[fidelities(problem, replace(main, anchors=side.anchors), folds) for side in of_references] for main in built]
    )
    best = int(np.argmax(reached.max(axis=1)[:, _judging(setup, aligned)].sum(axis=1)))
    sides = reached[best].argmax(axis=0)
    anchors = {number: built[sides[number]].anchors[number] for number in problem.bridged}
    references = tuple(searched[side].references[number] for number, side in enumerate(sides))
    tables = replace(searched[best], references=references)
    fidelity = np.array([reached[best][side, number] for number, side in enumerate(sides)])
    return TunedBridges(replace(built[best], anchors=anchors), tables, aligned, fidelity)


def _judging(setup: Setup, aligned: Aligned) -> BoolArray:
    """Which references have a say in how bridges are built, (m,): those that may take part, or all if none may.

    Those that are ignored by name have one, so that one preparation serves whatever is ignored.
    """
    ignore_chance = setup.algorithm.ignore_chance
    may = [
        not (reference.is_idle or (ignore_chance and abs(alignment) <= chance))
        for reference, (alignment, chance) in zip(setup.problem.references, aligned, strict=True)
    ]
    return np.array(may) if any(may) else np.full(len(may), True)


def _judge(setup: Setup, bridges: Bridges, fidelity: FloatArray) -> float:
    """How good a setting is: the mean of held-out fidelities, or the largest alignment (section 2.2.4)."""
    if setup.algorithm.selection == "held-out":
        return float(fidelity.mean())
    # Coupled references align alike under every setting; the largest of their alignments would hide the others.
    start = setup.problem.start
    arrived = bridges.arrive(start).references.values
    return max(inner(on_sphere(start), on_sphere(arrived[..., number])) ** 2 for number in bridges.anchors)


def fidelities(problem: Problem, bridges: Bridges, folds: Sequence[IndexArray]) -> FloatArray:
    """Held-out fidelity of every reference's bridge, shape (m,); 1 for the identity bridge."""
    found = np.ones(len(problem.references))
    for number, values in bridges.predict_held_out(problem.start, folds).items():
        found[number] = inner(on_sphere(values), on_sphere(problem.references[number].paired))
    return without_rounding(found)


def alignments_and_chance(problem: Problem, seed: int) -> Aligned:
    """Alignment of the main predictor with every reference at the pairs, and its chance level."""
    found = []
    for reference in problem.references:
        ours, theirs = on_sphere(problem.start[reference.main_rows]), on_sphere(reference.paired)
        found.append((inner(ours, theirs), chance_level(ours, theirs, seed)))
    # Of few pairs, a permutation may have the same alignment.
    return [(float(aligned), float(chance)) for aligned, chance in without_rounding(np.array(found).reshape(-1, 2))]


def chance_level(ours: FloatArray, theirs: FloatArray, seed: int) -> float:
    """Absolute alignment that 95 of 100 permutations of the pairs stay below, for points of the sphere (p, ...)."""
    if len(ours) > MANY_PAIRS:
        # The alignment of permuted pairs has exactly this variance, its mean is 0, and it is normal in the limit.
        grams = [each.T @ each for each in (side.reshape(len(side), -1) for side in (ours, theirs))]
        return float(ndtri((1.0 + LEVEL) / 2.0) * np.sqrt(np.sum(grams[0] * grams[1]) / (len(ours) - 1)))
    orders = generator(seed, Stream.PERMUTATIONS).permuted(np.tile(np.arange(len(ours)), (PERMUTATIONS, 1)), axis=1)
    shuffled = theirs[orders].reshape(PERMUTATIONS, -1)
    return float(np.quantile(np.abs(shuffled @ ours.ravel()), LEVEL))
