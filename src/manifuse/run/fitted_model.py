"""Fitted model: a refinement as a function of a batch of rows, and everything that later rows need from it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from manifuse.backends.graph import FeatureGraph
from manifuse.columns.all_columns import RunOutputs
from manifuse.columns.change_if_unknown import ChangeIfUnknown
from manifuse.columns.edges import Joining
from manifuse.columns.refined_scores import RefinedScores, support_of
from manifuse.columns.scored import Scoring
from manifuse.kernels.arrays import BoolArray, IndexArray
from manifuse.kernels.keys import KeyIndex
from manifuse.machine import libraries_in_one_thread
from manifuse.records import Saveable
from manifuse.run.changed_rows import changed_rows, find_changed, warn_of_units
from manifuse.run.familiarity import FEWEST_ROWS
from manifuse.run.later_rows import LaterRows
from manifuse.tables.arranging import with_features_of
from manifuse.tables.drawing_order import places_of
from manifuse.tables.far_values import warn_of_thousands, warn_of_thousands_in_features
from manifuse.tables.observations import Observations
from manifuse.tables.pairing import warn_of_spelling


class FittedModel(LaterRows, Saveable):
    """A refinement as a function of rows, of which some may be fitted ones; see `LaterRows`."""

    @classmethod
    def of(cls, main: Observations, graph: FeatureGraph, found: RunOutputs, scored: Scoring) -> FittedModel:
        """Make the model of what a run found, with the fitted rows refined."""
        columns, known = found.columns, found.views.fitted
        joining = None
        if columns.smoothed is not None:
            joining = Joining(graph.neighbours, graph.standardised, graph.scales)
        errors = None
        if scored.error_scale is not None:
            change = ChangeIfUnknown.of(columns, scored, main.scores, known, known["unseen"], places_of(main))
            scored = replace(scored, error_if_unknown=0.0 if change is None else change.error)
            errors = scored.errors(known["variance"], columns.references.unknown(known))
        return cls(
            main=main,
            joining=joining,
            columns=columns,
            scored=scored,
            fitted=RefinedScores(
                scored.scores(main.scores, *columns.of_scores(known)),
                support_of(known["doubt"], found.agreement.pulls),
                errors,
            ),
        )

    def refine(self, new: Observations, *, compared: bool = False) -> RefinedScores:
        """Refine rows. Fitted rows have their fitted scores, unless they come with other scores or features.

        The score of any other row does not depend on rows beside it. Warn of rows that are unlike the fitted ones,
        unless they were ``compared`` with these before, together with others.

        Raises
        ------
        InputError
            If they lack features of the fitted rows, or there is not enough memory.
        """
        rows, located = self.locate(new.keys)
        new = with_features_of(new, self.main)
        known = located & ~find_changed(new, self.main, rows, located)
        fitted = self.fitted
        errors = None if fitted.uncertainty is None else fitted.uncertainty[rows]
        made = RefinedScores(fitted.scores[rows], fitted.support[rows], errors)
        later = np.flatnonzero(~known)
        if len(later):
            if not compared:
                self._compare(new, located, known)
            # Libraries that limit threads, too, must do so within this limit: each puts back what it found.
            with libraries_in_one_thread():
                self.refine_into(new, later, made)
        return made

    def compare_with_fitted(self, new: Observations) -> None:
        """Warn of rows that are unlike the fitted ones in their units or in other ways."""
        rows, located = self.locate(new.keys)
        new = with_features_of(new, self.main)
        self._compare(new, located, located & ~changed_rows(new, self.main, rows, located))

    def _compare(self, new: Observations, located: BoolArray, known: BoolArray) -> None:
        """Warn of unlike rows. Some are ``located`` among the fitted rows, and ``known`` if they are the same now."""
        warn_of_units(new, self.main, known)
        if new.classes is None:
            warn_of_thousands(f"scores of {new.name}", new.came)
        warn_of_thousands_in_features(new)
        if len(new) >= FEWEST_ROWS:
            warn_of_spelling(self.main, new, int(np.count_nonzero(located)))
        with libraries_in_one_thread():
            self.compare_later(new, known)

    def leave(self, new: Observations) -> RefinedScores:
        """Return rows as they came, if the refinement was not taken; they need the features of the fitted rows, too.

        Raises
        ------
        InputError
            If they lack some.
        """
        return RefinedScores.unchanged(with_features_of(new, self.main))

    def locate(self, keys: NDArray[np.str_]) -> tuple[IndexArray, BoolArray]:
        """The fitted row of every id (q,), and whether it was fitted at all; each (q,)."""
        return self._fitted_keys.locate(keys)

    @cached_property
    def _fitted_keys(self) -> KeyIndex:
        return KeyIndex(self.main.keys)
