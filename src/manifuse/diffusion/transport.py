"""Transport: reference scores as they arrive on rows of the main table, over a bridge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from manifuse.kernels.arrays import BoolArray, FloatArray
from manifuse.kernels.sphere import is_constant

Array = TypeVar("Array", FloatArray, BoolArray)

#: A row is reached if its row sum is at least this share of the largest; smaller ones are rounding.
REACHED = 1e-6


@dataclass(frozen=True, eq=False)
class Transport:
    """Reference scores as they arrive on the main rows; the last axis is over references.

    Attributes
    ----------
    values : (n, m) or (n, c, m) array
        ``B g / B 1``: convex combinations of the reference's scores. A row that the bridge does not reach has the
        mean of the rows that it reaches, which is 0 on the manifold.
    row_sums : (n, m) array
        ``B 1``: how much pair evidence arrives.
    reached : (n, m) array of bool
    """

    values: FloatArray
    row_sums: FloatArray
    reached: BoolArray

    @cached_property
    def levels(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean (..., m) and norm (m,) of the values, and the largest row sum (m,), of every reference."""
        means = self.values.mean(axis=0)
        # One reference at a time, to save memory; a constant one has an infinite norm and so counts nothing.
        norms = [
            np.inf if is_constant(column).all() else np.linalg.norm(column - mean)
            for column, mean in zip(_each(self.values), _each(means), strict=True)
        ]
        return means, np.array(norms), self.row_sums.max(axis=0)

    @classmethod
    def of(cls, carried: FloatArray, row_sums: FloatArray) -> Transport:
        """Divide carried scores ``B g`` (eq. 12) by row sums ``B 1`` above rounding; overwrites ``carried``."""
        reached = _is_reached(row_sums, row_sums.max(axis=0))
        everywhere: BoolArray = _beside(reached, carried)
        np.copyto(carried, 0.0, where=~everywhere)
        np.divide(carried, _beside(row_sums, carried), out=carried, where=everywhere)
        means = carried.sum(axis=0) / np.maximum(reached.sum(axis=0), 1)
        np.copyto(carried, means, where=~everywhere)
        return cls(carried, row_sums, reached)

    @classmethod
    def of_blocks(cls, blocks: Sequence[FloatArray], shape: tuple[int, ...]) -> Transport:
        """Divide blocks (n, c + 1) of references: carried scores, in this shape, and at last row sums."""
        carried = np.stack([block[:, :-1].reshape(shape) for block in blocks], axis=-1)
        return cls.of(carried, np.column_stack([block[:, -1] for block in blocks]))

    def at_later_rows(self, carried: FloatArray, row_sums: FloatArray) -> FloatArray:
        """Divide what arrives at q later rows in the same way, by the levels of the fitted rows."""
        means, _, largest = self.levels
        reached = _is_reached(row_sums, largest)
        divisors = _beside(np.where(reached, row_sums, 1.0), carried)
        return np.where(_beside(reached, carried), carried / divisors, means)

    def project(self, values: FloatArray) -> FloatArray:
        """Project scores that arrived at any rows to the sphere as the fitted rows are projected (eq. 1)."""
        means, norms, _ = self.levels
        projected = np.empty(values.shape)
        # One reference at a time, to save memory.
        for column, (mean, norm) in enumerate(zip(_each(means), norms, strict=True)):
            projected[..., column] = (values[..., column] - mean) / norm
        return projected


@dataclass(frozen=True, eq=False)
class Arrival:
    """What arrives on rows of the main table in one round, beside the current prediction.

    Attributes
    ----------
    references : Transport
    smoothed : Transport or None
        The current prediction smoothed over its own graph, like one reference; None if the method or the lack of a
        graph leaves it out.
    """

    references: Transport
    smoothed: Transport | None

    @property
    def transports(self) -> list[Transport]:
        """The references and, if there is one, the smoothed prediction."""
        return [self.references] if self.smoothed is None else [self.references, self.smoothed]

    @cached_property
    def averaged(self) -> FloatArray:
        """What edges to later rows average, as columns: what each transport carried, then its row sums."""
        parts: list[FloatArray] = []
        for each in self.transports:
            carried = each.values * _beside(each.row_sums, each.values)
            parts += [carried.reshape(len(carried), -1), each.row_sums]
        return np.column_stack(parts)

    def columns(self, at: Sequence[FloatArray] | None = None) -> list[FloatArray]:
        """What arrived here, or ``at`` later rows, on the sphere, shaped as `Transport.values`."""
        values = [each.values for each in self.transports] if at is None else at
        return [fitted.project(there) for fitted, there in zip(self.transports, values, strict=True)]


def _each(values: FloatArray) -> FloatArray:
    """Values (..., m), one reference after another."""
    return np.moveaxis(values, -1, 0)


def _beside(of_rows: Array, values: FloatArray) -> Array:
    """Numbers of rows (n, m), in a shape that fits to values (n, ..., m)."""
    return of_rows.reshape(len(of_rows), *[1] * (values.ndim - 2), of_rows.shape[-1])


def _is_reached(row_sums: FloatArray, largest: FloatArray) -> BoolArray:
    return np.asarray((row_sums > 0) & (row_sums >= REACHED * largest))
