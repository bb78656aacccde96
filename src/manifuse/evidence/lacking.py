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
from manifuse.kernels.arrays import FloatArray, drawn_by_id

#: At most so many fitted rows teach.
MOST_ROWS = 500

#: Share of an error's variance that is noise at least, so that two references which are alike can be told apart.
LEAST_NOISE = 1e-6


@dataclass(frozen=True, eq=False)
class Lacking:
    """What is known of c coupled references at rows that some of them lack, learned at the fitted rows.

    A lesson predicts all of them from what is known of a row. What it was wrong by in the references that have the row
    says how wrong it is in the others, as far as their errors at held-out rows are correlated.

    Attributes
    ----------
    lesson : Lesson
    errors : (c, c) array
        Covariance of its errors at held-out rows.
    kept : float
        How much of what is learned of a row remains if all of them lack it, in [0, 1]: 0 if it is as far from what
        their scores would tell as the row's own score is.
    """

    lesson: Lesson
    errors: FloatArray
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
            Scores of the coupled references.
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
        return cls(learned.lesson, wrong.T @ wrong / len(few), kept)

    def fill(self, new: LaterRows, rows: Rows) -> LaterRows:
        """Fill in later rows, of which ``rows`` is what is known without references."""
        predicted = self.lesson.predict(rows, rows.scores[:, 0])
        values = np.column_stack([found for found, _ in new.looked_up.values()])
        known = np.column_stack([there > 0 for _, there in new.looked_up.values()])
        for pattern in np.unique(known, axis=0):
            if pattern.any() and not pattern.all():
                here = np.all(known == pattern, axis=1)
                among = self.errors[np.ix_(pattern, pattern)]
                among[np.diag_indices(len(among))] *= 1.0 + LEAST_NOISE
                slopes = np.linalg.pinv(among, hermitian=True) @ self.errors[np.ix_(pattern, ~pattern)]
                wrong = values[np.ix_(here, pattern)] - predicted[np.ix_(here, pattern)]
                # One after another: products of matrices are rounded by the number of their rows.
                for column, slope in zip(wrong.T, slopes, strict=True):
                    predicted[np.ix_(here, ~pattern)] += column[:, None] * slope
        return new.with_predicted(predicted, self.kept)
