"""Pairs of rows: how many of them scores put in the order of the labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manifuse.kernels.arrays import FloatArray, IndexArray

#: So many rows are compared with all others at once.
BLOCK = 1024


def ranks(labels: FloatArray) -> IndexArray:
    """Rank graded labels from 0, with equal ranks for equal labels, shape (n,)."""
    return np.asarray(np.unique(labels, return_inverse=True)[1])


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


def concordant_pairs(scores: FloatArray, labels: FloatArray) -> FloatArray:
    """Count the pairs of rows that ``scores`` (n, c) order as ``labels`` (n,) do, shape (c,).

    Ties count as in `concordance`. The result is half the sum of `concordance` over the rows, but faster.
    """
    grades = ranks(labels)
    grades = grades.astype(np.min_scalar_type(int(grades.max())))  # NumPy sorts short types by radix
    candidates = np.ascontiguousarray(scores.T)
    order = np.argsort(candidates, axis=1)
    ordered = np.take_along_axis(candidates, order, axis=1)
    tied = np.any(ordered[:, 1:] == ordered[:, :-1], axis=1)
    pairs = _ascents(grades[order])
    if tied.any():
        # A tie counts one half: the mean of one count with every tie right and one with every tie wrong.
        rising = np.argsort(grades, kind="stable")
        ways = []
        for rows in (rising, rising[::-1]):
            among = np.argsort(candidates[tied][:, rows], axis=1, kind="stable")
            ways.append(_ascents(grades[rows][among]))
        pairs[tied] = np.mean(ways, axis=0)
    return pairs


def _ascents(sequences: IndexArray) -> FloatArray:
    """Count, in each row of ``sequences`` (c, n), the pairs of positions whose later grade is the larger, shape (c,).

    All rows are permutations of the same grades. Any two different grades differ first at one bit. Take the positions
    whose higher bits agree. There each one is to the right of its leftmost possible position by the number of zeros
    before it. So one sum of positions counts all pairs that differ first at this bit.
    """
    blocks = np.sort(sequences[0])
    positions = np.arange(len(blocks), dtype=np.float64)
    pairs = np.zeros(len(sequences))
    for bit in reversed(range(int(blocks[-1]).bit_length())):
        above, here = blocks >> (bit + 1), blocks >> bit
        leftmost = positions + np.searchsorted(above, above) - np.searchsorted(here, here)
        pairs += ((sequences >> bit) & 1) @ positions - leftmost[(here & 1) == 1].sum()
        if bit > 0:
            parted = np.argsort(sequences >> bit, axis=1, kind="stable")
            sequences = np.take_along_axis(sequences, parted, axis=1)
    return pairs


def _signs(values: FloatArray, rows: slice) -> NDArray[np.int8]:
    """Whether the values of some rows are above (1), equal to (0) or below (-1) those of all rows, shape (b, n)."""
    here = values[rows, None]
    return np.asarray((here > values).view(np.int8) - (here < values).view(np.int8))
