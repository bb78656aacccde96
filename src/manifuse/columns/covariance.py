"""Covariance: how alike two rows are, as a sum of parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.stats import rankdata

from manifuse.backends.neighbours import Scaling
from manifuse.columns.view import View
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.nearest import squared_distances_to

#: Widths of the Gaussian parts, in median squared distances: two for features, one for references.
FEATURE_WIDTHS, REFERENCE_WIDTHS = (0.3, 1.0), (0.3,)

#: The place of the first part that reads features, if one does.
OF_FEATURES = 1

#: The source of the parts that read the references' scores.
OF_REFERENCES = ("references",)

#: How much each wave of a feature counts.
AMPLITUDES = (1.0, 1.0 / 2.0, 1.0 / 3.0)


@dataclass(frozen=True, eq=False)
class RankWaves:
    """Every feature as cosines of its rank: half a wave, a whole one, one and a half.

    A function that is linear in them is a sum of smooth functions of one feature each, as in a generalised additive
    model. Sums of all waves, the k-th of which counts 1 / k, are the linear splines over the ranks; three are enough.

    Attributes
    ----------
    places : (d,) array of int
        Where the features that vary stand in the table.
    values : (k, d) array
        Values of these features in the rows that measured them, in rising order.
    cosines : (k, d) array
        Half a wave over the ranks of these values: from about 1 at the smallest to about -1 at the largest.
    means : (w d,) array
        Of the waves over these rows.
    """

    places: IndexArray
    values: FloatArray
    cosines: FloatArray
    means: FloatArray

    @classmethod
    def of(cls, features: FloatArray) -> Self:
        """Measure features (k, d)."""
        places = np.flatnonzero((features != features[0]).any(axis=0))
        values = np.sort(features[:, places], axis=0)
        # Equal values have one rank, the mean of theirs.
        ranks = rankdata(values, axis=0) - 0.5
        cosines = np.cos(np.pi * ranks / len(values))
        raw = cls(places, values, cosines, np.zeros(len(AMPLITUDES) * len(places)))
        return cls(places, values, cosines, raw.apply(features).mean(axis=0))

    def apply(self, features: FloatArray) -> FloatArray:
        """Waves (q, w d) of rows (q, d) of the table, or of another one with the same columns."""
        count = len(self.places)
        waves = np.empty((len(features), len(AMPLITUDES) * count))
        half = waves[:, :count]
        for column, place in enumerate(self.places):
            half[:, column] = np.interp(features[:, place], self.values[:, column], self.cosines[:, column])
        # The cosine of a multiple of an angle is a polynomial of the angle's cosine.
        waves[:, count : 2 * count] = 2.0 * half**2 - 1.0
        waves[:, 2 * count :] = half * (4.0 * half**2 - 3.0)
        waves *= np.sqrt(2.0) * np.repeat(AMPLITUDES, count)
        waves -= self.means
        return waves


@dataclass(frozen=True, eq=False)
class CovariancePart:
    """A part of a covariance: linear in some numbers of a row, or Gaussian in them at some widths.

    Attributes
    ----------
    source : tuple of str
        Names of the columns; none for the features.
    scaling : Scaling, RankWaves or None
        Of the features.
    unit : float
        The divisor of products of points, or of squared distances.
    widths : tuple of float
        Of the Gaussians; none if the part is linear.
    """

    source: tuple[str, ...]
    scaling: Scaling | RankWaves | None
    unit: float
    widths: tuple[float, ...]

    @property
    def count(self) -> int:
        """Number of matrices, each of which has a variance of its own."""
        return max(1, len(self.widths))

    def points(self, rows: View) -> FloatArray:
        """The numbers that the part reads of rows, shape (q, k)."""
        return rows.points(self.source) if self.scaling is None else self.scaling.apply(rows.features)

    def between(self, points: FloatArray, others: FloatArray) -> Iterator[FloatArray]:
        """Covariances of points (q, k) with others (l, k), each (q, l)."""
        if not self.widths:
            yield points @ others.T / self.unit
            return
        squares = squared_distances_to(points, others)
        for width in self.widths:
            yield np.exp(squares * (-1.0 / (width * self.unit)))

    def own(self, points: FloatArray) -> list[FloatArray]:
        """Variances of points (q, k), each (q,)."""
        if not self.widths:
            return [np.einsum("qk,qk->q", points, points) / self.unit]
        return [np.ones(len(points))] * len(self.widths)


@dataclass(frozen=True, eq=False)
class Covariance:
    """How alike two rows are: the sum of its parts, each times a variance.

    Attributes
    ----------
    parts : tuple of CovariancePart
    """

    parts: tuple[CovariancePart, ...]

    @property
    def has_features(self) -> bool:
        """Whether a part reads features."""
        return len(self.parts) > OF_FEATURES and self.parts[OF_FEATURES].scaling is not None

    @classmethod
    def of(cls, rows: View, measured: IndexArray, name: str) -> Self:
        """Measure the fitted rows.

        The parts are: linear in own scores, as they came and smoothed; linear in the features; Gaussian in the
        features at two widths, standardised and as they came; linear in waves of the features' ranks; linear and
        Gaussian in the references' scores, if these are known.

        Parameters
        ----------
        rows : View
        measured : (k,) array of int
            The rows that measure distances.
        name : str
            Of the table, for messages.
        """
        drawn_rows = rows.take(measured)
        own = ("own", "smoothed")
        parts = [CovariancePart(own, None, float(rows.points(own).shape[1]), ())]
        if rows.features.shape[1] and (drawn_rows.features != drawn_rows.features[0]).any():
            for flag in (True, False):
                scaling = Scaling.of(rows.features, standardised=flag, name=name)
                width = _median_distance(scaling.apply(drawn_rows.features))
                linear = [CovariancePart((), scaling, float((scaling.deviations > 0).sum()), ())] if flag else []
                parts += [*linear, CovariancePart((), scaling, width, FEATURE_WIDTHS)] if width > 0 else []
            waves = RankWaves.of(drawn_rows.features)
            parts.append(CovariancePart((), waves, float(len(waves.places)), ()))
        points = drawn_rows.points(OF_REFERENCES)
        width = _median_distance(points)
        if width > 0:
            parts += [
                CovariancePart(OF_REFERENCES, None, float(points.shape[1]), ()),
                CovariancePart(OF_REFERENCES, None, width, REFERENCE_WIDTHS),
            ]
        return cls(tuple(parts))

    @property
    def count(self) -> int:
        """Number of matrices."""
        return sum(part.count for part in self.parts)

    def points(self, rows: View) -> tuple[FloatArray, ...]:
        """What each part reads of rows."""
        return tuple(part.points(rows) for part in self.parts)

    def each(self, points: Sequence[FloatArray], others: Sequence[FloatArray]) -> Iterator[FloatArray]:
        """Covariances of rows (q) with others (l), matrix by matrix, each (q, l)."""
        for part, some, more in zip(self.parts, points, others, strict=True):
            yield from part.between(some, more)

    def matrices(self, points: Sequence[FloatArray]) -> FloatArray:
        """Covariances of rows with each other, shape (k, l, l)."""
        square = np.dtype((np.float64, (len(points[0]),) * 2))
        return np.fromiter(self.each(points, points), square, self.count)

    def of_some(self, share: float) -> Covariance:
        """The same for rows with a ``share`` of the references.

        Products and squared distances of scores grow with the number of references, and so do their units.
        """
        parts = (
            replace(part, unit=share * part.unit) if part.source == OF_REFERENCES else part for part in self.parts
        )
        return replace(self, parts=tuple(parts))

    def own(self, points: Sequence[FloatArray]) -> list[FloatArray]:
        """Variances of rows, matrix by matrix, each (q,)."""
        return [own for part, some in zip(self.parts, points, strict=True) for own in part.own(some)]


def weighed(each: Iterable[FloatArray], variances: FloatArray) -> FloatArray:
    """Add arrays of one shape, of which there are k, each times its variance (k,)."""
    total: Any = 0.0
    # One after the other, because matrices may be large.
    for variance, matrix in zip(variances, each, strict=True):
        total += variance * matrix
    return np.asarray(total)


def _median_distance(points: FloatArray) -> float:
    """Median squared distance of two of the points (n, d) that differ; 0 if none do, or there are no columns."""
    if not points.shape[1]:
        return 0.0
    squares = squared_distances_to(points, points)[np.triu_indices(len(points), 1)]
    positive = squares[squares > 0]
    return float(np.median(positive)) if len(positive) else 0.0
