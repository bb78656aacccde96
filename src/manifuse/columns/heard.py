"""Heard: what references say themselves of a row, as one more measurement of what labels teach of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.columns.view import View
from manifuse.evidence.one_factor import correlation
from manifuse.kernels.arrays import BoolArray, FloatArray
from manifuse.kernels.sphere import is_constant
from manifuse.records import Saveable

#: Fewer rows than this show nothing. A larger squared correlation than the second number is not believed, nor is a
#: smaller share of noise in what the lesson does not explain than the third one.
FEWEST, MOST_ALIKE, LEAST_NOISE = 10, 0.95, 0.05


@dataclass(frozen=True, eq=False)
class Heard(Saveable):
    """How the references' own scores of a row correct what a lesson says of it.

    A lesson reads imputed scores, because most rows have only these, and what it makes of them does not fit to own
    scores, which have more noise. So it reads imputed scores at all rows. Where references know a row themselves, the
    sum of their scores measures the value of the lesson: it is ``offset + slope * value`` and noise. The value and its
    variance follow as in a Kalman filter.

    Attributes
    ----------
    weights : (m,) array
        Of the references' scores in the sum.
    offset, slope, noise : float
        The noise is a variance.
    """

    weights: FloatArray
    offset: float
    slope: float
    noise: float

    @classmethod
    def of(cls, rows: View, values: FloatArray, variances: FloatArray) -> Self:
        """Measure the sum at rows whose imputed scores are not their references' own ones.

        Parameters
        ----------
        rows : View
        values : (q, 1) array
            Of the lesson, from imputed scores.
        variances : (q,) array
            Of these values.
        """
        heard = np.flatnonzero(is_heard(rows))
        said, value = rows["references"][heard, :, 0], values[heard, 0]
        weights = _weights(said, value)
        total = said @ weights
        if not weights.any() or is_constant(total):
            return cls(np.zeros(len(weights)), 0.0, 0.0, 1.0)
        slope, offset = np.polyfit(value, total, 1)
        left = float(np.sum((total - offset - slope * value) ** 2)) / (len(heard) - 2)
        noise = left - slope**2 * float(variances[heard].mean())
        return cls(weights, float(offset), float(slope), max(noise, LEAST_NOISE * left))

    def correct(self, rows: View, values: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Correct values (q, 1) of a lesson and their variances (q,) where references know rows themselves."""
        heard = is_heard(rows)
        spread = self.slope**2 * variances + self.noise
        gain = np.where(heard & (spread > 0), self.slope * variances / np.where(spread > 0, spread, 1.0), 0.0)
        off = rows["references"][:, :, 0] @ self.weights - self.offset - self.slope * values[:, 0]
        return values + (gain * off)[:, None], variances * (1.0 - gain * self.slope)

    def check(self) -> None:
        """Refuse values out of range."""
        if not np.isfinite([*self.weights, self.offset, self.slope]).all() or not 0 <= self.noise < np.inf:
            raise ValueError("what references say themselves is out of range")


def is_heard(rows: View) -> BoolArray:
    """Whether references know rows (q,) themselves, which would be imputed otherwise."""
    return np.asarray((rows["references"] != rows["imputed"]).any(axis=(1, 2)))


def _weights(said: FloatArray, value: FloatArray) -> FloatArray:
    """Weights of scores (p, m) in a sum that measures a value (p,), as if their noise were independent."""
    if len(value) < FEWEST or is_constant(value):
        return np.zeros(said.shape[1])
    alike = np.array([correlation(each, value) for each in said.T])
    return np.asarray(np.where(alike**2 > 1.0 / len(value), alike / (1.0 - np.minimum(alike**2, MOST_ALIKE)), 0.0))
