"""Units: how the scores of a table go to the predictor manifold and back. Nothing else knows a table's units."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import centred_norm


@dataclass(frozen=True)
class Units:
    """The units of the scores of one table.

    A score is ``offset + scale * p`` with ``p`` on the sphere (eq. 1), and ``offset + deviation * z`` with ``z``
    standardised. All shapes here may have a last axis of c columns.

    Attributes
    ----------
    offset : (c,) array
        Mean of the scores in every column.
    scale : float
        Norm of the centred scores, positive.
    rows : int
    is_single : bool
        Whether a row has one score, without an axis of columns.
    """

    offset: FloatArray
    scale: float
    rows: int
    is_single: bool

    @classmethod
    def of(cls, scores: FloatArray) -> Units:
        """Measure scores (n,) or (n, c)."""
        return cls(np.atleast_1d(scores.mean(axis=0)), centred_norm(scores), len(scores), scores.ndim == 1)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the scores of one row: () or (c,)."""
        return () if self.is_single else self.offset.shape

    @property
    def deviation(self) -> float:
        """Root of the mean squared centred score."""
        return self.scale / float(np.sqrt(self.rows * self.offset.size))

    def scaled(self, factor: float, offset: float = 0.0) -> Units:
        """Return units in which scores are larger by a factor, and then by an offset."""
        return replace(self, offset=factor * self.offset + offset, scale=factor * self.scale)

    @classmethod
    def of_standardised(cls, mean: FloatArray, deviation: float, rows: int) -> Units:
        """Return units in which standardised values have this mean (c,) and root of the mean squared deviation."""
        return cls(mean, deviation * float(np.sqrt(rows * mean.size)), rows, is_single=False)

    def to_sphere(self, scores: FloatArray) -> FloatArray:
        """Project scores (q,) of this table or of later rows as the fitted scores are projected (eq. 1)."""
        return np.asarray((scores - self.offset) / self.scale)

    def from_sphere(self, values: FloatArray) -> FloatArray:
        """Give values on the sphere their offset and scale again (section 2.1, regression)."""
        return np.asarray(self.offset + self.scale * values)

    def standardise(self, scores: FloatArray) -> FloatArray:
        """Bring scores (q,) to the mean 0 and standard deviation 1 of the fitted scores."""
        return np.asarray((scores - self.offset) / self.deviation)

    def from_standardised(self, values: FloatArray) -> FloatArray:
        """Give standardised values their mean and standard deviation again."""
        return np.asarray(self.offset + self.deviation * values)

    def standardised_from_sphere(self, values: FloatArray) -> FloatArray:
        """Standardised scores of values on the sphere; both have no unit."""
        return np.asarray(values * np.sqrt(self.rows * self.offset.size))
