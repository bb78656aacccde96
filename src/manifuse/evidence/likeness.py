"""Rows: what is known of rows of the main table, and how alike two of them are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from manifuse.backends.neighbours import Scaling
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.own_smoothing import Smoothing
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.nearest import squared_distances_to
from manifuse.kernels.sphere import standardise
from manifuse.records import Saved

#: Widths of the Gaussian parts, in median squared distances: two for features, one for references.
FEATURE_WIDTHS, REFERENCE_WIDTH = (0.3, 1.0), 0.3

#: Rows that measure median distances.
MEASURED = 300


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

    def check(self) -> None:
        """Refuse arrays that do not fit together or are not finite."""
        arrays = (self.scores, self.references, self.features)
        if any(array.ndim != 2 or len(array) != len(self) or not np.isfinite(array).all() for array in arrays):
            raise ValueError("what is known of rows does not fit together, or is not finite")

    @classmethod
    def of_fitted(cls, main: Observations, smoothing: Smoothing | None) -> Self:
        """What is known of the fitted rows without references; with ``smoothing``, also the smoothed scores."""
        columns = [standardise(main.scores)] + ([] if smoothing is None else [smoothing.smoothed()])
        nothing = np.empty((len(main), 0))
        return cls(np.column_stack(columns), nothing, nothing if main.table is None else main.table)

    def take(self, rows: IndexArray | slice) -> Rows:
        """Return some of the rows."""
        # In one order of memory, so that sums over features are rounded alike whatever a table comes as.
        features = np.ascontiguousarray(self.features[rows], dtype=np.float64)
        return Rows(self.scores[rows], self.references[rows], features)

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
    def of(cls, rows: Rows, measured: IndexArray, name: str) -> Self:
        """Measure the fitted rows: distances of the rows ``measured`` (k,); ``name`` is for messages."""
        drawn = rows.take(measured)
        scalings: list[Scaling] = []
        if rows.features.shape[1] and (drawn.features != drawn.features[0]).any():
            scalings = [Scaling.of(rows.features, standardised=flag, name=name) for flag in (True, False)]
        found = [(scaling, _median_distance(scaling.apply(drawn.features))) for scaling in scalings]
        used = [(scaling, width) for scaling, width in found if width > 0]
        widths = tuple(width for _, width in used)
        return cls(tuple(scaling for scaling, _ in used), widths, _median_distance(drawn.references))

    def with_references(self, rows: Rows, measured: IndexArray) -> Likeness:
        """Return the same for rows that have references now; ``measured`` as in `of`."""
        return replace(self, reference_width=_median_distance(rows.references[measured]))

    def each_part(self, rows: Rows, others: Rows) -> Iterator[FloatArray]:
        """Covariances of rows (q) with others (l), part by part, each (q, l)."""
        yield rows.scores @ others.scores.T / rows.scores.shape[1]
        for scaling, width in zip(self.scalings, self.widths, strict=True):
            squares = squared_distances_to(scaling.apply(rows.features), scaling.apply(others.features))
            for factor in FEATURE_WIDTHS:
                yield np.exp(squares * (-1.0 / (factor * width)))
        if self.reference_width > 0:
            squares = squared_distances_to(rows.references, others.references)
            yield rows.references @ others.references.T / rows.references.shape[1]
            yield np.exp(squares * (-1.0 / (REFERENCE_WIDTH * self.reference_width)))

    def parts(self, rows: Rows, others: Rows) -> FloatArray:
        """All parts, shape (k, q, l)."""
        return np.array(list(self.each_part(rows, others)))

    def covariance(self, rows: Rows, others: Rows, variances: FloatArray) -> FloatArray:
        """The sum of the parts times their variances (k,), shape (q, l)."""
        total = np.zeros((len(rows), len(others)))
        for part, variance in zip(self.each_part(rows, others), variances, strict=True):
            part *= variance
            total += part
        return total

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


def _median_distance(points: FloatArray) -> float:
    """Median squared distance of two of the points (n, d) that differ; 0 if none do, or there are no columns."""
    if not points.shape[1]:
        return 0.0
    squares = squared_distances_to(points, points)[np.triu_indices(len(points), 1)]
    positive = squares[squares > 0]
    return float(np.median(positive)) if len(positive) else 0.0
