"""Own labels: what a user learns from labels, own features and own scores, without any reference.

This is kernel ridge regression on the labels. The kernel is a mixture of a Gaussian one of the features and a linear
one of the scores, as they came and smoothed over the own graph. What a method gains over it is what references are
worth to a user who would otherwise retrain.
"""

from itertools import product, starmap
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics.pairwise import rbf_kernel

from manifuse.evidence.rankings import GradedRanking
from manifuse.evidence.squared_error import SquaredError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.rivals.own_graph import self_smoothing
from manifuse.tables.observations import Observations

#: Leaving one label out chooses among penalties, Gaussian widths in units of the mean squared distance of two rows,
#: shares of the Gaussian kernel, and features standardised or as they came.
PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
WIDTHS = (0.125, 0.25, 0.5, 1.0, 2.0)
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def own_labels(
    main: Observations, rows: IndexArray, labels: FloatArray, rng: np.random.Generator, *, regression: bool = False
) -> tuple[FloatArray, dict[str, object]]:
    """Learn the labels of some rows, all parameters by leaving one label out.

    Parameters
    ----------
    main : Observations
        With features.
    rows : (l,) array of int
        Labelled rows.
    labels : (l,) array
    rng : numpy.random.Generator
        For the neighbour search.
    regression : bool
        Whether labels are values to predict. If not, only their order counts: mid-ranks are learned, and ranking
        accuracy chooses.

    Returns
    -------
    predictions : (n,) array
        In units of the labels for a regression.
    hyperparameters : dict
    """
    score = SquaredError(rows, labels) if regression else GradedRanking(rows, labels)
    targets = standardise(labels if regression else rankdata(labels))
    level, spread = (float(np.mean(labels)), float(np.std(labels))) if regression else (0.0, 1.0)
    scores = standardise(np.column_stack([main.scores, self_smoothing(main, score.order(), rng)[0]]))
    features = np.asarray(main.table, dtype=np.float64)
    # By a power of two, so that no square leaves the range of numbers, and no digit changes.
    features = np.ldexp(features, -np.frexp(np.abs(features).max())[1])
    # In units in which the mean squared distance of two rows is 1.
    tables = {
        flag: table / np.sqrt(2.0 * table.var(axis=0).sum())
        for flag, table in ((True, standardise(features)), (False, features))
    }
    highest = -np.inf
    for candidate in starmap(Cell, product((True, False), WIDTHS, SHARES)):
        kernel = mixed_kernel(tables[candidate.standardised], scores, rows, rows, candidate)
        predicted = np.column_stack([left_out(kernel, targets, penalty) for penalty in PENALTIES])
        heights = score.evaluate(level + spread * predicted)
        if heights.max() > highest:
            highest, cell, penalty = float(heights.max()), candidate, PENALTIES[int(np.argmax(heights))]
            weights = np.linalg.solve(kernel + penalty * np.eye(len(rows)), targets)
    learned = mixed_kernel(tables[cell.standardised], scores, np.arange(len(main)), rows, cell) @ weights
    return level + spread * learned, {**cell._asdict(), "penalty": penalty}


class Cell(NamedTuple):
    """One kernel: of standardised features or not, the Gaussian width, and the share of the Gaussian kernel."""

    standardised: bool
    width: float
    share: float


def mixed_kernel(
    table: FloatArray, scores: FloatArray, rows: IndexArray, others: IndexArray, cell: Cell
) -> FloatArray:
    """Kernel values of rows (q,) and others (l,), shape (q, l), from features (n, d) and scores (n, 2)."""
    gaussian = rbf_kernel(table[rows], table[others], gamma=1.0 / cell.width)
    linear = scores[rows] @ scores[others].T / scores.shape[1]
    return np.asarray(cell.share * gaussian + (1.0 - cell.share) * linear)


def left_out(kernel: FloatArray, targets: FloatArray, penalty: float) -> FloatArray:
    """What kernel ridge regression predicts of each of its rows (l,) without that row's target, by one inverse."""
    inverse = np.linalg.inv(kernel + penalty * np.eye(len(targets)))
    return np.asarray(targets - (inverse @ targets) / np.diag(inverse))
