"""Squared error: how far predictions are from targets, for a regression."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from manifuse.evidence.gain import Gain, Measure
from manifuse.evidence.holding_out import Folds, error_of_mean, overlap_of
from manifuse.evidence.rankings import GradedRanking
from manifuse.evidence.score import Score, in_trials
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise


@dataclass(frozen=True, eq=False)
class SquaredError(Score):
    """The negative root mean squared error against known targets.

    Attributes
    ----------
    rows : (l,) array of int
    truth : (l,) array
        The targets, in units of the main predictor.
    """

    rows: IndexArray
    truth: FloatArray
    measure: ClassVar[Measure] = "rmse"

    @property
    def others(self) -> int:
        """How many targets are not the commonest one."""
        return len(self.truth) - int(np.unique(self.truth, return_counts=True)[1].max())

    @property
    def evenness(self) -> float:
        """That of the ranking by the targets; see `Score.evenness`."""
        return self.order().evenness

    def evaluate(self, candidates: FloatArray) -> FloatArray:
        """Score candidate predictions; see `Score.evaluate`."""
        return np.asarray(-np.sqrt(np.mean((candidates - self.truth[:, None]) ** 2, axis=0)))

    def gain(self, before: FloatArray, after: FloatArray, folds: Folds | None = None) -> Gain:
        """Compare two predictions; see `Score.gain`.

        The standard error is by the delta method, and counts that what was learned in different folds is alike.
        """
        squares = np.mean((in_trials(before, after) - self.truth) ** 2, axis=0).T
        roots = np.sqrt(squares.mean(axis=0))
        scaled = squares / (2.0 * np.where(roots > 0, roots, 1.0))
        error = error_of_mean(scaled[:, 0] - scaled[:, 1], folds)
        if folds is not None:
            error *= overlap_of(folds.count)
        return Gain(float(roots[0] - roots[1]), error, len(self.rows), self.measure, self.others)

    def order(self) -> Score:
        """The ranking by the targets; see `Score.order`."""
        return GradedRanking(self.rows, self.truth)

    def only(self, kept: IndexArray) -> Score | None:
        """Take some of the labelled rows; see `Score.only`."""
        # A line and its standard error need three.
        return SquaredError(self.rows[kept], self.truth[kept]) if len(kept) >= 3 else None

    def observations(self) -> FloatArray:
        """The standardised targets; see `Score.observations`."""
        return standardise(self.truth[:, None])
