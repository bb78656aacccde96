"""Imputed: the references' scores at every row, learned at the pairs if a reference does not know the row."""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from manifuse.columns.column import Column, FittedViews
from manifuse.columns.covariance import Covariance
from manifuse.columns.lesson import Lesson, RefittableLesson, learn, predict_each
from manifuse.columns.view import View
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn
from manifuse.tables.level import Level
from manifuse.tables.problem import KNOWS_MOST, Lookup, Reference

#: At most so many pairs teach how a reference is imputed; the others are predicted as all rows are. A reference that
#: knows all main rows is imputed only at rows that come later, from fewer.
MOST_PAIRS, MOST_COMMON = 1000, 300


@dataclass(frozen=True, eq=False)
class ReferenceLesson:
    """The lesson of one reference.

    Attributes
    ----------
    lesson : Lesson
    column : int
        Which reference it imputes, among those that take part.
    known_share : float
        Of all main rows, fitted or not, the share that the reference knows.
    """

    lesson: Lesson
    column: int
    known_share: float

    @property
    def knows_most(self) -> bool:
        """Whether the reference knows most main rows, so that what it knows is usual."""
        return self.known_share > KNOWS_MOST


@dataclass(frozen=True, eq=False)
class Imputed(Column):
    """The scores at any row of the references that take part.

    Attributes
    ----------
    numbers : tuple of int
        The references that take part, by their numbers.
    names : tuple of str
        Of these.
    lessons : tuple of ReferenceLesson
    lookups : mapping of int to Lookup
        Scores of the references that later rows are looked up in, by their numbers.
    levels : tuple of Level
        Of every reference at its pairs.
    """

    numbers: tuple[int, ...]
    names: tuple[str, ...]
    lessons: tuple[ReferenceLesson, ...]
    lookups: Mapping[int, Lookup]
    levels: tuple[Level, ...]

    def add_to(self, rows: View, name: str) -> View:
        """Add the scores (q, m, c), standardised by the pairs, and what else is known with them; see `Column.add_to`.

        That is "imputed", "doubt" and "known itself"; see `View`.
        """
        asked = [each for each in self.lessons if not each.knows_most or not rows.known[:, each.column].all()]
        scores, imputed, doubt = self._said(rows, asked)
        # Lessons read what most rows have: of a reference that knows few, imputed scores, even where it knows the row.
        imputed[:, self.usual] = scores[:, self.usual]
        rows = rows.with_column(name, scores).with_column("imputed", imputed)
        return rows.with_column("doubt", doubt).with_column("known itself", self._pairs(rows))

    def _said(self, rows: View, asked: Sequence[ReferenceLesson]) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Scores of rows, known or predicted; what lessons predict, both (q, m, c); and the doubt of scores (q, m)."""
        imputed, doubt = np.zeros_like(rows["looked up"]), np.ones_like(rows.known)
        predicted = predict_each([each.lesson for each in asked], rows, _nothing(rows))
        for each, (values, variances) in zip(asked, predicted, strict=True):
            # The targets of a lesson have variance 1.
            imputed[:, each.column] = values
            doubt[:, each.column] = np.clip(variances + each.lesson.noise, 0.0, 1.0)
        known = rows.known > 0
        return np.where(known[..., None], rows["looked up"], imputed), imputed, np.where(known, 0.0, doubt)

    def look_up(self, keys: NDArray[np.str_], rows: View) -> View:
        """Add what the references know of rows with these ids."""
        values, known = np.zeros((len(keys), len(self.numbers), rows["own"].shape[1])), np.zeros_like(rows.known)
        for column, number in enumerate(self.numbers):
            if number in self.lookups:
                found, known[:, column] = self.lookups[number].at(keys)
                values[:, column] = self.levels[column].apply(found.reshape(len(keys), -1))
        return View(rows.features, {**rows.columns, "looked up": values}, known, rows.edges)

    def _pairs(self, rows: View) -> FloatArray:
        """1 where a reference knows a row itself that is imputed at other main rows, else 0, shape (q,)."""
        imputed = [each.column for each in self.lessons if each.known_share < 1]
        return np.asarray(rows.known[:, imputed].max(axis=1, initial=0.0))

    @property
    def common(self) -> IndexArray:
        """Columns of the references that know all main rows, so that they have no lesson."""
        return np.setdiff1d(np.arange(len(self.numbers)), [each.column for each in self.lessons])

    @property
    def usual(self) -> IndexArray:
        """Columns of the usual references: those that know most main rows, or all."""
        rare = [each.column for each in self.lessons if not each.knows_most]
        return np.setdiff1d(np.arange(len(self.numbers)), rare)

    def unknown(self, rows: View) -> FloatArray:
        """Share of the usual references that do not know rows, (q,)."""
        known = rows.known[:, self.usual]
        return 1.0 - known.mean(axis=1) if known.shape[1] else np.zeros(len(rows))

    def with_lesson_of_common(
        self, rows: View, few: IndexArray, measured: IndexArray, name: str
    ) -> tuple[Self, View, FloatArray]:
        """Learn the references that know all fitted ``rows``, for later rows that they do not know.

        Parameters
        ----------
        rows : View
            The fitted rows, with what references know of them.
        few : (k,) array of int
            Those that teach.
        measured, name
            As of `impute`.

        Returns
        -------
        imputed : Imputed
        taught : View
            The rows that taught, as if no other reference knew them.
        unseen : (k, m, c) array
            The references' scores there, if these references do not know them either.
        """
        common, lessons = self.common, list(self.lessons)
        taught = rows.take(few)
        alone = np.zeros_like(taught.known)
        alone[:, common] = taught.known[:, common]
        taught = self.add_to(replace(taught, known=alone), "references")
        unseen = taught["references"].copy()
        covariance = Covariance.of(rows, measured, name)
        for column in common:
            learned = learn(covariance, taught, unseen[:, column], _nothing(unseen))
            unseen[:, column] = _without_each(learned)
            lessons.append(ReferenceLesson(learned.lesson, int(column), known_share=1.0))
        return replace(self, lessons=tuple(lessons)), taught, unseen


def impute(
    views: FittedViews, references: Mapping[int, Reference], measured: IndexArray, places: IndexArray, name: str
) -> tuple[Imputed, FittedViews]:
    """Add the columns "references", "imputed", "unseen", "known itself" and "doubt".

    Parameters
    ----------
    views : FittedViews
    references : mapping of int to Reference
        Those that take part, by their numbers.
    measured : (k,) array of int
        The rows that measure distances.
    places : (n,) array of int
        Of the rows; see `RunInputs.places`.
    name : str
        Of the main table, for messages.

    Returns
    -------
    column : Imputed
    views : FittedViews
        A reference's score is known at its pairs. Held out, it is predicted there from the other pairs, unless the
        reference knows most rows; and no row counts as a pair. Unseen, it is always predicted from the other pairs,
        but for references that know all rows. Doubt is as of `Imputed.add_to`.
    """
    rows, count = views.fitted, len(references)
    covariance = Covariance.of(rows, measured, name)
    values, levels = np.zeros((len(rows), count, rows["own"].shape[1])), []
    lessons, alone = [], []
    for column, reference in enumerate(references.values()):
        paired_rows, paired = reference.main_rows, reference.paired.reshape(len(reference.main_rows), -1)
        levels.append(Level.of(paired))
        values[paired_rows, column] = levels[-1].apply(paired)
        if not reference.is_coupled:
            # In an order that does not depend on where rows stand, as what is drawn of them later is.
            pairs = paired_rows[np.argsort(places[paired_rows])][drawn(len(paired_rows), MOST_PAIRS)]
            learned = learn(covariance, rows.take(pairs), values[pairs, column], _nothing(pairs))
            lessons.append(ReferenceLesson(learned.lesson, column, reference.known_share))
            alone.append((pairs, _without_each(learned)))
    lookups = {number: each.lookup for number, each in references.items() if each.lookup is not None}
    names = tuple(each.name for each in references.values())
    imputed = Imputed(tuple(references), names, tuple(lessons), lookups, tuple(levels))
    scores, never, doubt = imputed._said(rows.with_column("looked up", values), lessons)
    never[:, imputed.common] = scores[:, imputed.common]
    for each, (pairs, without) in zip(lessons, alone, strict=True):
        never[pairs, each.column] = without
    held_out = never.copy()
    held_out[:, imputed.usual] = scores[:, imputed.usual]
    views = views.add("references", scores, held_out).add("imputed", held_out).add("unseen", never)
    return imputed, views.add("known itself", imputed._pairs(rows), np.zeros(len(rows))).add("doubt", doubt)


def _nothing(rows: Sized) -> FloatArray:
    """Nothing is expected of the scores of references at rows: no columns, shape (q, 0)."""
    return np.empty((len(rows), 0))


def _without_each(learned: RefittableLesson) -> FloatArray:
    """What a lesson says of each row that taught (p, t), without that row."""
    alone = [np.array([row]) for row in range(len(learned.targets))]
    return learned.without(alone, alone)[0]
