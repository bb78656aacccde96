"""Transport: reference scores as they arrive on rows of the main table, over a bridge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manifuse.kernels.arrays import BoolArray, FloatArray
from manifuse.kernels.sphere import is_constant

#: A row is reached if its row sum is at least this share of the largest; smaller ones are rounding.
REACHED = 1e-6


@dataclass(frozen=True, eq=False)
class Transport:
    """Reference scores as they arrive on the main rows, one column per reference.

    Attributes
    ----------
    values : (n, m) array
        ``B g / B 1``: convex combinations of the reference's scores. A row that the bridge does not reach has the
        mean of the rows that it reaches, which is 0 on the manifold.
    row_sums : (n, m) array
        ``B 1``: how much pair evidence arrives.
    reached : (n, m) array of bool
    """

    values: FloatArray
    row_sums: FloatArray
    reached: BoolArray

    @classmethod
    def of(cls, carried: FloatArray, row_sums: FloatArray) -> Transport:
        """Divide carried scores ``B g`` (eq. 12) by row sums ``B 1`` above rounding; overwrites ``carried``."""
        reached = _is_reached(row_sums, row_sums.max(axis=0))
        np.copyto(carried, 0.0, where=~reached)
        np.divide(carried, row_sums, out=carried, where=reached)
        means = carried.sum(axis=0) / np.maximum(reached.sum(axis=0), 1)
        np.copyto(carried, means, where=~reached)
        return cls(carried, row_sums, reached)

    def at_later_rows(self, carried: FloatArray, row_sums: FloatArray) -> Transport:
        """Divide what arrives at later rows (q, m) in the same way, by the levels of the fitted rows."""
        reached = _is_reached(row_sums, self.row_sums.max(axis=0))
        values = np.where(reached, carried / np.where(reached, row_sums, 1.0), self.values.mean(axis=0))
        return Transport(values, np.where(reached, row_sums, 0.0), reached)

    def project(self, values: FloatArray) -> FloatArray:
        """Project scores (q, m) that arrived at any rows to the sphere as the fitted rows are projected (eq. 1)."""
        projected = np.empty(values.shape)
        # One reference at a time, to save memory.
        for column, mean in enumerate(self.values.mean(axis=0)):
            fitted = self.values[:, column]
            norm = np.inf if is_constant(fitted) else np.linalg.norm(fitted - mean)
            projected[:, column] = (values[:, column] - mean) / norm
        return projected


@dataclass(frozen=True, eq=False)
class Arrival:
    """What arrives on rows of the main table in one round, beside the current prediction.

    Attributes
    ----------
    references : Transport
    smoothed : Transport or None
        The current prediction smoothed over its own graph, in one column; None if the method or the lack of a graph
        leaves it out.
    """

    references: Transport
    smoothed: Transport | None

    def columns(self, at: Arrival | None = None) -> list[FloatArray]:
        """Columns on the sphere of what arrived here, or ``at`` later rows."""
        at = self if at is None else at
        pairs = [(self.references, at.references), (self.smoothed, at.smoothed)]
        return [fitted.project(there.values) for fitted, there in pairs if fitted is not None and there is not None]


def _is_reached(row_sums: FloatArray, largest: FloatArray) -> BoolArray:
    return np.asarray((row_sums > 0) & (row_sums >= REACHED * largest))
