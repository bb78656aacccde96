"""Scores: how good predictions are on the labelled rows, and how certain a gain is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np

from manifuse.evidence.gain import Gain, Measure, are_few
from manifuse.evidence.holding_out import Folds, Held
from manifuse.kernels.arrays import FloatArray, IndexArray

#: By chance, ranking accuracy is hardly ever below one half by so many of its standard errors.
BACKWARDS = 2.5


class Score(ABC):
    """A measure on labelled rows; larger is better.

    Attributes
    ----------
    rows : (l,) array of int
        The labelled rows of the main table.
    measure : {"accuracy", "rmse", "log_loss"}
        What users read: ranking accuracy, of a regression the root mean squared error, of classes the log loss.
    """

    rows: IndexArray
    measure: ClassVar[Measure] = "accuracy"

    @abstractmethod
    def evaluate(self, candidates: FloatArray) -> FloatArray:
        """Score candidate predictions (l, c) at ``rows``; return (c,)."""

    @abstractmethod
    def gain(self, before: FloatArray, after: FloatArray, folds: Folds | None = None) -> Gain:
        """Compare two predictions at ``rows``, paired over the rows.

        Parameters
        ----------
        before, after : (l,) or (r, l) array, or with a last axis of c columns
            In r trials, if labels were held out in ``folds``.
        folds : Folds, optional
            Only rows of one fold are compared.
        """

    def hold_out(
        self, blocks: IndexArray, held: Held, rng: np.random.Generator, trials: int
    ) -> tuple[Folds, list[list[IndexArray]]]:
        """Put labels into folds.

        Parameters
        ----------
        blocks : (l,) array of int
            Rows that are held out together.
        held : Held
        rng : numpy.random.Generator
        trials : int

        Returns
        -------
        folds : Folds
        unseen : list of lists of arrays of int
            The observations that each fold of each trial must not see.
        """
        folds = Folds.of(blocks, held, rng, trials=trials)
        return folds, [folds.rows(trial) for trial in range(trials)]

    @property
    def others(self) -> int | None:
        """How many labels differ from the most frequent one; None if that does not matter."""
        return None

    @property
    def evenness(self) -> float:
        """How much a label tells, in [0, 1]: 1 if grades are equally frequent, and little if nearly all are equal."""
        return 1.0

    @property
    def error_by_chance(self) -> float:
        """Standard error of the ranking accuracy of scores that have nothing to do with the labels."""
        raise NotImplementedError

    @property
    def is_of_few(self) -> bool:
        """Whether the labels are too few for a gain to be certain."""
        return are_few(len(np.unique(self.rows)), self.others)

    def at(self, rows: IndexArray) -> Score:
        """Return the same measure of other rows (l,) that have the same truth."""
        return cast(Score, replace(cast(Any, self), rows=rows))

    def few(self, most: int, rng: np.random.Generator) -> Score:
        """Return the same measure by at most so many observations, drawn at random."""
        count = len(self.observations())
        if count <= most:
            return self
        return self.of_observations(np.sort(rng.choice(count, most, replace=False)))

    def of_observations(self, kept: IndexArray) -> Score:
        """Return the same measure by some observations (k,); see `observations`."""
        only = self.only(kept)
        assert only is not None, "many labels are not all equal"
        return only

    @abstractmethod
    def only(self, kept: IndexArray) -> Score | None:
        """Return the same measure by some labelled rows (k,), given by position; None if these measure nothing."""

    @abstractmethod
    def observations(self) -> FloatArray:
        """What the labels tell (p, t), of about variance 1: t values of each row, or of each contrast of rows."""

    def order(self) -> Score:
        """How well the order of the labels is known, whatever the units; of classes, which have none, this measure."""
        return self

    def contrasts(self) -> FloatArray | None:
        """Coefficients (p, l), if observations are sums of the rows' values; None if each is the value of its row."""
        return None

    def ordered_pairs(self, most: int) -> tuple[IndexArray, IndexArray]:
        """Better and worse positions among ``rows``, of all ordered pairs or of at most about ``most``."""
        raise NotImplementedError

    def is_backwards(self, predictions: FloatArray) -> bool:
        """Whether predictions (l, ...) rank the labels the other way around, and that is no chance."""
        ranking = self.order()
        if ranking.measure != "accuracy" or self.is_of_few:
            return False
        return ranking.measured(predictions) < 0.5 - BACKWARDS * ranking.error_by_chance

    def measured(self, predictions: FloatArray, folds: Folds | None = None) -> float:
        """The ``measure`` of predictions (l,) or (l, c), by the comparisons that `gain` makes with these folds."""
        del folds
        return abs(float(self.evaluate(predictions[..., None])[0]))


def in_trials(before: FloatArray, after: FloatArray) -> FloatArray:
    """Two predictions, each (l,) or (r, l), side by side, shape (r, 2, l)."""
    before, after = np.broadcast_arrays(np.atleast_2d(before), np.atleast_2d(after))
    return np.stack([before, after], axis=1)
