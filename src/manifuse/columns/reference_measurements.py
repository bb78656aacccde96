"""Reference measurements: own scores of references correct what labels teach of a row, as a Kalman filter does."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.columns.view import View
from manifuse.evidence.one_factor import correlation
from manifuse.kernels.arrays import BoolArray, FloatArray
from manifuse.kernels.sphere import is_constant

#: Fewer rows than this show nothing. A larger squared correlation than the second number is not believed, nor is a
#: smaller share of noise in what the lesson does not explain than the third one.
FEWEST, MOST_ALIKE, LEAST_NOISE = 10, 0.95, 0.05


@dataclass(frozen=True, eq=False)
class Heard:
    """How the references' own scores of a row correct what a lesson says of it.

    A lesson reads imputed scores at all rows, because most rows have no others. Scores that references gave themselves
    have more noise, and what the lesson made of imputed ones does not fit to them. They are used afterwards: each
    measures the value of the lesson as ``offset + slope * value`` and noise. The value and its variance follow from
    the sum of the scores that are known there, as in a Kalman filter.

    Attributes
    ----------
    weights : (m,) array
        Of the references' scores in a sum.
    offsets, slopes : (m,) array
    left, noise : (m, m) array
        Covariances of what the lesson does not explain of the scores, and of the part of it that is noise.
    """

    weights: FloatArray
    offsets: FloatArray
    slopes: FloatArray
    left: FloatArray
    noise: FloatArray

    @classmethod
    def of(cls, rows: View, values: FloatArray, variances: FloatArray) -> Self:
        """Measure the scores at rows that their references know, though these are imputed otherwise.

        Parameters
        ----------
        rows : View
        values : (q, 1) array
            Of the lesson, from imputed scores.
        variances : (q,) array
            Of these values.
        """
        heard = are_heard(rows)
        weights, offsets, slopes = np.zeros((3, heard.shape[1]))
        off = np.zeros(heard.shape)
        for column, here in enumerate(heard.T):
            said, value = rows["references"][here, column, 0], values[here, 0]
            weights[column] = _weight(said, value)
            if weights[column]:
                slopes[column], offsets[column] = np.polyfit(value, said, 1)
                off[here, column] = said - offsets[column] - slopes[column] * value
        counted = heard.astype(np.float64)
        shared = counted.T @ counted
        enough = shared >= FEWEST
        left = np.where(enough, off.T @ off / np.maximum(shared - 2.0, 1.0), 0.0)
        doubt = (counted * variances[:, None]).T @ counted / np.maximum(shared, 1.0)
        return cls(weights, offsets, slopes, left, left - np.where(enough, np.outer(slopes, slopes) * doubt, 0.0))

    def correct(self, rows: View, values: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Correct values (q, 1) of a lesson and their variances (q,) where references know rows themselves."""
        spoken = are_heard(rows) * self.weights
        slope, value = spoken @ self.slopes, values[:, 0]
        least = LEAST_NOISE * np.maximum(_quadratic(spoken, self.left), spoken**2 @ np.diag(self.left))
        spread = slope**2 * variances + np.maximum(_quadratic(spoken, self.noise), least)
        gain = np.divide(slope * variances, spread, out=np.zeros_like(value), where=spread > 0)
        off = np.sum(spoken * rows["references"][:, :, 0], axis=1) - spoken @ self.offsets - slope * value
        return (value + gain * off)[:, None], variances * (1.0 - gain * slope)


def are_heard(rows: View) -> BoolArray:
    """Whether each reference knows rows itself, which would be imputed otherwise, (q, m)."""
    return np.asarray((rows["references"] != rows["imputed"]).any(axis=2))


def _quadratic(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Products of rows (q, m) with themselves by a matrix (m, m), (q,)."""
    return np.asarray(np.einsum("qm,qm->q", rows @ matrix, rows))


def _weight(said: FloatArray, value: FloatArray) -> float:
    """Weight of scores (p,) in a sum that measures a value (p,), as if the noise of each were independent."""
    if len(value) < FEWEST or is_constant(value) or is_constant(said):
        return 0.0
    alike = correlation(said, value)
    return alike / (1.0 - min(alike**2, MOST_ALIKE)) if alike**2 > 1.0 / len(value) else 0.0
