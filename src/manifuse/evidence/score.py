"""Scores: how good predictions are on the labelled rows, and how certain a gain is."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from scipy.stats import rankdata

from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.observations import Observations
from manifuse.errors import InputError, ManifuseWarning, demand
from manifuse.evidence.gain import Accuracy, Gain, Measure
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn
from manifuse.kernels.keys import locate
from manifuse.kernels.order import comparable, concordance, concordant_pairs
from manifuse.kernels.sphere import standardise


class Score(ABC):
    """A measure on labelled rows; larger is better.

    Attributes
    ----------
    rows : (l,) array of int
        The labelled rows of the main table.
    measure : {"accuracy", "rmse"}
        What users read: ranking accuracy, or of a regression the root mean squared error.
    """

    rows: IndexArray
    measure: ClassVar[Measure] = "accuracy"

    @abstractmethod
    def evaluate(self, candidates: FloatArray) -> FloatArray:
        """Score candidate predictions (l, c) at ``rows``; return (c,)."""

    @abstractmethod
    def gain(self, before: FloatArray, after: FloatArray) -> Gain:
        """Compare two predictions (l,) at ``rows``, paired over the rows."""

    def at(self, rows: IndexArray) -> Score:
        """Return the same measure of other rows (l,) that have the same truth."""
        return cast(Score, replace(cast(Any, self), rows=rows))

    @abstractmethod
    def only(self, kept: IndexArray) -> Score | None:
        """Return the same measure by some labelled rows (k,), given by position; None if these measure nothing."""

    @abstractmethod
    def observations(self) -> FloatArray:
        """What the labels tell, shape (p,), of about variance 1: a value of each row, or of each contrast of rows."""

    def contrasts(self, taken: IndexArray | slice = slice(None)) -> FloatArray | None:
        """The sum of rows' values (p, l) that each taken observation is of; None if it is the value of its row."""
        return None

    def ordered_pairs(self, most: int) -> tuple[IndexArray, IndexArray]:
        """Better and worse positions among ``rows``, of all ordered pairs or of at most about ``most``."""
        raise NotImplementedError

    def measured(self, predictions: FloatArray) -> float:
        """The ``measure`` of predictions (l,)."""
        return abs(float(self.evaluate(predictions[:, None])[0]))

    def compare(self, before: FloatArray, after: FloatArray) -> Accuracy:
        """The ``measure`` of two predictions (l,)."""
        return Accuracy(self.measure, self.measured(before), self.measured(after))


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

    def gain(self, before: FloatArray, after: FloatArray) -> Gain:
        """Compare two predictions; see `Score.gain`.

        The accuracy is a U-statistic over pairs of rows. For each row, the deviations of its own pairs are summed. The
        variance is the sum of the squares of these sums.
        """
        counts = concordance(np.column_stack([before, after]), self.grades)
        partners = comparable(self.grades)
        total = partners.sum()
        value = float((counts[:, 1] - counts[:, 0]).sum() / total)
        deviations = counts[:, 1] - counts[:, 0] - value * partners
        return Gain(value, float(2.0 * np.sqrt(np.sum(deviations**2)) / total), len(self.rows), self.measure)

    def only(self, kept: IndexArray) -> Score | None:
        """Take some of the labelled rows; see `Score.only`."""
        grades = self.grades[kept]
        return GradedRanking(self.rows[kept], grades) if len(set(grades.tolist())) > 1 else None

    def observations(self) -> FloatArray:
        """Mid-ranks of the grades, because only their order counts; see `Score.observations`."""
        return np.asarray(standardise(rankdata(self.grades)))

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
    rows : (l,) array of int
    better, worse : (p,) array of int
        Indices into ``rows``.
    """

    rows: IndexArray
    better: IndexArray
    worse: IndexArray

    def evaluate(self, candidates: FloatArray) -> FloatArray:
        """Score candidate predictions; see `Score.evaluate`."""
        return np.asarray(self._correct(candidates).mean(axis=0))

    def gain(self, before: FloatArray, after: FloatArray) -> Gain:
        """Compare two predictions; see `Score.gain`. Pairs that share a row are not independent."""
        difference = self._correct(after) - self._correct(before)
        value = float(difference.mean())
        ends = np.concatenate([self.better, self.worse])
        deviations = np.bincount(ends, np.tile(difference - value, 2), minlength=len(self.rows))
        # The sum over rows counts the square of each pair twice, once at each of its rows.
        own = np.sum((difference - value) ** 2)
        variance = max(np.sum(deviations**2) - own, own)
        return Gain(value, float(np.sqrt(variance) / len(difference)), len(self.rows), self.measure)

    def only(self, kept: IndexArray) -> Score | None:
        """Take the pairs of which both rows are taken; see `Score.only`."""
        places = np.full(len(self.rows), -1)
        places[kept] = np.arange(len(kept))
        better, worse = places[self.better], places[self.worse]
        both = (better >= 0) & (worse >= 0)
        return PairedRanking(self.rows[kept], better[both], worse[both]) if both.any() else None

    def observations(self) -> FloatArray:
        """One for every pair: the better row is above the worse; see `Score.observations`."""
        return np.ones(len(self.better))

    def contrasts(self, taken: IndexArray | slice = slice(None)) -> FloatArray:
        """Better less worse, for every taken pair; see `Score.contrasts`."""
        better, worse = self.better[taken], self.worse[taken]
        pairs, made = np.arange(len(better)), np.zeros((len(better), len(self.rows)))
        made[pairs, better], made[pairs, worse] = 1.0, -1.0
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

    def gain(self, before: FloatArray, after: FloatArray) -> Gain:
        """Compare two predictions; see `Score.gain`. The standard error is by the delta method."""
        errors = np.column_stack([before, after]) - self.targets[:, None]
        squares = errors**2
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
        return np.asarray(standardise(self.targets))


def score_of(labels: RankLabels, main: Observations, *, regression: bool) -> Score:
    """Make the score of labels: find their rows among the main rows, and choose the measure.

    Raises
    ------
    InputError
        If the main table has no id of a label, or a regression has ordered pairs or too large values as labels.
    """
    demand(RankLabels, labels)
    labels = _of_rows(labels, main)
    # In the order of their ids, so that labels in another order give the same result to the last bit.
    if labels.grades is None:
        rows, order = locate(labels.keys, main.keys)[0], np.lexsort([labels.worse, labels.better])
        if regression:
            raise InputError("Ordered pairs came as labels of a regression, which needs values; give ids and labels.")
        return PairedRanking(rows, labels.better[order], labels.worse[order])
    order = np.argsort(labels.keys, kind="stable")
    rows, grades = locate(labels.keys[order], main.keys)[0], labels.grades[order]
    if regression and main.scale == "probability":
        raise InputError(
            "Probabilities came with a scale for a regression, which meets the labels' values by itself; leave "
            "scale='probability' out (--scale)."
        )
    if not regression:
        return GradedRanking(rows, grades)
    # Errors are differences of targets and scores, and are squared.
    most = np.sqrt(np.finfo(np.float64).max / 8.0 / len(main))
    for what, values in (("The labels leave", grades), (f"The scores of {main.name} leave", main.scores)):
        if not np.abs(values).max() < most:
            raise InputError(f"{what} the range of numbers when squared; give them in other units.")
    return SquaredError(rows, grades)


def _of_rows(labels: RankLabels, main: Observations) -> RankLabels:
    """Leave out labels, and ordered pairs, of ids that the main table does not have; warn if there are any."""
    _, known = locate(labels.keys, main.keys)
    if known.all():
        return labels
    graded = labels.grades is not None
    usable = known if graded else known[labels.better] & known[labels.worse]
    kept, left, what = int(usable.sum()), int((~usable).sum()), "labels" if graded else "ordered pairs"
    example = f"first: {str(labels.keys[~known][0])!r}, where {main.name} has ids like {str(main.keys[0])!r}"
    if not kept:
        what = "No label is of an id" if graded else "No ordered pair is of two ids"
        raise InputError(f"{what} that {main.name} has ({example}); give labels of its rows.")
    warnings.warn(
        f"{left} {what} are of ids that {main.name} does not have ({example}); they are left out, {kept} are used.",
        ManifuseWarning,
        stacklevel=4,
    )
    if labels.grades is not None:
        return RankLabels(labels.keys[known], labels.grades[known])
    return RankLabels.from_pairs(labels.keys[labels.better[usable]], labels.keys[labels.worse[usable]])
