"""Lesson: functions of rows that were learned from observations of a few of them, by Gaussian process regression."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from manifuse.columns.covariance import Covariance, weighed
from manifuse.columns.view import View
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn
from manifuse.kernels.gaussian_process import covariance_of, fit_variances, predict_without

#: Prior variance of an offset and of the slope of the expectation; as good as infinite.
FLAT = 100.0

#: Numbers of one part of a block's covariance; a few of them fit into a core's cache.
NUMBERS = 1 << 17

#: So many observations decide the variances; more would take long and say the same.
DECIDING = 500


@dataclass(frozen=True, eq=False)
class Lesson:
    """Functions that were learned from observations of a few rows.

    A function is ``offset + slopes * expected + the parts of the covariance``. Off the rows that taught it, it goes
    back to what is flat and what is linear.

    Attributes
    ----------
    covariance : Covariance
    points : tuple of (l, k) arrays
        What each part reads of the l rows that taught.
    expected : (l, c) array
        What was expected of them; no columns if nothing was.
    variances : (k + 1,) array
        Of the matrices of the covariance, and of the noise.
    weights : (l, t) array
        Of the rows that taught, for every function.
    precision : (l, l) array
        What the observations say of these rows, as an inverse covariance.
    compares : bool
        Whether only differences of rows were observed. Then nothing is known of the offset, and no variance has it.
    """

    covariance: Covariance
    points: tuple[FloatArray, ...]
    expected: FloatArray
    variances: FloatArray
    weights: FloatArray
    precision: FloatArray
    compares: bool

    @property
    def noise(self) -> float:
        """Variance of what was observed of a row, beside that of its value; of a difference, each row has a half."""
        return float(self.variances[-1]) / (2.0 if self.compares else 1.0)

    def predict(self, rows: View, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values of the functions at rows (q, t), and the variance of a value without the noise (q,)."""
        return predict_each([self], rows, expected)[0]

    def covariances(
        self, matrices: Iterable[FloatArray], own: Iterable[FloatArray], expected: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Covariances of rows with those that taught (q, l), and variances of rows (q,), before any observation.

        Parameters
        ----------
        matrices : k arrays (q, l)
            Of `Covariance.each`, of rows and those that taught.
        own : k arrays (q,)
            Of `Covariance.own`.
        expected : (q, c) array
        """
        offset, variances = 0.0 if self.compares else 1.0, self.variances[:-1]
        crossing = weighed(matrices, variances) + FLAT * (offset + expected @ self.expected.T)
        return crossing, weighed(own, variances) + FLAT * (offset + np.sum(expected**2, axis=1))


def predict_each(lessons: Sequence[Lesson], rows: View, expected: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """Predict rows by lessons of one covariance, as `Lesson.predict` does.

    Lessons that the same rows taught share the matrices of the covariance.
    """
    found = [(np.empty((len(rows), each.weights.shape[1])), np.empty(len(rows))) for each in lessons]
    alike: dict[tuple[bytes, ...], list[int]] = {}
    for number, each in enumerate(lessons):
        alike.setdefault(tuple(points.tobytes() for points in each.points), []).append(number)
    for numbers in alike.values():
        first = lessons[numbers[0]]
        # A power of two, so that blocks of a power of two are divided evenly: products of other sizes round otherwise.
        size = 1 << max(0, (NUMBERS // len(first.expected)).bit_length() - 1)
        for block in (slice(start, min(start + size, len(rows))) for start in range(0, len(rows), size)):
            points = first.covariance.points(rows.take(block))
            matrices, own = list(first.covariance.each(points, first.points)), first.covariance.own(points)
            for number in numbers:
                lesson, (values, left) = lessons[number], found[number]
                crossing, prior = lesson.covariances(matrices, own, expected[block])
                values[block] = crossing @ lesson.weights
                left[block] = prior - np.einsum("ql,ql->q", crossing @ lesson.precision, crossing)
    return [(values, np.maximum(left, 0.0)) for values, left in found]


@dataclass(frozen=True, eq=False)
class RefittableLesson:
    """A lesson, and what is needed to compute it again without some observations.

    Attributes
    ----------
    lesson : Lesson
    inverse : (p, p) array
        Of the covariance of the observations.
    targets : (p, t) array
    crossing : (l, p) array
        Covariances of the rows that taught with the observations.
    prior : (l,) array
        Variances of the rows before anything was observed.
    """

    lesson: Lesson
    inverse: FloatArray
    targets: FloatArray
    crossing: FloatArray
    prior: FloatArray

    def without(self, rows: Sequence[IndexArray], unseen: Sequence[IndexArray]) -> tuple[FloatArray, FloatArray]:
        """Values (l, t) and variances (l,) of the rows that taught, fold by fold without ``unseen`` observations."""
        return predict_without(self.inverse, self.targets, self.crossing, self.prior, rows, unseen)

    def seen_as(self, rows: View, expected: FloatArray) -> RefittableLesson:
        """Return a lesson that predicts the rows that taught from other columns; each observation is of one row."""
        lesson, covariance = self.lesson, self.lesson.covariance
        points = covariance.points(rows)
        crossing, prior = lesson.covariances(covariance.each(points, lesson.points), covariance.own(points), expected)
        return replace(self, crossing=crossing, prior=prior)

    def without_fold(self, unseen: IndexArray) -> Lesson:
        """Return the lesson as if some rows had not taught; each observation is of one row."""
        weights = self.inverse @ self.targets
        inside = self.inverse[np.ix_(unseen, unseen)]
        weights = weights - self.inverse[:, unseen] @ np.linalg.solve(inside, weights[unseen])
        return replace(self.lesson, weights=weights)


def learn(
    covariance: Covariance,
    rows: View,
    targets: FloatArray,
    expected: FloatArray,
    contrasts: FloatArray | None = None,
    variances: FloatArray | None = None,
) -> RefittableLesson:
    """Learn functions from what was observed of a few rows.

    Parameters
    ----------
    covariance : Covariance
    rows : View
        The l rows.
    targets : (p, t) array
        Observations, of about variance 1.
    expected : (l, c) array
        What is expected of the rows, about mean 0 and variance 1; no columns if nothing is.
    contrasts : (p, l) array, optional
        Every observation is a difference of the rows' values; these are the coefficients. By default every observation
        is the value of one row.
    variances : (k + 1,) array, optional
        Of the matrices of the covariance, and of the noise. By default those that make the observations most probable.
    """
    points = covariance.points(rows)
    parts = covariance.matrices(points)
    flat = FLAT * ((1.0 if contrasts is None else 0.0) + expected @ expected.T)
    observed, fixed = parts, flat
    if contrasts is not None:
        # Part by part, because what stands between takes as much memory again.
        observed = np.array([contrasts @ part @ contrasts.T for part in parts])
        fixed = contrasts @ flat @ contrasts.T
    if variances is None:
        few = drawn(len(targets), DECIDING)
        variances = fit_variances(observed[:, few][:, :, few], fixed[np.ix_(few, few)], targets[few])
    inverse = np.linalg.inv(covariance_of(observed, fixed, variances))
    crossing = np.tensordot(variances[:-1], parts, axes=1) + flat
    prior = np.diag(crossing).copy()
    weights, precision = inverse @ targets, inverse
    if contrasts is not None:
        weights, precision = contrasts.T @ weights, contrasts.T @ inverse @ contrasts
        crossing = crossing @ contrasts.T
    lesson = Lesson(covariance, points, expected, variances, weights, precision, contrasts is not None)
    return RefittableLesson(lesson, inverse, targets, crossing, prior)
