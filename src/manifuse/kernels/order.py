"""Pairs of rows: which of them scores put in the order of the labels, and which of them by a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from manifuse.kernels.arrays import FloatArray, IndexArray

Side = Literal["left", "right"]


@dataclass(frozen=True, eq=False)
class PairRanges:
    """Pairs (i, j) of n rows, as O(n log n) ranges: ``upper[e]`` is paired with all of ``lower[first[e]:last[e]]``.

    ``A`` is the (n, n) matrix with a one at each pair and zeros elsewhere. It is never formed.

    Attributes
    ----------
    rows : int
    upper, first, last : (e,) array of int
    lower : (e',) array of int
    """

    rows: int
    upper: IndexArray
    lower: IndexArray
    first: IndexArray
    last: IndexArray

    def sum_lower(self, values: FloatArray) -> FloatArray:
        """Compute ``A values``: for every row, the sum over the lower rows that it is paired with, shape (n,)."""
        running = np.concatenate([[0.0], np.cumsum(values[self.lower])])
        return _gather(self.upper, running[self.last] - running[self.first], self.rows)

    def sum_upper(self, values: FloatArray) -> FloatArray:
        """Compute ``A' values``: for every row, the sum over the upper rows that it is paired with, shape (n,)."""
        ends = len(self.lower) + 1
        given = values[self.upper]
        changes = _gather(self.first, given, ends) - _gather(self.last, given, ends)
        return _gather(self.lower, np.cumsum(changes)[:-1], self.rows)


def pairs_within(scores: FloatArray, grades: IndexArray, margin: float, *, side: Side = "right") -> PairRanges:
    """Find the pairs whose upper row has the higher grade, but a score less than ``margin`` above the lower's.

    Parameters
    ----------
    scores : (n,) array
    grades : (n,) array of int
        Ranks of the labels, 0 or more.
    margin : float
    side : {"left", "right"}
        Whether pairs that differ by exactly the margin count: ``"left"`` includes them, ``"right"`` does not.

    Notes
    -----
    It takes O(n log n). First it sorts the rows by score. Then it splits them stably by the bits of their grades, from
    the highest bit down (a wavelet tree). Two rows of different grades are separated at exactly one bit. At that bit,
    the rows with the lower grade and a high enough score are the end of a run.
    """
    n = len(scores)
    rows = np.argsort(scores, kind="stable")
    positions, blocks = np.arange(n), np.sort(grades)
    current = grades[rows]
    reach = np.searchsorted(scores[rows], scores[rows] - margin, side=side)
    parts: list[tuple[IndexArray, IndexArray, IndexArray, IndexArray]] = []
    offset = 0
    for bit in reversed(range(int(blocks[-1]).bit_length())):
        prefix = blocks >> (bit + 1)
        start, stop = (np.searchsorted(prefix, prefix, side=end) for end in ("left", "right"))
        ones = ((current >> bit) & 1).astype(bool)
        zeros = np.concatenate([[0], np.cumsum(~ones)])
        parts.append((rows[ones], rows[~ones], offset + zeros[reach[ones]], offset + zeros[stop[ones]]))
        offset += int(zeros[-1])
        inside = zeros[stop] - zeros[start]
        target, reach = (
            start
            + np.where(
                ones, inside + (position - start) - (zeros[position] - zeros[start]), zeros[position] - zeros[start]
            )
            for position in (positions, reach)
        )
        order = np.argsort(target)  # the inverse of a permutation
        rows, current, reach = rows[order], current[order], reach[order]
    empty = np.empty(0, dtype=np.intp)
    upper, lower, first, last = (np.concatenate([empty, *(part[field] for part in parts)]) for field in range(4))
    return PairRanges(n, upper, lower, first, last)


def ranks(labels: FloatArray) -> IndexArray:
    """Rank graded labels from 0, with equal ranks for equal labels, shape (n,)."""
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def concordance(scores: FloatArray, labels: FloatArray) -> FloatArray:
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
    (n, c) array
        Concordant partners of each row. Each pair is counted at both of its rows.
    """
    grades, ones = ranks(labels), np.ones(len(labels))
    counts = np.repeat(comparable(labels)[:, None], scores.shape[1], axis=1)
    for column, candidate in enumerate(scores.T):
        # A tie counts one half: the mean of one count with every tie right and one with every tie wrong.
        sides: tuple[Side, ...] = ("left", "right") if len(np.unique(candidate)) < len(candidate) else ("left",)
        for side in sides:
            wrong = pairs_within(candidate, grades, 0.0, side=side)
            counts[:, column] -= (wrong.sum_lower(ones) + wrong.sum_upper(ones)) / len(sides)
    return counts


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
        # As in `concordance`: the mean over both orders of every tie.
        rising = np.argsort(grades, kind="stable")
        ways = []
        for rows in (rising, rising[::-1]):
            among = np.argsort(candidates[tied][:, rows], axis=1, kind="stable")
            ways.append(_ascents(grades[rows][among]))
        pairs[tied] = np.mean(ways, axis=0)
    return pairs


def comparable(labels: FloatArray) -> FloatArray:
    """Count, for every row, the rows whose label differs from its own, shape (n,)."""
    _, grades, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return np.asarray(len(labels) - sizes[grades], dtype=np.float64)


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


def _gather(positions: IndexArray, values: FloatArray, size: int) -> FloatArray:
    """Sum the values that have the same position, shape (size,)."""
    return np.bincount(positions, values, minlength=size).astype(np.float64, copy=False)
