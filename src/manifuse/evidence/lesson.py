"""Lesson: a function of rows that was learned from values at a few of them, by Gaussian process regression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from manifuse.evidence.likeness import Likeness, Rows
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn
from manifuse.kernels.gaussian_process import covariance_of, fit_variances, predict_left_out
from manifuse.records import Saved

#: Prior variance of an offset and of the slope of the expectation; as good as infinite.
FLAT = 100.0

#: Numbers of one part of a block's covariance; a few of them fit into a core's cache.
NUMBERS = 1 << 17

#: So many observations decide the variances; more would take long and say the same.
DECIDING = 500


@dataclass(frozen=True, eq=False)
class Lesson(Saved):
    """Functions that were learned from their values at a few rows.

    A function is ``offset + slope * expected + the parts of the covariance``, where what is expected is known of every
    row. Off the rows that taught it, it goes back to the first two.

    Attributes
    ----------
    likeness : Likeness
    rows : Rows
        The l rows that taught.
    expected : (l,) array
        What was expected at them.
    variances : (k + 1,) array
        Of the parts and of the noise.
    weights : (l, t) array
        Of the rows that taught, for every function.
    precision : (l, l) array
        What the observations say of these rows, as an inverse covariance.
    """

    likeness: Likeness
    rows: Rows
    expected: FloatArray
    variances: FloatArray
    weights: FloatArray
    precision: FloatArray

    def check(self) -> None:
        """Refuse arrays that do not fit together."""
        count = len(self.rows)
        shapes = {"expected": (count,), "weights": (count, *self.weights.shape[1:]), "precision": (count, count)}
        if any(getattr(self, name).shape != shape for name, shape in shapes.items()) or self.weights.ndim != 2:
            raise ValueError("the arrays of a lesson do not fit together")
        if not all(np.isfinite(getattr(self, name)).all() for name in (*shapes, "variances")):
            raise ValueError("a lesson is not finite")
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise"):
                self.predict_with_variance(self.rows, self.expected)
        except FloatingPointError:
            raise ValueError("a lesson is out of range") from None

    def crossing(self, rows: Rows, expected: FloatArray) -> FloatArray:
        """Covariances of rows (q) with those that taught, shape (q, l)."""
        flat = FLAT * (1.0 + expected[:, None] * self.expected)
        return self.likeness.covariance(rows, self.rows, self.variances[:-1]) + flat

    def prior(self, rows: Rows, expected: FloatArray) -> FloatArray:
        """Variance of a value at rows (q) before anything was observed, shape (q,)."""
        return np.asarray(self.variances[:-1] @ self.likeness.own(rows) + FLAT * (1.0 + expected**2))

    def predict(self, rows: Rows, expected: FloatArray) -> FloatArray:
        """Values of the functions at rows (q), shape (q, t)."""
        predicted = np.empty((len(rows), self.weights.shape[1]))
        for block in self._blocks(len(rows)):
            predicted[block] = self.crossing(rows.take(block), expected[block]) @ self.weights
        return predicted

    def predict_with_variance(self, rows: Rows, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values of the functions at rows (q), shape (q, t), and the variance of a value without the noise, (q,)."""
        predicted, found = np.empty((len(rows), self.weights.shape[1])), np.empty(len(rows))
        for block in self._blocks(len(rows)):
            taken = rows.take(block)
            crossing = self.crossing(taken, expected[block])
            predicted[block] = crossing @ self.weights
            found[block] = self.prior(taken, expected[block]) - np.einsum(
                "ql,ql->q", crossing @ self.precision, crossing
            )
        return predicted, np.maximum(found, 0.0)

    def _blocks(self, count: int) -> Iterator[slice]:
        """Slices of rows whose covariances are computed at once."""
        # A power of two, so that blocks of a power of two are divided evenly: products of other sizes round otherwise.
        size = 1 << max(0, (NUMBERS // len(self.rows)).bit_length() - 1)
        return (slice(first, min(first + size, count)) for first in range(0, count, size))


@dataclass(frozen=True, eq=False)
class Learned:
    """A lesson, and what it would have said of its own rows without them.

    Attributes
    ----------
    lesson : Lesson
    held_out : (l, t) array
        Values at the rows that taught, each predicted without the observations that it must not see.
    held_out_variances : (l,) array
        Their variances, the noise left out.
    """

    lesson: Lesson
    held_out: FloatArray
    held_out_variances: FloatArray


def learn(
    likeness: Likeness,
    rows: Rows,
    expected: FloatArray,
    targets: FloatArray,
    near: Sequence[IndexArray],
    contrasts: FloatArray | None = None,
    variances: FloatArray | None = None,
) -> Learned:
    """Learn functions from what was observed of a few rows.

    Parameters
    ----------
    likeness : Likeness
    rows : Rows
        The l rows.
    expected : (l,) array
        What is expected at them, about mean 0 and variance 1.
    targets : (p, t) array
        Observations, of about variance 1.
    near : sequence of l arrays of int
        The rows whose observations a row must not see when it is held out; itself first.
    contrasts : (p, l) array, optional
        The sum of values that every observation is of; by default of each row its value.
    variances : (k + 1,) array, optional
        Of the parts and the noise, if they are known.
    """
    parts = likeness.parts(rows, rows)
    flat = FLAT * (1.0 + expected[:, None] * expected)
    observed, fixed = parts, flat
    if contrasts is not None:
        observed, fixed = contrasts @ parts @ contrasts.T, contrasts @ flat @ contrasts.T
    if variances is None:
        few = drawn(len(targets), DECIDING)
        variances = fit_variances(observed[:, few][:, :, few], fixed[np.ix_(few, few)], targets[few])
    inverse = np.linalg.inv(covariance_of(observed, fixed, variances))
    crossing = np.tensordot(variances[:-1], parts, axes=1) + flat
    weights, precision, unseen = inverse @ targets, inverse, list(near)
    if contrasts is not None:
        weights, precision = contrasts.T @ weights, contrasts.T @ inverse @ contrasts
        crossing, touched = crossing @ contrasts.T, contrasts != 0
        unseen = [np.flatnonzero(touched[:, out].any(axis=1)) for out in near]
    lesson = Lesson(likeness, rows, expected, variances, weights, precision)
    return Learned(lesson, *predict_left_out(inverse, targets, crossing, lesson.prior(rows, expected), unseen))
