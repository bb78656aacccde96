"""What there is to say of a refinement in numbers: who aligns with whom, whose rank moved, how the steps went."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from manifuse.diffusion.problem import REPEATED
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import alignment, unit
from manifuse.refinement import Refinement

#: Support below which a row is said to have hardly any evidence behind it.
LITTLE = 0.05


class Standing(StrEnum):
    """What part a reference had."""

    TOOK_PART = "took part"
    AT_CHANCE = "ignored: agrees with the main predictor no better than permuted pairs do"
    UNFAITHFUL = "ignored: at held-out pairs its bridge predicts it no better than permuted pairs do"
    LEFT_OUT = "left out, as the method says"
    REPEATS = "ignored: repeats the main predictor"
    UNUSED = "not used: no step with the references raised the score on the labels"


@dataclass(frozen=True, eq=False)
class Metric:
    """Alignment of everything with everything on the main rows (the task metric).

    Attributes
    ----------
    names : tuple of str
        The main predictor as it came; refined, if that was taken; the references.
    values : (k, k) array
        In [-1, 1]; 0 for what is constant.
    """

    names: tuple[str, ...]
    values: FloatArray


@dataclass(frozen=True)
class Move:
    """What became of one row; ranks count from 1, the highest score."""

    id: str
    before: float
    after: float
    rank_before: float
    rank_after: float
    support: float

    @property
    def rise(self) -> float:
        """Places that the row rose by; negative if it fell."""
        return self.rank_before - self.rank_after


@dataclass(frozen=True, eq=False)
class Shift:
    """How the rows moved.

    Attributes
    ----------
    keys : (n,) array of str
    before, after : (n,) array
        Scores.
    support : (n,) array
    """

    keys: NDArray[np.str_]
    before: FloatArray
    after: FloatArray
    support: FloatArray

    @classmethod
    def of(cls, result: Refinement) -> Shift:
        """Compare the scores before and after."""
        return cls(result.main.keys, result.main.scores, result._refined, result.support)

    @cached_property
    def ranks(self) -> tuple[FloatArray, FloatArray]:
        """Ranks before and after, (n,) each, from 1 for the highest score; equal scores share theirs."""
        return rankdata(-self.before), rankdata(-self.after)

    @cached_property
    def rises(self) -> FloatArray:
        """Places that every row rose by, (n,)."""
        return np.asarray(self.ranks[0] - self.ranks[1])

    @property
    def correlation(self) -> float:
        """Rank correlation (Spearman) of before and after."""
        return float(alignment(*(ranks[:, None] for ranks in self.ranks))[0])

    @property
    def median_places(self) -> float:
        """Places that half of the rows moved by at most, up or down."""
        return float(np.median(np.abs(self.rises)))

    @property
    def top_kept(self) -> float:
        """Share of the highest tenth before that belongs to the highest tenth after, in [0, 1]."""
        count = -(-len(self.before) // 10)
        first, then = (np.argsort(-scores, kind="stable")[:count] for scores in (self.before, self.after))
        return float(np.isin(first, then).mean())

    @property
    def little_support(self) -> int:
        """Rows that have hardly any evidence behind them."""
        return int(np.sum(self.support < LITTLE))

    def risen(self, count: int) -> list[Move]:
        """The rows that rose most, those first; none that did not rise."""
        return [self._move(row) for row in np.argsort(-self.rises, kind="stable")[:count] if self.rises[row] > 0]

    def fallen(self, count: int) -> list[Move]:
        """The rows that fell most, those first; none that did not fall."""
        return [self._move(row) for row in np.argsort(self.rises, kind="stable")[:count] if self.rises[row] < 0]

    def sample(self, count: int) -> IndexArray:
        """``count`` rows, or all if there are no more: evenly spaced in the order of the scores before."""
        places = np.linspace(0, len(self.before) - 1, min(count, len(self.before))).round().astype(np.intp)
        return np.argsort(self.before, kind="stable")[places]

    def _move(self, row: np.intp) -> Move:
        return Move(
            id=str(self.keys[row]),
            before=float(self.before[row]),
            after=float(self.after[row]),
            rank_before=float(self.ranks[0][row]),
            rank_after=float(self.ranks[1][row]),
            support=float(self.support[row]),
        )


@dataclass(frozen=True, eq=False)
class Course:
    """How the steps went, one entry for every state of the history.

    Attributes
    ----------
    taken : (s,) array of int
        Steps taken before; a round begins where the one before it ended.
    rounds : (s,) array of int
        From 1.
    scores : (s,) array
        On the labels; NaN without.
    alignments, weights : (s, m) array
        Of every reference.
    """

    taken: IndexArray
    rounds: IndexArray
    scores: FloatArray
    alignments: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, result: Refinement) -> Course:
        """Put the history into columns."""
        history = result.history
        return cls(
            taken=np.cumsum([step.step > 0 for step in history]),
            rounds=np.array([step.round for step in history]),
            scores=np.array([step.score for step in history]),
            alignments=np.array([step.alignments for step in history]),
            weights=np.array([step.weights for step in history]),
        )

    @property
    def moved(self) -> bool:
        """Whether any step was taken."""
        return bool(self.taken[-1] > 0)

    @property
    def starts(self) -> IndexArray:
        """Steps taken before each round but the first."""
        first = np.flatnonzero(np.diff(self.rounds)) + 1
        return np.asarray(self.taken[first])


def metric_of(result: Refinement) -> Metric:
    """Align the main predictor, its refinement and the references, as the last bridges carried them, pairwise."""
    fit = result._fitted()
    # The bridges that the last state in the history was measured by: those that a last step was taken with.
    last = fit.rounds[-1] if result.history[-1].step > 0 else fit.end
    names, own = [result.main.name], [result.main.scores]
    if result.accepted:
        names.append("refined")
        own.append(result._refined)
    columns = unit(np.column_stack([*own, last.transport.values]))
    return Metric((*names, *(entry.name for entry in result.relevance)), columns.T @ columns)


def standings(result: Refinement) -> tuple[Standing, ...]:
    """Tell what part every reference had."""
    return tuple(_standing(result, place) for place in range(len(result.relevance)))


def is_coupled(result: Refinement, place: int | None = None) -> bool:
    """Whether the reference at this place, or every one, is known on all main rows and needs no bridge."""
    return result.choice.standardised[0 if place is None else place + 1] is None


def by_weight(result: Refinement) -> list[int]:
    """Places of the references, those of the largest weight first."""
    return [int(place) for place in np.argsort(-result.weights, kind="stable")]


def _standing(result: Refinement, place: int) -> Standing:
    entry = result.relevance[place]
    # A reference that takes part has some weight from the start; only those kept out have none.
    if result.history[0].weights[place] > 0:
        return Standing.TOOK_PART if result.weights.any() else Standing.UNUSED
    if entry.name in result.method.ignored:
        return Standing.LEFT_OUT
    if is_coupled(result, place) and abs(entry.held_out_alignment) > 1.0 - REPEATED:
        return Standing.REPEATS
    if abs(entry.held_out_alignment) > entry.chance_alignment >= entry.fidelity:
        return Standing.UNFAITHFUL
    return Standing.AT_CHANCE
