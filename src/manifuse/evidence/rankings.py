"""Rankings: the share of pairs of labelled rows that are in the right order, by grades or by ordered pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from manifuse.evidence.gain import Gain
from manifuse.evidence.holding_out import BLOCKS, Folds, Held, error_of_blocks, error_of_sum
from manifuse.evidence.score import Score, in_trials
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn
from manifuse.kernels.concordance import concordance, concordant_pairs, different_pairs
from manifuse.kernels.sphere import standardise


@dataclass(frozen=True, eq=False)
class GradedRanking(Score):
    """Ranking accuracy: the share of pairs with different grades that are in the right order; ties count one half."""

    rows: IndexArray
    truth: FloatArray

    def evaluate(self, candidates: FloatArray) -> FloatArray:
        """Score candidate predictions; see `Score.evaluate`."""
        return np.asarray(concordant_pairs(candidates, self.truth) / different_pairs(self.truth))

    @property
    def others(self) -> int:
        """How many grades are not the commonest one."""
        return len(self.truth) - int(np.unique(self.truth, return_counts=True)[1].max())

    @property
    def error_by_chance(self) -> float:
        """That of Kendall's tau with ties (Kendall, Rank Correlation Methods, 1970); see `Score.error_by_chance`."""
        sizes = np.append(len(self.truth), -np.unique(self.truth, return_counts=True)[1]).astype(np.float64)
        counted = np.abs(sizes)
        variance = np.sum(np.sign(sizes) * counted * (counted - 1.0) * (2.0 * counted + 5.0)) / 18.0
        return float(np.sqrt(variance)) / (2.0 * different_pairs(self.truth))

    @property
    def evenness(self) -> float:
        """Of all pairs of labels, the share that has different grades, where that of two even grades counts 1."""
        return min(4.0 * different_pairs(self.truth) / len(self.truth) ** 2, 1.0)

    def gain(self, before: FloatArray, after: FloatArray, folds: Folds | None = None) -> Gain:
        """Compare two predictions; see `Score.gain`.

        The accuracy is a U-statistic over pairs of rows. For each row, the deviations of its own pairs are summed. The
        sum of these has the error of the accuracy; see `error_of_sum`.
        """
        (was, now), partners = self._concordant(in_trials(before, after), folds)
        total = float(partners.sum()) or 1.0
        value = float((now - was).sum() / total)
        deviations = now - was - value * partners
        error = min(2.0 * error_of_sum(deviations, folds, partners) / total, 1.0)
        # Labels that are equal in every fold say nothing. Those of a single block do not say how blocks differ.
        compared = self.rows if folds is None else np.unique(folds.blocks[partners > 0])
        rows = len(self.rows) if partners.any() and len(compared) > 1 else 0
        return Gain(value, error, rows, self.measure, self.others)

    def measured(self, predictions: FloatArray, folds: Folds | None = None) -> float:
        """Ranking accuracy of predictions (l,); see `Score.measured`."""
        if folds is None:
            return super().measured(predictions)
        every = np.broadcast_to(predictions, (len(folds.numbers), 1, len(self.truth)))
        counts, partners = self._concordant(every, folds)
        return float(counts.sum() / partners.sum()) if partners.any() else super().measured(predictions)

    def _concordant(self, predictions: FloatArray, folds: Folds | None) -> tuple[FloatArray, FloatArray]:
        """Partners of each row that predictions (r, q, l) order rightly (q, l), and all its partners (l,).

        They are counted within folds, and summed over the trials.
        """
        counts, partners = np.zeros(predictions.shape[1:]), np.zeros(len(self.truth))
        every = [np.arange(len(self.truth))]
        for trial, values in enumerate(predictions):
            for rows in every if folds is None else folds.rows(trial):
                right, others = concordance(values[:, rows].T, self.truth[rows])
                counts[:, rows] += right.T
                partners[rows] += others
        return counts, partners

    def only(self, kept: IndexArray) -> Score | None:
        """Take some of the labelled rows; see `Score.only`."""
        grades = self.truth[kept]
        return GradedRanking(self.rows[kept], grades) if len(set(grades.tolist())) > 1 else None

    def observations(self) -> FloatArray:
        """Mid-ranks of the grades, because only their order counts; see `Score.observations`."""
        return standardise(rankdata(self.truth)[:, None])

    def ordered_pairs(self, most: int) -> tuple[IndexArray, IndexArray]:
        """All pairs of different grades; see `Score.ordered_pairs`."""
        few = drawn(len(self.truth), int(np.sqrt(2 * most)))
        better, worse = np.nonzero(self.truth[few, None] > self.truth[few])
        return few[better], few[worse]


@dataclass(frozen=True, eq=False)
class PairedRanking(Score):
    """The share of given pairs (better, worse) that are in the right order; ties count one half.

    Attributes
    ----------
    rows : (2 p,) array of int
        The better row of every pair, then the worse ones. A row may be there several times.
    """

    rows: IndexArray

    @classmethod
    def of(cls, better: IndexArray, worse: IndexArray) -> PairedRanking:
        """Take p pairs of rows."""
        return cls(np.concatenate([better, worse]))

    @property
    def error_by_chance(self) -> float:
        """As if no two pairs had a row in common; see `Score.error_by_chance`."""
        return 0.5 / float(np.sqrt(len(np.unique(self.rows)) / 2.0))

    def evaluate(self, candidates: FloatArray) -> FloatArray:
        """Score candidate predictions; see `Score.evaluate`."""
        return np.asarray(self._correct(candidates).mean(axis=0))

    def gain(self, before: FloatArray, after: FloatArray, folds: Folds | None = None) -> Gain:
        """Compare two predictions; see `Score.gain`. Pairs that share a row, or a block, are not independent."""
        right = [self._correct(values.T) for values in in_trials(before, after)]
        difference = np.mean([each[:, 1] - each[:, 0] for each in right], axis=0)
        value = float(difference.mean())
        count, error = len(np.unique(self.rows)), self._error_by(self.rows, difference - value)
        if folds is not None and folds.block_count < count:
            error = max(error, self._error_by(folds.blocks, difference - value))
        # A mean of numbers from -1 to 1 has at most this error.
        error = min(error / len(difference), 1.0)
        return Gain(value, error, count, self.measure)

    def _error_by(self, blocks: IndexArray, deviations: FloatArray) -> float:
        """Standard error of the sum of deviations (p,), if pairs depend that share one of the rows' ``blocks`` (2 p,).

        Each block is left out in turn (the jackknife), because one in most of the pairs is near their mean, however
        far it is off. One more pair of blocks counts, which only one of two predictions puts right, so that one pair
        proves nothing.
        """
        _, block = np.unique(blocks, return_inverse=True)
        better, worse = np.split(block, 2)
        two = better != worse
        ends = np.append(better, worse[two])
        shares = np.bincount(ends) / len(deviations)
        # 1 if all are in equally many pairs. A block that is in all pairs cannot be left out, and has no deviation.
        scale = (1.0 - shares.mean()) / np.where(shares < 1, 1.0 - shares, 1.0)
        sums = np.bincount(ends, np.append(deviations, deviations[two])) * scale
        # The sum over blocks counts a pair of two blocks twice, once at each of them.
        twice = float(np.sum((deviations**2 * scale[better] * scale[worse])[two]))
        variance = max(float(np.sum(sums**2)) - twice, float(np.sum(deviations**2)))
        different = int(np.unique(np.sort([better, worse], axis=0), axis=1).shape[1])
        return error_of_blocks(variance + (len(deviations) / different) ** 2, len(shares))

    def hold_out(
        self, blocks: IndexArray, held: Held, rng: np.random.Generator, trials: int
    ) -> tuple[Folds, list[list[IndexArray]]]:
        """Hold out every pair by itself, with all others that have a row of its blocks; see `Score.hold_out`.

        If rows are held out at random, they are put into blocks first.
        """
        del trials
        apart = blocks
        if held is Held.AT_RANDOM:
            names, block = np.unique(blocks, return_inverse=True)
            apart = rng.permutation(np.arange(len(names)) % BLOCKS)[block]
        ends = apart.reshape(2, -1).T
        numbers = np.tile(np.arange(len(ends)), 2)[None]
        return Folds(numbers, held, blocks), [[np.flatnonzero(np.isin(ends, pair).any(axis=1)) for pair in ends]]

    def only(self, kept: IndexArray) -> Score | None:
        """Take the pairs of which both rows are taken; see `Score.only`."""
        both = np.isin(np.arange(len(self.rows)), kept).reshape(2, -1).all(axis=0)
        return self.of_observations(np.flatnonzero(both)) if both.any() else None

    def of_observations(self, kept: IndexArray) -> Score:
        """Take some pairs; see `Score.of_observations`."""
        return PairedRanking(self.rows.reshape(2, -1)[:, kept].ravel())

    def observations(self) -> FloatArray:
        """One for every pair: the better row is above the worse; see `Score.observations`."""
        return np.ones((len(self.rows) // 2, 1))

    def contrasts(self) -> FloatArray:
        """Better less worse, for every pair; see `Score.contrasts`."""
        pairs = np.eye(len(self.rows) // 2)
        return np.hstack([pairs, -pairs])

    def ordered_pairs(self, most: int) -> tuple[IndexArray, IndexArray]:
        """The given pairs; see `Score.ordered_pairs`."""
        pairs = len(self.rows) // 2
        few = drawn(pairs, most)
        return few, pairs + few

    def _correct(self, predictions: FloatArray) -> FloatArray:
        better, worse = np.split(predictions, 2)
        return np.asarray((np.sign(better - worse) + 1.0) / 2.0)
