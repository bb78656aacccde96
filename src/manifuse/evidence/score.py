"""Scores: how good predictions are on the labelled rows, and how certain a gain is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from scipy.stats import rankdata

from manifuse.evidence.gain import FEWEST_ROWS, Gain, Measure
from manifuse.evidence.holding_out import BLOCKS, Folds, Held
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn
from manifuse.kernels.order import comparable, concordance, concordant_pairs
from manifuse.kernels.sphere import standardise

#: By chance, ranking accuracy is hardly ever below one half by more than this, divided by the root of the labels.
BACKWARDS = 1.2


class Score(ABC):
    """A measure on labelled rows; larger is better.

    Attributes
    ----------
    rows : (l,) array of int
        The labelled rows of the main table.
    measure : {"accuracy", "rmse", "log_loss"}
        What users read: ranking accuracy, of a regression the root mean squared error, of classes the log loss.
    has_errors : bool
        Whether refined scores have standard errors. Probabilities of classes say themselves how sure they are.
    """

    rows: IndexArray
    measure: ClassVar[Measure] = "accuracy"
    has_errors: ClassVar[bool] = True

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

    def contrasts(self) -> FloatArray | None:
        """Coefficients (p, l), if observations are sums of the rows' values; None if each is the value of its row."""
        return None

    def ordered_pairs(self, most: int) -> tuple[IndexArray, IndexArray]:
        """Better and worse positions among ``rows``, of all ordered pairs or of at most about ``most``."""
        raise NotImplementedError

    def is_backwards(self, predictions: FloatArray) -> bool:
        """Whether predictions (l, ...) rank the labels the other way around, and that is no chance."""
        rows = len(np.unique(self.rows))
        low = 0.5 - BACKWARDS / np.sqrt(rows)
        return self.measure == "accuracy" and rows >= FEWEST_ROWS and self.measured(predictions) < low

    def measured(self, predictions: FloatArray) -> float:
        """The ``measure`` of predictions (l,) or (l, c)."""
        return abs(float(self.evaluate(predictions[..., None])[0]))


@dataclass(frozen=True, eq=False)
class GradedRanking(Score):
    """Ranking accuracy: the share of pairs with different grades that are in the right order; ties count one half."""

    rows: IndexArray
    grades: FloatArray

    #: How many numbers of candidates are scored at once.
    BUDGET = 1 << 22

    def evaluate(self, candidates: FloatArray) -> FloatArray:
        """Score candidate predictions; see `Score.evaluate`."""
        width = max(1, self.BUDGET // len(self.grades))
        parts = [
            concordant_pairs(candidates[:, first : first + width], self.grades)
            for first in range(0, candidates.shape[1], width)
        ]
        return np.asarray(np.concatenate(parts) / self._total)

    @cached_property
    def _total(self) -> float:
        """Number of pairs of rows with different grades."""
        return float(comparable(self.grades).sum() / 2)

    def gain(self, before: FloatArray, after: FloatArray, folds: Folds | None = None) -> Gain:
        """Compare two predictions; see `Score.gain`.

        The accuracy is a U-statistic over pairs of rows. For each row, the deviations of its own pairs are summed. The
        variance is the sum of the squares of these sums.
        """
        changed, partners = np.zeros(len(self.grades)), np.zeros(len(self.grades))
        every = [np.arange(len(self.grades))]
        for trial, values in enumerate(_in_trials(before, after)):
            for rows in every if folds is None else folds.rows(trial):
                counts = concordance(values[:, rows].T, self.grades[rows])
                changed[rows] += counts[:, 1] - counts[:, 0]
                partners[rows] += comparable(self.grades[rows])
        total = float(partners.sum()) or 1.0
        value = float(changed.sum() / total)
        deviations = changed - value * partners
        return Gain(value, float(2.0 * np.sqrt(np.sum(deviations**2)) / total), len(self.rows), self.measure)

    def only(self, kept: IndexArray) -> Score | None:
        """Take some of the labelled rows; see `Score.only`."""
        grades = self.grades[kept]
        return GradedRanking(self.rows[kept], grades) if len(set(grades.tolist())) > 1 else None

    def observations(self) -> FloatArray:
        """Mid-ranks of the grades, because only their order counts; see `Score.observations`."""
        return standardise(rankdata(self.grades)[:, None])

    def ordered_pairs(self, most: int) -> tuple[IndexArray, IndexArray]:
        """All pairs of different grades; see `Score.ordered_pairs`."""
        few = drawn(len(self.grades), int(np.sqrt(2 * most)))
        better, worse = np.nonzero(self.grades[few, None] > self.grades[few])
        return few[better], few[worse]


@dataclass(frozen=True, eq=False)
class PairedRanking(Score):
    """The share of given pairs (better, worse) that are in the right order; ties count one half.

    Attributes
    ----------
    rows : (2 p,) array of int
        The rows of every pair, so that a row may be there several times.
    better, worse : (p,) array of int
        Indices into ``rows``; each is in one pair.
    """

    rows: IndexArray
    better: IndexArray
    worse: IndexArray

    @classmethod
    def of(cls, better: IndexArray, worse: IndexArray) -> PairedRanking:
        """Take p pairs of rows."""
        places = np.arange(len(better))
        return cls(np.concatenate([better, worse]), places, len(better) + places)

    def evaluate(self, candidates: FloatArray) -> FloatArray:
        """Score candidate predictions; see `Score.evaluate`."""
        return np.asarray(self._correct(candidates).mean(axis=0))

    def gain(self, before: FloatArray, after: FloatArray, folds: Folds | None = None) -> Gain:
        """Compare two predictions; see `Score.gain`. Pairs that share a row are not independent."""
        del folds
        right = [self._correct(values.T) for values in _in_trials(before, after)]
        difference = np.mean([each[:, 1] - each[:, 0] for each in right], axis=0)
        value = float(difference.mean())
        names, ends = np.unique(self.rows[np.concatenate([self.better, self.worse])], return_inverse=True)
        deviations = np.bincount(ends, np.tile(difference - value, 2))
        # The sum over rows counts the square of each pair twice, once at each of its rows.
        own = np.sum((difference - value) ** 2)
        variance = max(np.sum(deviations**2) - own, own)
        return Gain(value, float(np.sqrt(variance) / len(difference)), len(names), self.measure)

    def hold_out(
        self, blocks: IndexArray, held: Held, rng: np.random.Generator, trials: int
    ) -> tuple[Folds, list[list[IndexArray]]]:
        """Hold out every pair by itself, with all others that have a row of its blocks; see `Score.hold_out`.

        If rows are held out at random, they are put into blocks first.
        """
        del trials
        if held is Held.AT_RANDOM:
            names, block = np.unique(blocks, return_inverse=True)
            blocks = rng.permutation(np.arange(len(names)) % BLOCKS)[block]
        numbers = np.empty((1, len(self.rows)), dtype=np.intp)
        numbers[0, self.better] = numbers[0, self.worse] = np.arange(len(self.better))
        ends = np.column_stack([blocks[self.better], blocks[self.worse]])
        return Folds(numbers, held), [[np.flatnonzero(np.isin(ends, pair).any(axis=1)) for pair in ends]]

    def only(self, kept: IndexArray) -> Score | None:
        """Take the pairs of which both rows are taken; see `Score.only`."""
        both = np.isin(self.better, kept) & np.isin(self.worse, kept)
        return self.of_observations(np.flatnonzero(both)) if both.any() else None

    def of_observations(self, kept: IndexArray) -> Score:
        """Take some pairs; see `Score.of_observations`."""
        return PairedRanking.of(self.rows[self.better[kept]], self.rows[self.worse[kept]])

    def observations(self) -> FloatArray:
        """One for every pair: the better row is above the worse; see `Score.observations`."""
        return np.ones((len(self.better), 1))

    def contrasts(self) -> FloatArray:
        """Better less worse, for every pair; see `Score.contrasts`."""
        pairs, made = np.arange(len(self.better)), np.zeros((len(self.better), len(self.rows)))
        made[pairs, self.better], made[pairs, self.worse] = 1.0, -1.0
        return made

    def ordered_pairs(self, most: int) -> tuple[IndexArray, IndexArray]:
        """The given pairs; see `Score.ordered_pairs`."""
        few = drawn(len(self.better), most)
        return self.better[few], self.worse[few]

    def _correct(self, predictions: FloatArray) -> FloatArray:
        return np.asarray((np.sign(predictions[self.better] - predictions[self.worse]) + 1.0) / 2.0)


@dataclass(frozen=True, eq=False)
class SquaredError(Score):
    """The negative root mean squared error against known targets.

    Attributes
    ----------
    rows : (l,) array of int
    targets : (l,) array
        The truth, in units of the main predictor.
    """

    rows: IndexArray
    targets: FloatArray
    measure: ClassVar[Measure] = "rmse"

    def evaluate(self, candidates: FloatArray) -> FloatArray:
        """Score candidate predictions; see `Score.evaluate`."""
        return np.asarray(-np.sqrt(np.mean((candidates - self.targets[:, None]) ** 2, axis=0)))

    def gain(self, before: FloatArray, after: FloatArray, folds: Folds | None = None) -> Gain:
        """Compare two predictions; see `Score.gain`. The standard error is by the delta method."""
        del folds
        squares = np.mean((_in_trials(before, after) - self.targets) ** 2, axis=0).T
        roots = np.sqrt(squares.mean(axis=0))
        scaled = squares / (2.0 * np.where(roots > 0, roots, 1.0))
        influence = scaled[:, 0] - scaled[:, 1]
        error = float(influence.std(ddof=1) / np.sqrt(len(influence)))
        return Gain(float(roots[0] - roots[1]), error, len(self.rows), self.measure)

    def only(self, kept: IndexArray) -> Score | None:
        """Take some of the labelled rows; see `Score.only`."""
        # A line and its standard error need three.
        return SquaredError(self.rows[kept], self.targets[kept]) if len(kept) >= 3 else None

    def observations(self) -> FloatArray:
        """The standardised targets; see `Score.observations`."""
        return standardise(self.targets[:, None])


def _in_trials(before: FloatArray, after: FloatArray) -> FloatArray:
    """Two predictions, each (l,) or (r, l), side by side, shape (r, 2, l)."""
    before, after = np.broadcast_arrays(np.atleast_2d(before), np.atleast_2d(after))
    return np.stack([before, after], axis=1)
