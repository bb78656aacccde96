"""Relevance: which references matter, and whether that could be chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import ndtri

from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.joint import Path
from manifuse.diffusion.method import JointDiffusion
from manifuse.evidence.gain import Gain
from manifuse.grid import ABSENT, Grid, as_html, as_text
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.randomness import Stream, generator
from manifuse.kernels.sphere import unit
from manifuse.records import Saved, read, write
from manifuse.tables.containers import frame_of
from manifuse.tables.problem import Problem, Reference

#: Permutations that give a chance level, and the share of them that stays below it.
PERMUTATIONS, LEVEL = 499, 0.95

#: With more pairs than this the normal limit of the permutation distribution takes the place of permutations.
MANY_PAIRS = 1000


@dataclass(frozen=True)
class PairEvidence:
    """What the pairs say of one reference, before any diffusion of the main predictor.

    Attributes
    ----------
    alignment : float
        Of the scores that the diffusion begins with and the reference's at the pairs, without a bridge (eq. 8), in
        [-1, 1].
    fidelity : float
        Alignment of the reference's own scores at the pairs with what a bridge built without these pairs predicts
        (k folds), in [-1, 1]; 1 for the identity bridge.
    chance : float
        95 of 100 permutations of the pairs have a smaller absolute alignment; in [0, 1].
    """

    alignment: float
    fidelity: float
    chance: float

    @property
    def is_chance(self) -> bool:
        """Whether permuted pairs do as well, in alignment or in fidelity."""
        return abs(self.alignment) <= self.chance or self.fidelity <= self.chance


@dataclass(frozen=True)
class Relevance(Saved):
    """What a run found out about one reference.

    Attributes
    ----------
    name : str
    alignment : float
        Of the refined predictions with the reference at the pairs, in [-1, 1]. Optimistic: the predictions know its
        scores there.
    held_out_alignment : float
        Of the main predictor, as it came, with the reference at the pairs, in [-1, 1]; unbiased.
    chance_alignment : float
        For permuted pairs, ``|held_out_alignment|`` is below this 95 times of 100.
    fidelity : float
        How well its scores are predicted at pairs that are held out, in [-1, 1]; 1 if it knows all main rows.
    weight : float
        How much its standardised scores count, where the main predictor's count 1; 0 if it is not followed. If labels
        only tune, its weight in the diffusion (eq. 5).
    reached : float
        How much is known of its scores at the main rows, in [0, 1]. If labels only tune, the share of rows that its
        bridge reaches.
    pairs : int
        Rows that it has in common with the main table.
    differs : bool
        Whether it predicts something else than the main predictor and most references do, so that it is not followed.
    worth : Gain or None
        What is lost without it, with its standard error: with labels, of the score on labels that were held out;
        without, of the correlation with which left-out references are predicted. None if it was not measured.
    """

    name: str
    alignment: float
    held_out_alignment: float
    chance_alignment: float
    fidelity: float
    weight: float
    reached: float
    pairs: int
    differs: bool
    worth: Gain | None

    @property
    def speaks_in_reverse(self) -> bool:
        """Whether it is high where the main predictor is low, at the pairs and more than by chance."""
        return self.held_out_alignment < -self.chance_alignment


class RelevanceTable(tuple[Relevance, ...], Saved):
    """What a run found out about every reference, in the order given: a tuple that knows names and prints a table.

    ``table["theirs"]`` is the entry of a reference, and ``table.to_frame(pandas)`` a data frame with a row for each.
    """

    def __getitem__(self, key: Any) -> Any:
        """Return the entry at a position or of a name."""
        if not isinstance(key, str):
            return super().__getitem__(key)
        found = [entry for entry in self if entry.name == key]
        if not found:
            names = ", ".join(repr(entry.name) for entry in self) or "none"
            raise KeyError(f"there is no reference {key!r}; there are: {names}")
        return found[0]

    def to_record(self) -> Any:
        """Return a list of what a file holds of each entry."""
        return [write(entry) for entry in self]

    @classmethod
    def from_record(cls, record: Any) -> RelevanceTable:
        """Read what `to_record` gives; see `Saved.from_record`."""
        return cls(read(tuple[Relevance, ...], record, "relevance"))

    @property
    def weights(self) -> FloatArray:
        """Weight of every reference, shape (m,)."""
        return np.array([entry.weight for entry in self])

    @property
    def grid(self) -> Grid:
        """What is known, as a table of texts."""
        return Grid.of(
            {
                "reference": entry.name,
                "worth": ABSENT if entry.worth is None else entry.worth.text(signed=True),
                "weight": f"{entry.weight:.2f}",
                "agrees": f"{entry.held_out_alignment:.2f}",
                "chance": f"{entry.chance_alignment:.2f}",
                "imputed": f"{entry.fidelity:.2f}",
                "known": f"{entry.reached:.0%}",
                "pairs": f"{entry.pairs}",
            }
            for entry in self
        )

    def to_frame(self, library: Any = None) -> Any:
        """Return a data frame with a row for each reference.

        Parameters
        ----------
        library : module, optional
            As of `Refinement.to_frame`.

        Returns
        -------
        data frame
            With the columns of `Relevance`; ``worth`` is NaN if it was not measured, and ``worth_error`` is its
            standard error.
        """
        names = [field.name for field in fields(Relevance) if field.name != "worth"]
        columns: dict[str, list[Any]] = {name: [getattr(entry, name) for entry in self] for name in names}
        worths = [(np.nan, np.nan) if e.worth is None else (e.worth.value, e.worth.standard_error) for e in self]
        columns |= {"worth": [worth for worth, _ in worths], "worth_error": [error for _, error in worths]}
        return frame_of(columns, library)

    def said_of_worth(self) -> str:
        """Say what the column "worth" means and its unit; without a unit if no worth was measured."""
        said = "worth: what is lost without it"
        units = [entry.worth.unit.words for entry in self if entry.worth is not None]
        return f"{said}, {units[0]}" if units else said

    def __repr__(self) -> str:
        return f"{as_text(self.grid)}\n{self.said_of_worth()}" if self else "()"

    def _repr_html_(self) -> str:
        return as_html(self.grid) + (f"<p>{self.said_of_worth()}</p>" if self else "")


def fidelities(problem: Problem, bridges: Bridges, folds: Sequence[IndexArray]) -> FloatArray:
    """Held-out fidelity of every reference's bridge, shape (m,); 1 for the identity bridge."""
    pairs = {number: reference.main_rows for number, reference in problem.bridged.items()}
    found = np.ones(len(problem.references))
    for number, values in bridges.predict_held_out(problem.start, pairs, folds).items():
        found[number] = float(unit(values) @ unit(problem.references[number].paired))
    return found


def weigh_pairs(
    problem: Problem, bridges: Bridges, folds: Sequence[IndexArray], seed: int
) -> tuple[PairEvidence, ...]:
    """Measure what the pairs say of every reference."""
    evidence = []
    for reference, fidelity in zip(problem.references, fidelities(problem, bridges, folds).tolist(), strict=True):
        alignment, chance = align_pairs(problem.start, reference, seed)
        evidence.append(PairEvidence(alignment, fidelity, chance))
    return tuple(evidence)


def active_references(problem: Problem, evidence: Sequence[PairEvidence], method: JointDiffusion) -> FloatArray:
    """1 for a reference that takes part, shape (m,); 0 if it is idle, to be ignored, or no better than chance."""
    active = np.ones(len(evidence))
    for number, (reference, seen) in enumerate(zip(problem.references, evidence, strict=True)):
        is_chance = method.ignore_chance and seen.is_chance
        if reference.is_idle or reference.name in method.ignored or is_chance:
            active[number] = 0.0
    return active


def final_weights(path: Path) -> FloatArray:
    """Weights of the references at the end, shape (m,); zeros if no step was taken, as then none took part."""
    weights = np.array(path.history[-1].weights)
    return weights if len(path.coefficients) else np.zeros_like(weights)


def align_pairs(scores: FloatArray, reference: Reference, seed: int) -> tuple[float, float]:
    """Alignment of main scores (n,) with a reference at the pairs, and its chance level."""
    ours, theirs = unit(scores[reference.main_rows]), unit(reference.paired)
    return float(ours @ theirs), chance_level(ours, theirs, seed)


def chance_level(ours: FloatArray, theirs: FloatArray, seed: int) -> float:
    """Absolute alignment that 95 of 100 permutations of the pairs stay below, for vectors on the sphere (p,)."""
    if len(ours) > MANY_PAIRS:
        # The alignment of permuted pairs has mean 0 and variance 1 / (p - 1) exactly, and is normal in the limit.
        return float(ndtri((1.0 + LEVEL) / 2.0) / np.sqrt(len(ours) - 1))
    shuffled = generator(seed, Stream.PERMUTATIONS).permuted(np.tile(theirs, (PERMUTATIONS, 1)), axis=1)
    return float(np.quantile(np.abs(shuffled @ ours), LEVEL))
