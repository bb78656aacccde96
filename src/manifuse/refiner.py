"""Refiner: everything that rows that came later need of a refinement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manifuse.diffusion.familiarity import Familiarity
from manifuse.diffusion.fit import Fit
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.problem import Problem
from manifuse.diffusion.transport import Transport
from manifuse.diffusion.units import Units
from manifuse.evidence.likeness import Rows
from manifuse.evidence.mixture import Mixture
from manifuse.evidence.teaching import Teaching
from manifuse.kernels.arrays import FloatArray
from manifuse.records import Saved


@dataclass(frozen=True, eq=False)
class Later:
    """Later rows, refined.

    Attributes
    ----------
    scores : (q,) array
    row_sums : (q, m) array
        Pair evidence that arrives at each row.
    errors : (q,) array or None
        Standard errors; None if no label taught.
    familiar : (q,) array
        How near a row is to the fitted ones, in [0, 1]. At 0, ``scores`` must not be used.
    """

    scores: FloatArray
    row_sums: FloatArray
    errors: FloatArray | None
    familiar: FloatArray


@dataclass(frozen=True, eq=False)
class Applied:
    """Rows that came later, refined.

    Attributes
    ----------
    predictions : array, series or tensor (q,)
        In the library of the later rows.
    support : (q,) array
        As `Refinement.support`.
    errors : (q,) array or None
        Standard errors, as `Refinement.errors`.
    """

    predictions: Any
    support: FloatArray
    errors: FloatArray | None


@dataclass(frozen=True, eq=False)
class Refiner(Saved):
    """A refinement as a function of rows.

    Attributes
    ----------
    fit : Fit
        The diffusion.
    teaching : Teaching or None
        What labels and references taught; None if they only tuned the diffusion.
    mixture : Mixture or None
        How both are mixed, likewise.
    """

    fit: Fit
    teaching: Teaching | None
    mixture: Mixture | None

    def refine(self, new: Observations) -> Later:
        """Refine later rows.

        Raises
        ------
        InputError
            If they lack features of the fitted rows, or there is not enough memory.
        """
        if self._reads_features:
            new = new.arranged_like(self.fit.main)
        units = self.fit.units
        if self.teaching is None or self.mixture is None:
            diffused, row_sums = self.fit.extend(new, units.to_sphere(new.scores))
            return Later(units.from_sphere(diffused), row_sums, None, self._familiar(new))
        rows, expected = self.teaching.at(self._rows(new), new.keys, self.fit.bridges.lookups)
        learned, variances = self.teaching.learn(rows, expected)
        diffused, row_sums = self.fit.extend(new, units.sphere_from_standardised(learned))
        values = self.mixture.mix(learned, units.standardised_from_sphere(diffused))
        errors = self.mixture.errors(variances)
        return Later(self.mixture.in_units(values, units), row_sums, errors, self._familiar(new))

    @cached_property
    def _familiarity(self) -> Familiarity | None:
        """Where the fitted rows are, if their features are read."""
        return Familiarity.of(self.fit.main) if self._reads_features else None

    def _familiar(self, new: Observations) -> FloatArray:
        """How near later rows are to the fitted ones; without features, whether a reference knows them."""
        if self._familiarity is not None:
            return self._familiarity.at(new)
        lookups = self.fit.bridges.lookups.values()
        known = [lookup.at(new.keys)[1] > 0 for lookup in lookups]
        return np.any(known, axis=0).astype(np.float64) if known else np.ones(len(new))

    @property
    def _reads_features(self) -> bool:
        """Whether the features of later rows are read: by the graph or by a lesson."""
        return bool(self.fit.bridges.graph.neighbours) or self.fit.smoothing is not None or self._learned_from_features

    @property
    def _learned_from_features(self) -> bool:
        teaching = self.teaching
        return teaching is not None and (teaching.lesson is not None or bool(teaching.imputation.lessons))

    def _rows(self, new: Observations) -> Rows:
        """What is known of later rows without references."""
        smoothing = self.fit.smoothing
        columns = [self.fit.units.standardise(new.scores)] + ([] if smoothing is None else [smoothing.extend(new)])
        nothing = np.empty((len(new), 0))
        reads = self._learned_from_features and self.fit.main.table is not None
        return Rows(np.column_stack(columns), nothing, new.table if reads and new.table is not None else nothing)

    def check(self) -> None:
        """Refuse parts that do not fit together."""
        if (self.teaching is None) != (self.mixture is None):
            raise ValueError("there is a lesson without a mixture, or a mixture without a lesson")
        numbers = () if self.teaching is None else self.teaching.imputation.numbers
        if any(not 0 <= number < self.fit.bridges.count for number in numbers):
            raise ValueError("a reference takes part that there is not")
        if self.teaching is not None:
            main, learned = self.fit.main, self.teaching.lesson
            known = (1 if self.fit.smoothing is None else 2, 0 if main.table is None else main.table.shape[1])
            lessons = [(pairs.lesson, 0) for pairs in self.teaching.imputation.lessons]
            lessons += [] if learned is None else [(learned, len(numbers))]
            for lesson, references in lessons:
                rows = lesson.rows
                if (rows.scores.shape[1], rows.features.shape[1], rows.references.shape[1]) != (*known, references):
                    raise ValueError("a lesson was learned of other columns than rows have")


def support_of_rows(row_sums: FloatArray, typical: FloatArray, weights: FloatArray) -> FloatArray:
    """Average over references, by weight, of row sums divided by those at a typical pair; shape (n,), in [0, 1]."""
    if not len(weights):
        return np.zeros(len(row_sums))
    # If no reference took part, all count alike.
    weights = weights if weights.sum() > 0 else np.ones(len(weights))
    shares = row_sums / typical
    np.clip(shares, 0.0, 1.0, out=shares)
    return np.asarray(shares @ (weights / weights.sum()))


def typical_row_sums(problem: Problem, transport: Transport) -> FloatArray:
    """Row sum of every reference's bridge at a typical pair, shape (m,)."""
    pairs = [reference.main_rows for reference in problem.references]
    return np.array([np.median(transport.row_sums[rows, number]) for number, rows in enumerate(pairs)])


def place(own: FloatArray, fitted: FloatArray, refined: FloatArray) -> FloatArray:
    """Refined scores of later rows (q,) of which only their own scores are known.

    A row has the place among the refined scores (n,) that its own score has among the fitted ones (n,). Beyond their
    ends it is as far away, in standard deviations.
    """
    levels, counts = np.unique(fitted, return_counts=True)
    sums = np.add.reduceat(np.sort(refined), np.concatenate([[0], np.cumsum(counts)[:-1]]))
    places = sums / counts
    ratio = Units.of(refined).scale / Units.of(fitted).scale
    beyond = own - np.clip(own, levels[0], levels[-1])
    return np.asarray(np.interp(own, levels, places) + ratio * beyond)
