"""Imputation: the references' scores at every main row, learned from the main table's own rows at the pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from manifuse.diffusion.problem import Problem
from manifuse.evidence.lesson import Lesson, learn
from manifuse.evidence.likeness import Likeness, Rows
from manifuse.evidence.standard import Standard
from manifuse.kernels.arrays import FloatArray, IndexArray, thinned
from manifuse.records import Saved

#: At most so many pairs teach how references are imputed; the others are predicted as all rows are.
MOST_PAIRS = 2000


@dataclass(frozen=True, eq=False)
class PairLesson(Saved):
    """One lesson for all references with the same pairs.

    Attributes
    ----------
    lesson : Lesson
    columns : tuple of int
        Which references it imputes, among those that take part.
    """

    lesson: Lesson
    columns: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Imputation(Saved):
    """How the scores of the references that take part are known at any row.

    Attributes
    ----------
    numbers : tuple of int
        The references that take part, by their numbers.
    lessons : tuple of PairLesson
        Of the references that are known at pairs only; the others are looked up.
    levels : tuple of Standard
        Mean and standard deviation of each column over the fitted rows.
    """

    numbers: tuple[int, ...]
    lessons: tuple[PairLesson, ...]
    levels: tuple[Standard, ...]

    def at(
        self, rows: Rows, expected: FloatArray, looked_up: Mapping[int, tuple[FloatArray, FloatArray]]
    ) -> FloatArray:
        """Scores (q, m) at later rows, whose own scores are ``expected`` (q,), standardised by the fitted rows.

        See `LaterRows` for what is ``looked_up``; what the references lack must be filled in already.
        """
        columns = np.zeros((len(rows), len(self.numbers)))
        for pairs in self.lessons:
            columns[:, list(pairs.columns)] = pairs.lesson.predict(rows, expected)
        for column, number in enumerate(self.numbers):
            if number in looked_up:
                columns[:, column] = looked_up[number][0]
        return _standardised(self.levels, columns)

    def check(self) -> None:
        """Refuse parts that do not fit together."""
        columns = sorted(column for pairs in self.lessons for column in pairs.columns)
        if len(self.levels) != len(self.numbers) or len(set(columns)) != len(columns):
            raise ValueError("the imputed references do not fit together")
        if columns and not 0 <= columns[0] <= columns[-1] < len(self.numbers):
            raise ValueError("a lesson imputes a reference that does not take part")


@dataclass(frozen=True, eq=False)
class Imputed:
    """The references' scores at the fitted rows.

    Attributes
    ----------
    imputation : Imputation
    values : (n, m) array
        Standardised.
    held_out : (n, m) array
        The same, but at its pairs a reference is predicted without the pair. A coupled reference is just known.
    """

    imputation: Imputation
    values: FloatArray
    held_out: FloatArray

    def only(self, columns: Sequence[int]) -> Self:
        """Return some of the columns; how they are imputed stays that of all."""
        chosen = list(columns)
        return replace(self, values=self.values[:, chosen], held_out=self.held_out[:, chosen])

    def take(self, rows: IndexArray) -> Self:
        """Return some of the rows."""
        return replace(self, values=self.values[rows], held_out=self.held_out[rows])

    @classmethod
    def of(
        cls, problem: Problem, numbers: Sequence[int], rows: Rows, expected: FloatArray, likeness: Likeness
    ) -> Self:
        """Impute the references ``numbers`` of a problem.

        Parameters
        ----------
        problem : Problem
        numbers : sequence of int
        rows : Rows
            The fitted rows, without references.
        expected : (n,) array
            The main predictor's own scores, standardised.
        likeness : Likeness
            Of ``rows``.
        """
        values = np.empty((len(rows), len(numbers)))
        groups: dict[bytes, list[int]] = {}
        for column, number in enumerate(numbers):
            reference = problem.references[number]
            if reference.is_coupled:
                values[reference.main_rows, column] = reference.paired
            else:
                groups.setdefault(reference.main_rows.tobytes(), []).append(column)
        held_out, lessons = values.copy(), []
        for columns in groups.values():
            all_pairs = problem.references[numbers[columns[0]]].main_rows
            taken = thinned(len(all_pairs), MOST_PAIRS)
            pairs = all_pairs[taken]
            scores = np.column_stack([problem.references[numbers[column]].paired[taken] for column in columns])
            learned = learn(
                likeness,
                rows.take(pairs),
                expected[pairs],
                _standardised([Standard.of(each) for each in scores.T], scores),
                [np.array([pair]) for pair in range(len(pairs))],
            )
            values[:, columns] = learned.lesson.predict(rows, expected)
            held_out[:, columns] = values[:, columns]
            held_out[pairs[:, None], columns] = learned.held_out
            lessons.append(PairLesson(learned.lesson, tuple(columns)))
        levels = [Standard.of(column) for column in values.T]
        imputation = Imputation(tuple(numbers), tuple(lessons), tuple(levels))
        return cls(imputation, _standardised(levels, values), _standardised(levels, held_out))


def _standardised(levels: Sequence[Standard], columns: FloatArray) -> FloatArray:
    made = [level.apply(column) for level, column in zip(levels, columns.T, strict=True)]
    return np.column_stack(made) if made else np.empty((len(columns), 0))
