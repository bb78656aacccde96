"""Relevance: which references matter, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.problem import Problem, Reference
from manifuse.diffusion.randomness import Stream, generator
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import unit

#: Permutations behind a chance level, and the share of them that it stands above.
PERMUTATIONS, LEVEL = 499, 0.95

#: Pairs above which the limit of the permutation distribution is as good as drawing from it.
MANY_PAIRS = 1000


@dataclass(frozen=True)
class PairEvidence:
    """What the pairs say of one reference, before any diffusion of the main predictor.

    Attributes
    ----------
    alignment : float
        Of the scores that the diffusion begins with and the reference's at the pairs themselves, no bridge between
        (eq. 8), in [-1, 1].
    fidelity : float
        Alignment of the reference's own scores at the pairs with what a bridge built without them
        brings there (k folds), in [-1, 1]; 1 for the identity bridge.
    chance : float
        What 95 of 100 permutations of the pairs stay under, in absolute alignment, in [0, 1].
    """

    alignment: float
    fidelity: float
    chance: float

    @property
    def is_chance(self) -> bool:
        """Whether permuted pairs do as well, in alignment or in crossing the bridge."""
        return abs(self.alignment) <= self.chance or self.fidelity <= self.chance


@dataclass(frozen=True)
class Relevance:
    """What the diffusion found out about one reference.

    Attributes
    ----------
    name : str
    alignment : float
        Of the refined predictions with the reference, carried over the last bridge (eq. 11), in [-1, 1].
        Optimistic: the bridge leans on the main predictor's own scores.
    held_out_alignment : float
        Of the main predictor, as it came, with the reference at the pairs, no bridge between; unbiased.
    chance_alignment : float
        The level that ``|held_out_alignment|`` and ``fidelity`` stay under for permuted pairs, 95 times
        of 100.
    fidelity : float
        How well the bridge predicts the reference at pairs it was not given, in [-1, 1].
    weight : float
        The reference's weight (eq. 5) at the end, in [0, 1]; 0 if it was ignored.
    reached : float
        Share of main rows that the bridge reaches, in [0, 1].
    pairs : int
        Rows common with the main table.
    """

    name: str
    alignment: float
    held_out_alignment: float
    chance_alignment: float
    fidelity: float
    weight: float
    reached: float
    pairs: int


def assign_folds(problem: Problem, count: int, seed: int) -> list[IndexArray]:
    """Put every pair of every reference into one of ``count`` folds of nearly equal size."""
    return [
        generator(seed, Stream.FOLDS).permutation(np.arange(len(reference.main_rows)) % count)
        for reference in problem.references
    ]


def fidelities(bridges: Bridges, folds: Sequence[IndexArray]) -> FloatArray:
    """Held-out fidelity of every reference's bridge, shape (m,); 1 for the identity bridge."""
    held_out = bridges.predict_held_out(bridges.problem.start, folds)
    return np.array(
        [
            _align(held_out[place], reference.paired) if place in held_out else 1.0
            for place, reference in enumerate(bridges.problem.references)
        ]
    )


def weigh_pairs(bridges: Bridges, folds: Sequence[IndexArray], seed: int) -> list[PairEvidence]:
    """Ask the pairs about every reference."""
    problem = bridges.problem
    evidence = []
    for reference, fidelity in zip(problem.references, fidelities(bridges, folds).tolist(), strict=True):
        alignment, chance = align_pairs(problem.start, reference, seed)
        evidence.append(PairEvidence(alignment, fidelity, chance))
    return evidence


def align_pairs(scores: FloatArray, reference: Reference, seed: int) -> tuple[float, float]:
    """Alignment of main scores (n,) with a reference at the pairs, and the level that permuted pairs stay under."""
    ours, theirs = unit(scores[reference.main_rows]), unit(reference.paired)
    return float(ours @ theirs), chance_level(ours, theirs, seed)


def chance_level(ours: FloatArray, theirs: FloatArray, seed: int) -> float:
    """Absolute alignment that 95 of 100 permutations of the pairs stay under, for vectors on the sphere (p,)."""
    if len(ours) > MANY_PAIRS:
        # The alignment of permuted pairs has mean 0 and variance 1 / (p - 1) exactly, and is normal in the limit.
        return float(ndtri((1.0 + LEVEL) / 2.0) / np.sqrt(len(ours) - 1))
    shuffled = generator(seed, Stream.PERMUTATIONS).permuted(np.tile(theirs, (PERMUTATIONS, 1)), axis=1)
    return float(np.quantile(np.abs(shuffled @ ours), LEVEL))


def _align(a: FloatArray, b: FloatArray) -> float:
    return float(unit(a) @ unit(b))
