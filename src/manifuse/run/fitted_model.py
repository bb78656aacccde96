"""Fitted model: a refinement as a function of a batch of rows, and everything that later rows need from it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from manifuse.backends.backend import FeatureGraph
from manifuse.backends.index import Index
from manifuse.columns.all_columns import MEASURING_ROWS, Columns, RunOutputs
from manifuse.columns.column import Mixed
from manifuse.columns.edges import Edges, Joining
from manifuse.columns.imputed import Imputed
from manifuse.columns.refined_scores import RefinedScores, support_of
from manifuse.columns.scored import Scoring
from manifuse.columns.view import View, features_of
from manifuse.errors import InputError
from manifuse.evidence.intervals import LARGEST_ERROR, standard_errors
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray, drawn_by_place
from manifuse.kernels.keys import KeyIndex
from manifuse.machine import libraries_in_one_thread, threads
from manifuse.records import Saveable
from manifuse.run.familiarity import Familiarity, find_changed
from manifuse.run.ranks import Ranks, Stretch, alone_of
from manifuse.tables.arranging import with_features_of
from manifuse.tables.drawing_order import places_of
from manifuse.tables.level import Level
from manifuse.tables.observations import Observations

#: Later rows are refined in blocks of so many.
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class FittedModel(Saveable):
    """A refinement as a function of rows.

    Attributes
    ----------
    main : Observations
        The fitted rows.
    joining : Joining or None
        How later rows are joined to their graph, if a column needs it.
    columns : Columns
    scored : Scoring
    before : (n,) or (n, c) array
        The column before the last step at the fitted rows: before the diffusion, or the lessons of labels of classes.
    fitted : RefinedScores
        The fitted rows.
    """

    main: Observations
    joining: Joining | None
    columns: Columns
    scored: Scoring
    before: FloatArray
    fitted: RefinedScores

    @classmethod
    def of(cls, main: Observations, graph: FeatureGraph, found: RunOutputs, scored: Scoring) -> FittedModel:
        """Make the model of what a run found, with the fitted rows refined."""
        columns, known = found.columns, found.known.fitted
        errors = None if scored.error_scale is None else standard_errors(known["variance"], scored.error_scale)
        return cls(
            main=main,
            joining=None if columns.smoothed is None else Joining.of(graph),
            columns=columns,
            scored=scored,
            before=known[columns.before_last_step].reshape(main.scores.shape),
            fitted=RefinedScores(
                scored.scores(main.scores, *columns.of_scores(found.known.fitted)),
                support_of(found.doubt, found.agreement.pulls),
                errors,
            ),
        )

    def refine(self, new: Observations) -> RefinedScores:
        """Refine rows. Fitted rows have their fitted scores, unless they come with other scores or features.

        The score of any other row does not depend on rows beside it.

        Raises
        ------
        InputError
            If they lack features of the fitted rows, or there is not enough memory.
        """
        rows, known = self.locate(new.keys)
        if self.reads_features:
            new = with_features_of(new, self.main)
        known = known & ~find_changed(new, self.main, rows, known)
        fitted = self.fitted
        errors = None if fitted.uncertainty is None else fitted.uncertainty[rows]
        made = RefinedScores(fitted.scores[rows], fitted.support[rows], errors)
        later = np.flatnonzero(~known)
        if len(later):
            # Libraries that limit threads, too, must do so within this limit: each puts back what it found.
            with libraries_in_one_thread():
                self._refine_later(new, later, made)
        return made

    def _refine_later(self, new: Observations, later: IndexArray, made: RefinedScores) -> None:
        """Refine the rows ``later`` of a table into ``made``."""
        view = self.columns.references.look_up(new.keys, self._view(new))
        self._prepare(view)
        if self._familiarity is not None:
            self._familiarity.warn_of_strange(new)

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
        pool = ThreadPoolExecutor(threads(), initializer=_use_one_thread)
        with pool:
            for _ in pool.map(work, range(0, len(later), BLOCK)):
                pass
        if not all(np.isfinite(each[later]).all() for each in made.arrays if each is not None):
            raise InputError(
                f"Refined scores of {new.name} leave the range of numbers; its scores or features, or the saved "
                "refinement, hold numbers that are too large."
            )

    def _view(self, table: Observations) -> View:
        """What is known of a table's rows by themselves; without features if none are read."""
        features = features_of(table) if self.reads_features else np.empty((len(table), 0))
        own = self.columns.own.apply(table.scores.reshape(len(table), -1))
        return View(features, {"own": own}, np.zeros((len(table), len(self.columns.references.numbers))))

    def _prepare(self, new: View) -> None:
        """Compute what all blocks of later rows need, before threads share it."""
        if self.columns.diffused is not None:
            self.columns.diffused.prepare()
        _ = self._index, self._familiarity, self._ranks
        _ = None if self.fitted.uncertainty is None else self._error_of_ranks
        _ = None if self._all_known(new) else self._references

    def _all_known(self, new: View) -> bool:
        """Whether references that know all fitted rows know these, too, so that none needs a lesson."""
        taught = {column for pairs in self.columns.references.lessons for column in pairs.columns}
        common = [column for column in range(new.known.shape[1]) if column not in taught]
        return bool((new.known[:, common] > 0).all())

    def _refine_block(self, rows: View, scores: FloatArray) -> RefinedScores:
        """Refine later rows, of which there are `BLOCK`, from own scores (q,)."""
        edges = Edges.of(rows.features, self._index, self.joining)
        references = self.columns.references if self._all_known(rows) else self._references
        columns = replace(self.columns, references=references)
        rows = columns.at(replace(rows, edges=edges))
        familiar = self._familiar(rows, edges)
        share = familiar if scores.ndim == 1 else familiar[:, None]
        found = self.scored.scores(scores, *self.columns.of_scores(rows))
        refined = share * found + (1.0 - share) * self._ranks.at(scores)
        errors = None
        if self.scored.error_scale is not None:
            errors = standard_errors(rows["variance"], self.scored.error_scale)
            sure = familiar * self._known(rows)
            errors = np.asarray(np.hypot(np.sqrt(sure) * errors, np.sqrt(1.0 - sure) * self._error_of_ranks))
        return RefinedScores(refined, familiar * support_of(rows["doubt"], self.weights), errors)

    def locate(self, keys: NDArray[np.str_]) -> tuple[IndexArray, BoolArray]:
        """The fitted row of every id (q,), and whether it was fitted at all; each (q,)."""
        return self._fitted_keys.locate(keys)

    def said_by_references(self, rows: IndexArray) -> FloatArray:
        """What references say of fitted rows, or would say (q, m, c), standardised over the rows of each."""
        imputed = self.columns.references
        values = imputed.at(self._fitted_view.take(rows))
        return np.stack([level.undo(values[:, column]) for column, level in enumerate(imputed.levels)], axis=1)

    @property
    def weights(self) -> FloatArray:
        """How much each reference that takes part counts, where own scores count 1."""
        return self.columns.expected.pulls

    @cached_property
    def _fitted_keys(self) -> KeyIndex:
        return KeyIndex(self.main.keys)

    @cached_property
    def _index(self) -> Index | None:
        """Of the fitted rows, as their graph compares them; None if no column needs it."""
        if self.joining is None:
            return None
        if self.main.table is None:
            raise InputError(
                f"{self.main.name} was fitted on neighbours that were given, so later rows cannot be compared with "
                "it; fit on features to apply to rows that come later."
            )
        return Index.of(self.main.table, standardised=self.joining.standardised, name=self.main.name)

    @cached_property
    def _fitted_view(self) -> View:
        """The fitted rows, with what lessons of references read."""
        view = self.columns.references.look_up(self.main.keys, self._view(self.main))
        smoothed = self.columns.smoothed
        return view if smoothed is None else view.with_column("smoothed", smoothed.fitted)

    @cached_property
    def _references(self) -> Imputed:
        """With a lesson for later rows that references lack which know all fitted ones."""
        imputed, main = self.columns.references, self.main
        view = self._fitted_view.with_column("references", self._fitted_view["looked up"])
        measured = drawn_by_place(places_of(main), np.arange(len(main)), MEASURING_ROWS, np.random.default_rng(0))
        try:
            return imputed.with_lesson_of_common(view, measured, main.name)
        except ValueError:
            # Numbers of a saved refinement that are finite, but whose products are not.
            raise InputError(
                f"The fitted rows of {main.name} hold numbers that are too large; save it again."
            ) from None

    @cached_property
    def _ranks(self) -> Ranks | Stretch:
        return alone_of(self.main.scores, self.fitted.scores)

    @cached_property
    def _error_of_ranks(self) -> float:
        """Standard error of a score that is known by its own place alone, from what both kinds of rows are off."""
        errors, places = self.fitted.uncertainty, self._ranks.at(self.main.scores)
        assert errors is not None, "no label taught"
        largest = max(float(errors.max()), float(np.abs(self.fitted.scores - places).max())) or 1.0
        off = ((self.fitted.scores - places) / largest) ** 2 + (errors / largest) ** 2
        return min(largest * float(np.sqrt(off.mean())), LARGEST_ERROR)

    @cached_property
    def _familiarity(self) -> Familiarity | None:
        """Where the fitted rows are, if their features are read."""
        return Familiarity.of(self.main, self._index) if self.reads_features else None

    def _familiar(self, rows: View, edges: Edges) -> FloatArray:
        """How near later rows are to the fitted ones; without features, whether a reference knows them."""
        if self._familiarity is not None:
            return self._familiarity.at(rows.features, edges, self._index)
        return (self._known(rows) > 0).astype(np.float64)

    def _known(self, rows: View) -> FloatArray:
        """Share of the references that know later rows; those with a lesson know all rows that are near."""
        taught = [column for pairs in self.columns.references.lessons for column in pairs.columns]
        known = rows.known.copy()
        known[:, taught] = 1.0
        return known.mean(axis=1) if known.shape[1] else np.ones(len(rows))

    @property
    def reads_features(self) -> bool:
        """Whether the features of later rows are read: by the graph or by a lesson."""
        columns = self.columns
        return self.joining is not None or columns.learned is not None or bool(columns.references.lessons)

    def check(self) -> None:
        """Refuse parts that do not fit together."""
        columns, rows = self.columns, len(self.main)
        if (
            not self.before.shape == self.fitted.scores.shape == self.main.scores.shape
            or not np.isfinite(self.before).all()
            or (self.fitted.uncertainty is None) != (self.scored.error_scale is None)
            or self.scored.units.mean.shape != self.main.scores.shape[1:]
        ):
            raise ValueError("the refined rows are not those of the fit")
        places = () if columns.diffused is None else columns.diffused.columns.values()
        count = len(columns.references.numbers)
        if columns.expected.pulls.shape != (count,) or any(place >= count for place in places):
            raise ValueError("what is expected or diffused does not fit the references")
        needed = columns.smoothed is not None or (columns.diffused and columns.diffused.graph.neighbours > 0)
        if needed and (self.joining is None or len(self.joining.scales) != rows):
            raise ValueError("a column needs a graph that there is not")
        alone = columns.diffused is None and columns.refined is not None
        if alone or (columns.learned is None) != (columns.taught is None):
            raise ValueError("a column comes without the one that it is mixed with")
        with np.errstate(all="ignore"):
            self._try_first_row()

    def _try_first_row(self) -> None:
        """Refine the first row as if it came later, but for the diffusion; parts that do not fit raise errors."""
        _ = self._ranks
        first = self.main.take(np.zeros(1, dtype=np.intp))
        view = self.columns.references.look_up(first.keys, self._view(first))
        if self.joining is not None:
            shape = (1, self.joining.neighbours)
            edges = Edges(len(self.main), np.zeros(shape, dtype=np.intp), np.ones(shape), np.zeros(1))
            view = replace(view, edges=edges)
        columns = self.columns
        if columns.diffused is not None:
            # The column before the diffusion stands for the diffused one.
            same = Mixed(columns.diffused.source, columns.diffused.source, 0.0, Level(np.zeros(1), 1.0))
            columns = replace(columns, diffused=same)  # type: ignore[arg-type]
        rows = columns.at(view)
        values = self.scored.scores(first.scores, *columns.of_scores(rows))
        if self.fitted.uncertainty is not None and rows["variance"].shape != (1,):
            raise ValueError("the errors do not fit the columns")
        if values.shape != first.scores.shape or rows["doubt"].shape != (1, len(self.weights)):
            raise ValueError("the columns do not fit together")


def _use_one_thread() -> None:
    """Let the libraries that a thread calls use no further threads; each thread has a number of its own."""
    threadpool_limits(1, user_api="openmp")
