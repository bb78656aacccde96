"""Pair evidence: what the pairs say of each reference, and whether that could be chance."""

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from manifuse.diffusion.bridges import Bridges
from manifuse.kernels.arrays import FloatArray, IndexArray, without_rounding
from manifuse.kernels.randomness import Stream, generator
from manifuse.kernels.sphere import inner, on_sphere
from manifuse.tables.problem import Problem

#: The alignment of the main predictor with every reference at the pairs, unbridged (eq. 8), and its chance level.
Aligned = Sequence[tuple[float, float]]

#: Permutations that give a chance level, and the share of them that stays below it.
PERMUTATIONS, LEVEL = 499, 0.95

#: With more pairs than this the normal limit of the permutation distribution takes the place of permutations.
MANY_PAIRS = 1000


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
