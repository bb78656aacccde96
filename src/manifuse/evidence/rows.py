"""Rows: what is known of rows of the main table, and how alike two of them are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from manifuse.backends.neighbours import Scaling
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.records import Saved

#: Widths of the Gaussian parts, in median squared distances: two for features, one for references.
FEATURE_WIDTHS, REFERENCE_WIDTH = (0.3, 1.0), 0.3

#: Rows that measure median distances, and numbers that a block of rows may take.
MEASURED, BLOCK_NUMBERS = 300, 1 << 22


@dataclass(frozen=True, eq=False)
class Rows(Saved):
    """What is known of rows of the main table.

    Attributes
    ----------
    scores : (n, c) array
        Own scores, as they came and smoothed over the graph, standardised by the fitted rows.
    references : (n, m) array
        Scores of the references that take part, imputed where they are unknown, standardised likewise.
    features : (n, d) array
        As they came; no columns if there are none.
    """

    scores: FloatArray
    references: FloatArray
    features: FloatArray

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, rows: IndexArray | slice) -> Rows:
        """Return some of the rows."""
        return Rows(
            self.scores[rows], self.references[rows], np.ascontiguousarray(self.features[rows], dtype=np.float64)
        )

    def with_references(self, references: FloatArray) -> Rows:
        """Return the same rows with other reference scores (n, m)."""
        return replace(self, references=references)


@dataclass(frozen=True, eq=False)
class Likeness(Saved):
    """How alike two rows are: the parts of the covariance of what is to be learned.

    The parts are: linear in own scores; Gaussian in the features, at two widths, standardised and as they came;
    linear and Gaussian in the references' scores.

    Attributes
    ----------
    scalings : tuple of Scaling
        Of the features; none without features.
    widths : tuple of float
        Median squared distance of rows under each scaling.
    reference_width : float
        Median squared distance of rows in the references' scores; 0 if there are none.
    """

    scalings: tuple[Scaling, ...]
    widths: tuple[float, ...]
    reference_width: float

    @classmethod
    def of(cls, rows: Rows, rng: np.random.Generator, name: str) -> Self:
        """Measure the fitted rows; ``rng`` draws those that measure distances, ``name`` is for messages."""
        drawn = rows.take(np.sort(rng.choice(len(rows), min(MEASURED, len(rows)), replace=False)))
        scalings: list[Scaling] = []
        if rows.features.shape[1] and (drawn.features != drawn.features[0]).any():
            scalings = [Scaling.of(rows.features, standardised=flag, name=name) for flag in (True, False)]
        widths = tuple(_median_distance(scaling.apply(drawn.features)) for scaling in scalings)
        return cls(tuple(scalings), widths, _median_distance(drawn.references))

    def with_references(self, rows: Rows, rng: np.random.Generator) -> Likeness:
        """Return the same for rows that have references now; ``rng`` as in `of`."""
        drawn = rows.references[np.sort(rng.choice(len(rows), min(MEASURED, len(rows)), replace=False))]
        return replace(self, reference_width=_median_distance(drawn))

    def parts(self, rows: Rows, others: Rows) -> FloatArray:
        """Covariances of rows (q) with others (l), shape (k, q, l)."""
        parts = [rows.scores @ others.scores.T / rows.scores.shape[1]]
        for scaling, width in zip(self.scalings, self.widths, strict=True):
            squares = squared_distances(scaling.apply(rows.features), scaling.apply(others.features))
            parts += [np.exp(-squares / (factor * width)) for factor in FEATURE_WIDTHS]
        if self.reference_width > 0:
            squares = squared_distances(rows.references, others.references)
            parts.append(rows.references @ others.references.T / rows.references.shape[1])
            parts.append(np.exp(-squares / (REFERENCE_WIDTH * self.reference_width)))
        return np.array(parts)

    def own(self, rows: Rows) -> FloatArray:
        """Variances of rows (q), part by part, shape (k, q)."""
        parts = [np.mean(rows.scores**2, axis=1)]
        parts += [np.ones(len(rows))] * (len(FEATURE_WIDTHS) * len(self.scalings))
        if self.reference_width > 0:
            parts += [np.mean(rows.references**2, axis=1), np.ones(len(rows))]
        return np.array(parts)

    def check(self) -> None:
        """Refuse values out of range."""
        positive = all(0 < width < np.inf for width in self.widths)
        if not positive or len(self.widths) != len(self.scalings) or not 0 <= self.reference_width < np.inf:
            raise ValueError("the distances of rows are out of range")


def blocks_of_rows(rows: int, others: int) -> Iterator[slice]:
    """Slices of rows whose covariances with ``others`` rows fit into a block."""
    size = max(1, BLOCK_NUMBERS // max(1, 8 * others))
    return (slice(first, min(first + size, rows)) for first in range(0, rows, size))


def squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Squared distances of points (q, d) from others (l, d), shape (q, l)."""
    squares = np.sum(a * a, axis=1)[:, None] + np.sum(b * b, axis=1)[None] - 2.0 * (a @ b.T)
    return np.asarray(np.maximum(squares, 0.0))


def _median_distance(points: FloatArray) -> float:
    """Median squared distance of two of the points (n, d) that differ; 0 if none do."""
    squares = squared_distances(points, points)[np.triu_indices(len(points), 1)]
    positive = squares[squares > 0]
    return float(np.median(positive)) if len(positive) else 0.0
