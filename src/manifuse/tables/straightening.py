"""Straightening: scores that are far from a normal shape count by their order."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.special import ndtri

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.level import Level

if TYPE_CHECKING:
    from manifuse.tables.observations import Observations

#: Scores are straightened if they correlate less with their normal scores, and their tails (the mean fourth power of
#: standardised scores; 3 of a normal distribution, 6 of Laplace's) are heavier than this.
STRAIGHT, TAILS = 0.85, 6.0

#: Knots, at most; scores up to this size; and the least distance of two knots. Others leave the range of numbers.
KNOTS, LARGEST, LEAST_DISTANCE = 1_000, 1e150, 1e-290


@dataclass(frozen=True, eq=False)
class Straightening:
    """A rising line from scores to normal scores. It is straight between its knots, and beyond the last ones.

    Attributes
    ----------
    knots : (k,) array
        Scores in rising order.
    levels : (k,) array
        Their normal scores: the quantiles of the normal distribution at their ranks.
    """

    knots: FloatArray
    levels: FloatArray

    @classmethod
    def of(cls, scores: FloatArray) -> Self | None:
        """Measure scores (n,); None if they have a shape that is near the normal one, or fewer than three values."""
        knots, counts = np.unique(scores, return_counts=True)
        if len(knots) < 3 or np.abs(knots[[0, -1]]).max() > LARGEST or np.diff(knots).min() < LEAST_DISTANCE:
            return None
        level = Level.of(scores)
        # Equal scores have the mean of their ranks.
        levels = ndtri((np.cumsum(counts) - counts / 2.0) / len(scores))
        rows = np.repeat(np.stack([level.apply(knots), levels]), counts, axis=1)
        # Scores that are equal up to their last digits have no shape.
        if np.isinf(level.deviation) or np.corrcoef(rows)[0, 1] >= STRAIGHT or np.mean(rows[0] ** 4) <= TAILS:
            return None
        kept = np.unique(np.searchsorted(levels, np.linspace(levels[0], levels[-1], KNOTS)))
        return cls(knots[kept], levels[kept])

    def apply(self, scores: FloatArray) -> FloatArray:
        """Bring scores to normal scores."""
        return np.asarray(make_interp_spline(self.knots, self.levels, k=1)(scores))

    def undo(self, levels: FloatArray) -> FloatArray:
        """Bring normal scores back."""
        return np.asarray(make_interp_spline(self.levels, self.knots, k=1)(levels))


def straightened(table: Observations, rows: IndexArray | None = None) -> Observations:
    """Return a table whose scores, if they are far from a normal shape in some rows or in all, are straightened."""
    if table.scale != "score" or table.classes is not None:
        return table
    return straightened_by(table, Straightening.of(table.came if rows is None else table.came[rows]))


def straightened_by(table: Observations, straightening: Straightening | None) -> Observations:
    """Return a table whose scores are straightened as others were, such as those of the fitted rows."""
    if straightening is None:
        return table
    made = copy(table)
    made.straightening, made.scores = straightening, straightening.apply(table.came)
    return made
