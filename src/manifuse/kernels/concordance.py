"""Concordance: how many pairs of rows scores put in the order of the labels."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau

from manifuse.kernels.arrays import FloatArray, IndexArray

#: So many rows are compared with all others at once.
BLOCK = 1024


def concordance(scores: FloatArray, labels: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Count, for every row, the other rows that ``scores`` and ``labels`` order against it in the same way.

    Pairs of equal labels do not count. Pairs of equal scores count one half.

    Parameters
    ----------
    scores : (n, c) array
        Candidate predictions, one per column.
    labels : (n,) array
        Graded truth, larger is better.

    Returns
    -------
    counts : (n, c) array
        Concordant partners of each row. Each pair is counted at both of its rows.
    partners : (n,) array of int
        How many rows have another label.
    """
    counts, partners = np.empty(scores.shape), np.empty(len(labels), dtype=np.intp)
    for first in range(0, len(labels), BLOCK):
        rows = slice(first, first + BLOCK)
        order = _signs(labels, rows)
        partners[rows] = np.count_nonzero(order, axis=1)
        for column, candidate in enumerate(scores.T):
            counts[rows, column] = (partners[rows] + (order * _signs(candidate, rows)).sum(axis=1)) / 2
    return counts, partners


def different_pairs(values: FloatArray) -> float:
    """Count the pairs of rows whose values (n,) differ."""
    sizes = np.unique(values, return_counts=True)[1]
    return float(len(values) ** 2 - np.sum(sizes**2)) / 2


def concordant_pairs(scores: FloatArray, labels: FloatArray) -> FloatArray:
    """Count the pairs of rows that ``scores`` (n, c) order as ``labels`` (n,) do, shape (c,).

    Ties count as in `concordance`. The result is half the sum of `concordance` over the rows, but faster.
    """
    every, found = different_pairs(labels), []
    if not every:
        return np.zeros(scores.shape[1])
    for each in scores.T:
        # The surplus of right pairs over wrong ones is a whole number, however tau is rounded. A constant has none.
        tau = np.nan_to_num(kendalltau(each, labels).statistic)
        found.append((every + np.round(tau * np.sqrt(every) * np.sqrt(different_pairs(each)))) / 2)
    return np.array(found)


def _signs(values: FloatArray, rows: slice) -> NDArray[np.int8]:
    """Whether the values of some rows are above (1), equal to (0) or below (-1) those of all rows, shape (b, n)."""
    here = values[rows, None]
    return np.asarray((here > values).view(np.int8) - (here < values).view(np.int8))
