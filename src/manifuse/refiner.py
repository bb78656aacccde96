"""Refiner: everything that rows that came later need of a refinement. It is a function of a batch of rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits

from manifuse.diffusion.edges import Edges
from manifuse.diffusion.familiarity import Familiarity, warn_of_changes
from manifuse.diffusion.fit import Fit
from manifuse.diffusion.later_rows import LaterRows
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.ranks import Ranks
from manifuse.diffusion.support import support_of_rows
from manifuse.errors import InputError
from manifuse.evidence.lacking import Lacking
from manifuse.evidence.likeness import Rows
from manifuse.evidence.mixture import LARGEST_ERROR, Mixture
from manifuse.evidence.neighbourhood import places_of
from manifuse.evidence.teaching import Teaching
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray
from manifuse.kernels.keys import KeyIndex
from manifuse.machine import threads
from manifuse.records import Saved

#: Calls from several threads wait for each other, because each limits the threads of libraries.
ONE_AT_A_TIME = Lock()

#: Later rows are refined in blocks of so many.
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Refined(Saved):
    """Rows, refined, as NumPy arrays.

    Attributes
    ----------
    scores : (n,) array
        In the units of the main predictor or, after a regression, of the targets.
    support : (n,) array
        As `Refinement.support`.
    errors : (n,) array or None
        Standard errors; None if no label taught.
    """

    scores: FloatArray
    support: FloatArray
    errors: FloatArray | None

    @classmethod
    def unchanged(cls, table: Observations) -> Self:
        """Return the scores of a table as they came, without support."""
        return cls(table.scores, np.zeros(len(table)), None)

    def in_scale_of(self, table: Observations) -> Refined:
        """Return the same in the scale of ``table``: probabilities, with errors by the delta method."""
        scores, errors = table.in_scale(self.scores), self.errors
        if errors is not None and table.scale == "probability":
            errors = errors * expit(self.scores) * expit(-self.scores)
        return Refined(scores, self.support, errors)

    def followed_by(self, more: Refined) -> Refined:
        """Return these rows and, after them, more."""
        errors = None if self.errors is None or more.errors is None else np.append(self.errors, more.errors)
        return Refined(np.append(self.scores, more.scores), np.append(self.support, more.support), errors)

    def check(self) -> None:
        """Refuse arrays that do not fit together or are not finite."""
        arrays = [self.scores, self.support, *([] if self.errors is None else [self.errors])]
        if any(array.shape != (len(self.scores),) or not np.isfinite(array).all() for array in arrays):
            raise ValueError("scores, support and errors do not fit together, or are not finite")


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
    weights : (m,) array
        Of the references at the end.
    typical : (m,) array
        Row sum of every reference's bridge at a typical pair, which support is measured by.
    fitted : Refined
        The fitted rows.
    """

    fit: Fit
    teaching: Teaching | None
    mixture: Mixture | None
    weights: FloatArray
    typical: FloatArray
    fitted: Refined

    def refine(self, new: Observations) -> Refined:
        """Refine rows. Fitted rows have their fitted scores; the score of another does not depend on rows beside it.

        Raises
        ------
        InputError
            If they lack features of the fitted rows, or there is not enough memory.
        """
        rows, known = self.locate(new.keys)
        if self._reads_features:
            new = new.arranged_like(self.fit.main)
        warn_of_changes(new, self.fit.main, rows, known)
        fitted = self.fitted
        made = Refined(
            np.where(known, fitted.scores[rows], 0.0),
            np.where(known, fitted.support[rows], 0.0),
            None if fitted.errors is None else np.where(known, fitted.errors[rows], 0.0),
        )
        later = np.flatnonzero(~known)
        if len(later):
            self._refine_later(new, later, made)
        return made

    def _refine_later(self, new: Observations, later: IndexArray, made: Refined) -> None:
        """Refine the rows ``later`` of a table into ``made``."""
        rows = LaterRows.of(new, self.fit.bridges.lookups)
        # Sums that threads share are rounded by the number of threads. The limit is one of the whole process.
        with ONE_AT_A_TIME, threadpool_limits(1):
            self._prepare(rows)
        if self._familiarity is not None:
            self._familiarity.warn_of_strange(new)

        def work(first: int) -> None:
            here = later[first : first + BLOCK]
            with np.errstate(all="ignore"):
                block = self._refine_block(rows.block(here, BLOCK))
            made.scores[here], made.support[here] = block.scores[: len(here)], block.support[: len(here)]
            if made.errors is not None and block.errors is not None:
                made.errors[here] = block.errors[: len(here)]

        # One thread for each block: the libraries below would share a block among threads, which rounds otherwise.
        pool = ThreadPoolExecutor(threads(), initializer=_use_one_thread)
        with ONE_AT_A_TIME, threadpool_limits(1), pool:
            for _ in pool.map(work, range(0, len(later), BLOCK)):
                pass
        found = [made.scores, made.support, *([] if made.errors is None else [made.errors])]
        if not all(np.isfinite(each[later]).all() for each in found):
            raise InputError(
                f"Refined scores of {new.name} leave the range of numbers; its scores or features, or the saved "
                "refinement, hold numbers that are too large."
            )

    def _prepare(self, new: LaterRows) -> None:
        """Compute what all blocks of later rows need, before threads share it."""
        self.fit.prepare()
        _ = self._familiarity, self._ranks, None if self.fitted.errors is None else self._error_of_ranks
        _ = self._lacking if new.are_lacked_by(self._coupled) else None

    def _refine_block(self, new: LaterRows) -> Refined:
        """Refine later rows, of which there are `BLOCK`."""
        units = self.fit.units
        edges = Edges.of(new, self.fit.index, self.fit.graph)
        rows, familiar = self._rows(new, edges), self._familiar(new, edges)
        if new.are_lacked_by(self._coupled):
            new = self._lacking.fill(new, rows)
        if self.teaching is None or self.mixture is None:
            diffused, row_sums = self.fit.extend(new, edges, units.to_sphere(new.scores))
            scores, errors = units.from_sphere(diffused), None
        else:
            complete, expected = self.teaching.at(rows, new.looked_up)
            learned, variances = self.teaching.learn(complete, expected)
            diffused, row_sums = self.fit.extend(new, edges, units.sphere_from_standardised(learned))
            values = self.mixture.mix(learned, units.standardised_from_sphere(diffused))
            scores, errors = self.mixture.in_units(values, units), self.mixture.errors(variances)
        scores = familiar * scores + (1.0 - familiar) * self._ranks.at(new.scores)
        if errors is not None:
            sure = familiar * self._known(new)
            errors = np.asarray(np.hypot(np.sqrt(sure) * errors, np.sqrt(1.0 - sure) * self._error_of_ranks))
        return Refined(scores, familiar * support_of_rows(row_sums, self.typical, self.weights), errors)

    def locate(self, keys: NDArray[np.str_]) -> tuple[IndexArray, BoolArray]:
        """The fitted row of every id (q,), and whether it was fitted at all; each (q,)."""
        return self._fitted_keys.locate(keys)

    def places_before(self, keys: NDArray[np.str_]) -> FloatArray:
        """Places of rows (q,) before the diffusion: 0 for the lowest, 100 for the highest; NaN if not fitted."""
        rows, fitted = self.locate(keys)
        return np.where(fitted, places_of(self.fit.start)[rows], np.nan)

    @cached_property
    def _fitted_keys(self) -> KeyIndex:
        return KeyIndex(self.fit.main.keys)

    @cached_property
    def _lacking(self) -> Lacking:
        """What predicts the scores of coupled references at rows that these lack."""
        main, lookups = self.fit.main, self.fit.bridges.lookups
        coupled = {number: lookups[number].scores[lookups[number].main_rows] for number in self._coupled}
        rows = Rows.of_fitted(main, self.fit.smoothing)
        if not self._learned_from_features:
            rows = replace(rows, features=np.empty((len(rows), 0)))
        return Lacking.learn(main, rows, coupled, self.teaching)

    @cached_property
    def _ranks(self) -> Ranks:
        return Ranks.of(self.fit.main.scores, self.fitted.scores)

    @cached_property
    def _error_of_ranks(self) -> float:
        """Standard error of a score that is known by its own place alone, from what both kinds of rows are off."""
        errors, places = self.fitted.errors, self._ranks.at(self.fit.main.scores)
        assert errors is not None, "no label taught"
        largest = max(float(errors.max()), float(np.abs(self.fitted.scores - places).max())) or 1.0
        off = ((self.fitted.scores - places) / largest) ** 2 + (errors / largest) ** 2
        return min(largest * float(np.sqrt(off.mean())), LARGEST_ERROR)

    @cached_property
    def _familiarity(self) -> Familiarity | None:
        """Where the fitted rows are, if their features are read."""
        return Familiarity.of(self.fit.main, self.fit.index) if self._reads_features else None

    def _familiar(self, new: LaterRows, edges: Edges) -> FloatArray:
        """How near later rows are to the fitted ones; without features, whether a reference in use knows them."""
        if self._familiarity is not None:
            return self._familiarity.at(new, edges, self.fit.index)
        return (self._known(new) > 0).astype(np.float64)

    def _known(self, new: LaterRows) -> FloatArray:
        """How well the references in use know later rows; those with a bridge know all rows that are near."""
        known = [new.looked_up[n][1] if n in new.looked_up else np.ones(len(new)) for n in self._in_use]
        return np.asarray(np.mean(known, axis=0)) if known else np.ones(len(new))

    @property
    def _in_use(self) -> list[int]:
        """The references that the scores come from."""
        teaching = self.teaching
        if teaching is None:
            return [int(number) for number in np.flatnonzero(self.weights > 0)]
        asked = zip(teaching.imputation.numbers, teaching.weights.tolist(), strict=True)
        return [number for number, weight in asked if teaching.lesson is not None or weight != 0]

    @property
    def _coupled(self) -> list[int]:
        """The coupled ones among the references that the scores come from."""
        return [number for number in self._in_use if number in self.fit.bridges.lookups]

    @property
    def _reads_features(self) -> bool:
        """Whether the features of later rows are read: by the graph or by a lesson."""
        return bool(self.fit.graph.neighbours) or self._learned_from_features

    @property
    def _learned_from_features(self) -> bool:
        teaching = self.teaching
        return teaching is not None and (teaching.lesson is not None or bool(teaching.imputation.lessons))

    def _rows(self, new: LaterRows, edges: Edges) -> Rows:
        """What is known of later rows without references."""
        own, smoothing = self.fit.units.standardise(new.scores), self.fit.smoothing
        columns = [own] + ([] if smoothing is None else [smoothing.extend(own, edges)])
        nothing = np.empty((len(new), 0))
        reads = self._learned_from_features and self.fit.main.table is not None
        return Rows(np.column_stack(columns), nothing, new.features if reads and new.features is not None else nothing)

    def check(self) -> None:
        """Refuse parts that do not fit together."""
        for name in ("weights", "typical"):
            array = getattr(self, name)
            if array.shape != (self.fit.bridges.count,) or not np.isfinite(array).all():
                raise ValueError(f"{name} does not fit the references, or is not finite")
        if len(self.fitted.scores) != len(self.fit.main):
            raise ValueError("the refined rows are not those of the fit")
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


def _use_one_thread() -> None:
    """Let the libraries that a thread calls use no further threads; each thread has a number of its own."""
    threadpool_limits(1, user_api="openmp")
