"""Lacking: the scores of coupled references at later rows that these lack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.diffusion.later_rows import LaterRows
from manifuse.diffusion.observations import Observations
from manifuse.evidence.lesson import Lesson, learn
from manifuse.evidence.likeness import MEASURED, Likeness, Rows
from manifuse.evidence.teaching import Teaching
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn_by_id

#: At most so many fitted rows teach.
MOST_ROWS = 500

#: Variance that every error has at least, where scores have about 1: a reference that hardly errs at the fitted rows
#: would say too much of the others.
LEAST_VARIANCE = 0.01


@dataclass(frozen=True, eq=False)
class Lacking:
    """What is known of c coupled references at rows that some of them lack, learned at the fitted rows.

    A lesson predicts all of them from what is known of a row. What it was wrong by in the references that have the row
    says how wrong it is in the others, as far as their errors at held-out rows are correlated.

    Attributes
    ----------
    numbers : tuple of int
        The references.
    lesson : Lesson
    errors : (c, c) array
        Covariance of its errors at held-out rows.
    count : int
        Number of held-out rows.
    kept : float
        How well a row is known that all of them lack, in [0, 1]. 1: what is learned of it is what it would be with
        their scores; 0: it is not nearer to that than the row's own score, or nothing was learned.
    """

    numbers: tuple[int, ...]
    lesson: Lesson
    errors: FloatArray
    count: int
    kept: float

    @classmethod
    def learn(
        cls, main: Observations, rows: Rows, coupled: Mapping[int, FloatArray], teaching: Teaching | None
    ) -> Self:
        """Learn.

        Parameters
        ----------
        main : Observations
        rows : Rows
            What is known of the fitted rows without references.
        coupled : mapping of int to (n,) array
            Scores of the coupled references that are in use, by their numbers.
        teaching : Teaching or None
        """
        rng, everything = np.random.default_rng(0), np.arange(len(rows))
        likeness = Likeness.of(rows, drawn_by_id(main.keys, everything, MEASURED, rng), main.name)
        few = drawn_by_id(main.keys, everything, MOST_ROWS, rng)
        rows, scores = rows.take(few), np.column_stack([each[few] for each in coupled.values()])
        alone = [np.array([row]) for row in range(len(few))]
        learned = learn(likeness, rows, rows.scores[:, 0], scores, alone)
        wrong, kept = scores - learned.held_out, 0.0
        if teaching is not None:
            there = np.ones(len(few))
            told, guessed = (
                teaching.learn(*teaching.at(rows, {n: (c, there) for n, c in zip(coupled, values.T, strict=True)}))[0]
                for values in (scores, learned.held_out)
            )
            whole = float(np.mean((rows.scores[:, 0] - told) ** 2))
            kept = max(0.0, 1.0 - float(np.mean((guessed - told) ** 2)) / whole) if whole > 0 else 1.0
        return cls(tuple(coupled), learned.lesson, wrong.T @ wrong / len(few), len(few), kept)

    def fill(self, new: LaterRows, rows: Rows) -> LaterRows:
        """Fill in later rows (q), of which ``rows`` is what is known without references."""
        predicted = self.lesson.predict(rows, rows.scores[:, 0])
        values = np.column_stack([new.looked_up[number][0] for number in self.numbers])
        known = np.column_stack([new.looked_up[number][1] > 0 for number in self.numbers])
        patterns, which = np.unique(known, axis=0, return_inverse=True)
        which = which.ravel()  # NumPy 2.0 gives it as a column.
        order = np.argsort(which, kind="stable")
        starts = np.searchsorted(which[order], np.arange(1, len(patterns)))
        for pattern, here in zip(patterns, np.split(order, starts), strict=True):
            if pattern.any() and not pattern.all():
                there, lacked = np.flatnonzero(pattern), np.flatnonzero(~pattern)
                correction = np.zeros((len(here), len(lacked)))
                # One after another: products of matrices are rounded by the number of their rows.
                for column, slope in zip(there, self._slopes(there, lacked), strict=True):
                    correction += (values[here, column] - predicted[here, column])[:, None] * slope
                predicted[here[:, None], lacked] += correction
        return new.with_predicted(self.numbers, predicted, self.kept)

    def _slopes(self, there: IndexArray, lacked: IndexArray) -> FloatArray:
        """What an error in each of k references says of the errors in others that lack the row (r), shape (k, r)."""
        among = self.errors[np.ix_(there, there)]
        # The more references there are for the rows that measured them, the less is their covariance known.
        among[np.diag_indices(len(there))] *= 1.0 + len(there) / self.count
        among[np.diag_indices(len(there))] += LEAST_VARIANCE
        return np.asarray(np.linalg.solve(among, self.errors[np.ix_(there, lacked)]))
