"""Later rows: how rows that are not among the fitted ones are refined, a block at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from threadpoolctl import threadpool_limits

from manifuse.backends.index import Index
from manifuse.columns.all_columns import MEASURING_ROWS, Columns
from manifuse.columns.change_if_unknown import ChangeIfUnknown
from manifuse.columns.edges import Edges, Joining
from manifuse.columns.imputed import MOST_COMMON
from manifuse.columns.refined_scores import RefinedScores, support_of
from manifuse.columns.scored import OwnScores, Scoring, of_rows
from manifuse.columns.view import View, features_of
from manifuse.errors import InputError, warn
from manifuse.evidence.class_score import RISK
from manifuse.evidence.intervals import LARGEST_ERROR
from manifuse.grid import many, told_apart
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray, drawn_by_place, thinned
from manifuse.kernels.sphere import centre, centred_norm, inner
from manifuse.machine import threads
from manifuse.run.familiarity import FEWEST_ROWS, SPREAD_ROWS, Familiarity, index_of, warn_of_reference
from manifuse.tables.drawing_order import places_of
from manifuse.tables.observations import Observations

#: Later rows are refined in blocks of so many.
BLOCK = 2048

#: Takes own scores (q,) or (q, c) of rows, and returns what they are refined to if nothing else is known of them.
Fallback = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class LaterRows:
    """Refines rows that came after the fit. What it needs for that is computed once, when it is first needed.

    Attributes
    ----------
    main : Observations
        The fitted rows.
    joining : Joining or None
        How later rows are joined to their graph, if a column needs it.
    columns : Columns
    scored : Scoring
    fitted : RefinedScores
        The fitted rows.
    """

    main: Observations
    joining: Joining | None
    columns: Columns
    scored: Scoring
    fitted: RefinedScores

    def view(self, table: Observations) -> View:
        """What is known of a table's rows by themselves and by references; without features if none were fitted."""
        features = np.empty((len(table), 0)) if self.main.table is None else features_of(table)
        own = self.columns.own.apply(table.scores.reshape(len(table), -1))
        nothing = np.zeros((len(table), len(self.columns.references.numbers)))
        return self.columns.references.look_up(table.keys, View(features, {"own": own}, nothing))

    @cached_property
    def fitted_view(self) -> View:
        """The fitted rows, with what lessons of references read."""
        view = self.view(self.main)
        smoothed = self.columns.smoothed
        return view if smoothed is None else view.with_column("smoothed", smoothed.fitted)

    def compare_later(self, new: Observations, known: BoolArray) -> None:
        """Warn of rows whose features or scores, own or references', are unlike those of the fitted rows.

        Scores of references are compared at the rows that are not ``known`` (q,), which are fitted ones as they were.
        """
        if self._familiarity is not None:
            are_strange = self._familiarity.warn_of_strange(new)
            self._familiarity.warn_of_scores(new, self.main, are_alike=not are_strange)
        later = np.flatnonzero(~known)
        if self.main.table is None and self.columns.learned is not None:
            self._warn_of_partly_known(new.take(later))
        if self.columns.references.lookups and len(later) >= FEWEST_ROWS:
            self._compare_references(new.take(later))

    def _warn_of_partly_known(self, new: Observations) -> None:
        """Warn of rows that some references lack which know all fitted rows, if no features predict their scores."""
        references = self.columns.references
        known = self.view(new).known[:, references.common] > 0
        partly = known.any(axis=1) & ~known.all(axis=1)
        if partly.any():
            names = [references.names[column] for column in references.common[~known[partly].all(axis=0)]]
            warn(
                "partly_known",
                f"{many(int(partly.sum()), 'row')} of {new.name} lack scores of {told_apart(names)}, which all fitted "
                f"rows have, and no features predict them; a refinement without {told_apart(names)} may be better.",
            )

    def _compare_references(self, new: Observations) -> None:
        """Warn of references whose scores of later rows are unlike what their lessons predict, if these count."""
        view, smoothed = self.view(new), self.columns.smoothed
        count = (self.columns.expected.pulls > 0) | (self.columns.learned is not None)
        asked = count & ((view.known > 0).sum(axis=0) >= FEWEST_ROWS)
        needs_common = asked[self.columns.references.common].any()
        imputed = self._common[0].references if needs_common else self.columns.references
        for each in imputed.lessons:
            if asked[each.column]:
                known = np.flatnonzero(view.known[:, each.column])
                rows = view.take(known[thinned(len(known), SPREAD_ROWS)])
                if smoothed is not None:
                    edges = Edges.of(rows.features, self._index, self.joining)
                    rows = smoothed.add_to(replace(rows, edges=edges), "smoothed")
                predicted, _ = each.lesson.predict(rows, np.empty((len(rows), 0)))
                warn_of_reference(imputed.names[each.column], new.name, rows["looked up"][:, each.column], predicted)

    def refine_into(self, new: Observations, later: IndexArray, made: RefinedScores) -> None:
        """Refine the rows ``later`` of a table into ``made``."""
        view = self.view(new)
        self._prepare(view)

        def work(first: int) -> None:
            here = later[first : first + BLOCK]
            # Matrix products are rounded by the size of what is multiplied. In blocks of one size, the result of a row
            # does not depend on the rows beside it.
            filled = np.concatenate([here, np.full(BLOCK - len(here), here[-1])])
            with np.errstate(all="ignore"):
                block = self._refine_block(view.take(filled), new.scores[filled])
            made.scores[here], made.support[here] = block.scores[: len(here)], block.support[: len(here)]
            if made.uncertainty is not None and block.uncertainty is not None:
                made.uncertainty[here] = block.uncertainty[: len(here)]

        # One thread for each block: the libraries below would share a block among threads, which rounds otherwise.
        with ThreadPoolExecutor(threads(), initializer=threadpool_limits, initargs=(1, "openmp")) as pool:
            list(pool.map(work, range(0, len(later), BLOCK)))
        arrays = (made.scores, made.support, made.uncertainty)
        if not all(np.isfinite(each[later]).all() for each in arrays if each is not None):
            raise InputError(
                f"Refined scores of {new.name} leave the range of numbers; its scores or features, or the saved "
                "refinement, hold numbers that are too large."
            )

    def _prepare(self, new: View) -> None:
        """Compute what all blocks of later rows need, before threads share it."""
        if self.columns.diffused is not None:
            self.columns.diffused.prepare()
        _ = self._index, self._familiarity, self._alone
        _ = None if self.fitted.uncertainty is None else self._error_of_ranks
        _ = None if self._know_common(new).all() else self._common

    def _know_common(self, rows: View) -> BoolArray:
        """Whether references that know all fitted rows know these, too, so that none needs a lesson, (q,)."""
        return np.asarray((rows.known[:, self.columns.references.common] > 0).all(axis=1))

    def _refine_block(self, rows: View, scores: FloatArray) -> RefinedScores:
        """Refine later rows, of which there are `BLOCK`, from own scores (q,)."""
        edges = Edges.of(rows.features, self._index, self.joining)
        known = self._know_common(rows)
        columns, scored, temperature = (self.columns, self.scored, 1.0) if known.all() else self._common
        rows = columns.at(replace(rows, edges=edges))
        familiar = self._familiar(rows, edges)
        found = self._cooled(self.scored.scores(scores, *self.columns.of_scores(rows)), temperature, rows)
        share = of_rows(familiar, found)
        alone = self._alone(scores)
        # Written so that equal scores stay equal to the last bit.
        refined = alone + share * (found - alone)
        errors = None
        if self.scored.error_scale is not None:
            given = rows["variance"], columns.references.unknown(rows)
            errors = np.where(known, self.scored.errors(*given), scored.errors(*given))
            errors = np.asarray(np.hypot(np.sqrt(familiar) * errors, np.sqrt(1.0 - familiar) * self._error_of_ranks))
        return RefinedScores(refined, familiar * support_of(rows["doubt"], self.columns.expected.pulls), errors)

    @cached_property
    def _index(self) -> Index | None:
        """Of the fitted rows, as their graph compares them; None if no column needs it."""
        if self.joining is None or self.main.table is None:
            return None
        return index_of(self.main, standardised=self.joining.standardised)

    @cached_property
    def _common(self) -> tuple[Columns, Scoring, float]:
        """With a lesson for later rows that references lack which know all fitted ones; see `_cooled`, too."""
        imputed, main = self.columns.references, self.main
        places, every = places_of(main), np.arange(len(main))
        measured, few = (
            drawn_by_place(places, every, most, np.random.default_rng(0)) for most in (MEASURING_ROWS, MOST_COMMON)
        )
        imputed, taught, unseen = imputed.with_lesson_of_common(self.fitted_view, few, measured, main.name)
        columns = self.columns.with_columns(references=imputed)
        scored, temperature = self.scored, 1.0
        change = ChangeIfUnknown.of(columns, scored, main.scores[few], taught, unseen, places[few])
        if change is not None and scored.error_scale is not None:
            scored = replace(scored, error_if_unknown=max(change.error, scored.error_if_unknown))
        classes = RISK if scored.own_became is OwnScores.CALIBRATED else None
        if columns.calibrated is not None:
            classes = columns.calibrated.classes
        if change is not None and classes is not None and scored.certainty > 0:
            temperature = change.temperature(classes, self._centre)
        return columns, scored, temperature

    @cached_property
    def _centre(self) -> FloatArray:
        """What says nothing of a row, (c,): the mean of fitted scores, and of classes equal probabilities."""
        scores = self.fitted.scores
        return np.atleast_1d(scores.mean()) if scores.ndim == 1 else np.zeros(scores.shape[1])

    def _cooled(self, found: FloatArray, temperature: float, rows: View) -> FloatArray:
        """Make calibrated probabilities less sure where rows are lacking in references that know all fitted rows.

        Labels calibrate what rows are that these references know. The share of them that lack a row counts.
        """
        if temperature == 1.0:
            return found
        lacking = 1.0 - rows.known[:, self.columns.references.common].mean(axis=1)
        cooled = self._centre + of_rows(temperature**lacking, found) * (found - self._centre)
        return np.where(of_rows(lacking, found) > 0, cooled, found)

    @cached_property
    def _alone(self) -> Fallback:
        """The fallback for a row of which only its own score is known; it stays if no row but pairs has moved."""
        if self.scored.certainty == 0:
            return self.scored.own.undo
        return alone_of(self.main.scores, self.fitted.scores)

    @cached_property
    def _error_of_ranks(self) -> float:
        """Standard error of a score that is known by its own place alone, from what both kinds of rows are off."""
        errors, places = self.fitted.uncertainty, self._alone(self.main.scores)
        assert errors is not None, "no label taught"
        largest = max(float(errors.max()), float(np.abs(self.fitted.scores - places).max())) or 1.0
        off = ((self.fitted.scores - places) / largest) ** 2 + (errors / largest) ** 2
        return min(largest * float(np.sqrt(off.mean())), LARGEST_ERROR)

    @cached_property
    def _familiarity(self) -> Familiarity | None:
        """Where the fitted rows are, if they have features."""
        return Familiarity.of(self.main, self._index)

    def _familiar(self, rows: View, edges: Edges) -> FloatArray:
        """How near later rows are to the fitted ones; without features, whether a reference knows them."""
        known = rows.known.max(axis=1) if rows.known.shape[1] else np.ones(len(rows))
        if self._familiarity is None:
            return known
        near = self._familiarity.at(rows.features, edges, self._index)
        # If nothing but the imputation reads features, what is known of a row itself is enough.
        reads = self.joining is not None or self.columns.learned is not None
        return near if reads else np.maximum(near, rows.known.mean(axis=1))


def alone_of(fitted: FloatArray, refined: FloatArray) -> Fallback:
    """What a row is refined to if only its own score is known, from all fitted rows (n,) or (n, c)."""
    return _by_place(fitted, refined) if fitted.ndim == 1 else _by_line(fitted, refined)


def _by_place(fitted: FloatArray, refined: FloatArray) -> Fallback:
    """Give a row the place among the refined scores (n,) that its own score has among the fitted ones (n,).

    Equal ones share their mean. Beyond their ends a row is as far away, in standard deviations.
    """
    levels, counts = np.unique(fitted, return_counts=True)
    sums = np.add.reduceat(np.sort(refined), np.concatenate([[0], np.cumsum(counts)[:-1]]))
    places, ratio = sums / counts, centred_norm(refined) / centred_norm(fitted)

    def at(own: FloatArray) -> FloatArray:
        beyond = own - np.clip(own, levels[0], levels[-1])
        return np.asarray(np.interp(own, levels, places) + ratio * beyond)

    return at


def _by_line(fitted: FloatArray, refined: FloatArray) -> Fallback:
    """Give a row of classes a multiple of its own log-ratios (c,), and an offset, by least squares."""
    centred = centre(fitted)
    slope = inner(centred, refined) / inner(centred, centred)
    offset = refined.mean(axis=0) - slope * fitted.mean(axis=0)
    return lambda own: np.asarray(offset + slope * own)
