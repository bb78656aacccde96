"""Holding out: which labels are held out together, to measure what is learned from the others.

Labels are put into folds. A labelled row is judged by what would be known of it without all labels of its fold. It is
compared only with other rows of the same fold. These were judged without the same labels, so no row gains or loses by
the label of another (within-fold comparison; leaving single labels out is biased against what was learned, Airola et
al., Computational Statistics and Data Analysis, 2011).

If labelled rows are not like the other rows, random folds do not show it. Then folds are groups that the user names,
runs of rows that follow each other in time, or regions of the feature space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.special import ndtri, stdtrit
from scipy.stats import mannwhitneyu, rankdata

from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray, without_rounding

#: Folds in a trial, and trials.
FOLDS, TRIALS = 5, 5

#: Groups in a fold, if there are enough, so that rows of different groups are compared, too.
GROUPS_IN_FOLD = 3

#: The number of runs or regions from which folds are made.
BLOCKS = 10

#: Rows follow each other in time if the nearest row of so many is within so many lines, and far more often than among
#: all rows within the next number of lines. In a table that is sorted, by class or score, these are alike.
FOLLOWING, NEXT, NEAR = 0.1, 5, 50

#: Labels are crowded if rows without a label are farther from the next label, in squared distances, by this factor,
#: and chance does not explain that (Mann and Whitney). Twins have distances of rounding, up to the last share of the
#: largest distance between labels.
CROWDED, BY_CHANCE, ROUNDING = 2.0, 1e-3, 1e-9

#: Of sums, the share that is below the mean and two standard errors.
HOLDS = 0.975


class Held(StrEnum):
    """How labels were held out."""

    AT_RANDOM = "at random"
    BY_GROUP = "by group"
    BY_RUN = (
        "in runs of rows that follow each other, because such rows are alike, as they are in time; if the table is "
        "only sorted, shuffle it"
    )
    BY_REGION = "by region, because the labelled rows are crowded"


@dataclass(frozen=True, eq=False)
class Folds:
    """Labels as they are held out.

    Attributes
    ----------
    numbers : (r, l) array of int
        The fold of every labelled row, in each of r trials.
    held : Held
    blocks : (l,) array of int
        Rows that are held out together, because their errors may be alike.
    """

    numbers: IndexArray
    held: Held
    blocks: IndexArray

    @classmethod
    def of(cls, blocks: IndexArray, held: Held, rng: np.random.Generator, *, trials: int = TRIALS) -> Folds:
        """Put ``blocks`` (l,) of labels into folds; those of one block stay together."""
        names, block = np.unique(blocks, return_inverse=True)
        most = len(names) // GROUPS_IN_FOLD if held is Held.BY_GROUP else len(names)
        count = max(min(FOLDS, most), 2)
        drawn = np.array([rng.permutation(np.arange(len(names)) % count) for _ in range(trials)])
        return cls(drawn[:, block], held, blocks)

    @property
    def count(self) -> int:
        """Number of folds."""
        return int(self.numbers.max()) + 1

    @property
    def block_count(self) -> int:
        """Number of blocks."""
        return len(np.unique(self.blocks))

    def together(self) -> Folds:
        """Return the same blocks in one fold, for what holds out each block alone."""
        return replace(self, numbers=np.zeros((1, len(self.blocks)), dtype=np.intp))

    def rows(self, trial: int) -> list[IndexArray]:
        """The labels of every fold of a trial."""
        return [np.flatnonzero(self.numbers[trial] == fold) for fold in np.unique(self.numbers[trial])]

    def within(self, values: FloatArray) -> FloatArray:
        """Values (r, l, c) less the mean of their fold."""
        centred = np.empty_like(values)
        for trial, row in enumerate(values):
            for fold in self.rows(trial):
                centred[trial, fold] = row[fold] - row[fold].mean(axis=0)
        return centred


def error_of_sum(deviations: FloatArray, folds: Folds | None, weights: FloatArray | None = None) -> float:
    """Standard error of the sum of some rows' deviations (l,) from their mean.

    Rows of one block may be off by the same, so sums over blocks count if their error is larger. It can be smaller
    because few blocks may agree by chance. Each block is compared with the mean of the others (the jackknife), because
    one that has most of the rows is near the mean of all, however far it is off. Rows count by their ``weights`` (l,)
    in the mean, and those of weight 0 not at all; by default they count alike.
    """
    error = float(np.sqrt(np.sum(deviations**2)))
    if folds is None:
        return error
    weights = np.ones(len(deviations)) if weights is None else weights
    counted = weights > 0
    names, block = np.unique(folds.blocks[counted], return_inverse=True)
    count = len(names)
    if not error or count in (1, len(block)):
        return error
    shares = np.bincount(block, weights[counted]) / weights.sum()
    # The factor is 1 of equal blocks.
    sums = np.bincount(block, deviations[counted]) * (1.0 - 1.0 / count) / (1.0 - shares)
    return max(error, error_of_blocks(float(np.sum(sums**2)), count))


def error_of_mean(values: FloatArray, folds: Folds | None) -> float:
    """Standard error of the mean of some rows' values (l,)."""
    return error_of_sum(values - values.mean(), folds) / float(np.sqrt(len(values) * (len(values) - 1)))


def overlap_of(folds: int) -> float:
    """By what factor the standard error of a mean over so many folds is larger than that over as many rows.

    What was learned for any two of k folds has most rows in common, so that the errors of folds are alike. The
    variance of their mean is 1 + k / (k - 1) times as large (Nadeau and Bengio, Machine Learning, 2003).
    """
    return float(np.sqrt(1.0 + folds / (folds - 1.0))) if folds > 1 else 1.0


def error_of_blocks(variance: float, count: int) -> float:
    """Standard error by squares that were summed over ``count`` blocks; 0 of a single one, which says nothing of it.

    It is larger by the ratio of the limits of Student's t and of a normal distribution. So two of it on each side hold
    95 of 100 samples, although blocks are few (Cameron and Miller, Journal of Human Resources, 2015).
    """
    if count < 2:
        return 0.0
    student = float(stdtrit(count - 1, HOLDS) / ndtri(HOLDS))
    return student * float(np.sqrt(variance * count / (count - 1.0)))


def held_together(
    rows: IndexArray,
    places: IndexArray,
    groups: Sequence[str] | None,
    nearest: IndexArray | None,
    distances: tuple[FloatArray, FloatArray] | None,
) -> tuple[IndexArray, Held]:
    """Find which labels must be held out together.

    Parameters
    ----------
    rows : (l,) array of int
        The labelled rows, as they stand in the main table.
    places : (l,) array of int
        Their places in the order in which rows are drawn.
    groups : sequence of str or None
        Of the labels, if the user names them.
    nearest : (n,) array of int or None
        The nearest other row of every main row.
    distances : pair of arrays or None
        Squared distances of labelled rows from each other (l, l), and of other rows from the next label.

    Returns
    -------
    blocks : (l,) array of int
    held : Held
    """
    if groups is not None:
        _, first, blocks = np.unique(np.asarray(groups), return_index=True, return_inverse=True)
        # Numbered as they appear, so that their names do not count.
        return np.argsort(np.argsort(first))[blocks], Held.BY_GROUP
    if nearest is not None and follow_in_time(nearest):
        return ((rankdata(rows, method="ordinal") - 1) * BLOCKS // len(rows)).astype(np.intp), Held.BY_RUN
    if distances is not None and are_crowded(rows, *distances):
        between = np.sqrt(distances[0][np.triu_indices(len(rows), 1)])
        return fcluster(linkage(between, "average"), BLOCKS, "maxclust"), Held.BY_REGION
    # By place, so that rows in another order are put into the same folds.
    return np.unique(places, return_inverse=True)[1], Held.AT_RANDOM


def follow_in_time(nearest: IndexArray) -> bool:
    """Whether rows seem to follow each other in time, by the nearest other row of every row (n,)."""
    line = np.arange(len(nearest))
    lines = np.abs(nearest - line)
    close: BoolArray = lines <= NEXT

    def within(most: int) -> IndexArray:
        return np.minimum(line, most) + np.minimum(line[::-1], most)

    # Of rows whose nearest is near in the file, so many are next to it by chance.
    chance = (within(NEXT) / within(NEAR))[lines <= NEAR]
    expected, spread = chance.sum(), np.sqrt((chance * (1.0 - chance)).sum())
    return bool(close.mean() > FOLLOWING and close.sum() > 2.0 * expected + 3.0 * spread)


def are_crowded(rows: IndexArray, between: FloatArray, others: FloatArray) -> bool:
    """Whether labelled rows are crowded, by squared distances; see `held_together`.

    They are not if hardly any row has no label. A row in several ordered pairs is there several times.
    """
    if min(len(np.unique(rows)), len(others)) < BLOCKS:
        return False
    largest = between.max() or 1.0
    between, others = without_rounding(between / largest), without_rounding(others / largest)
    apart = np.where(rows[:, None] == rows, np.inf, between).min(axis=1)
    if np.median(others) <= max(CROWDED * np.median(apart), ROUNDING):
        return False
    # Where features are skewed, medians of labels anywhere differ by more than that.
    return bool(mannwhitneyu(others, apart, alternative="greater").pvalue < BY_CHANCE)
