"""Pairs of rows whose scores differ by less than a margin, though their labels differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manifuse.kernels.arrays import FloatArray, IndexArray


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


def pairs_within(scores: FloatArray, grades: IndexArray, margin: float) -> PairRanges:
    """Find the pairs whose upper row has the higher grade, but a score less than ``margin`` above the lower's.

    Parameters
    ----------
    scores : (n,) array
    grades : (n,) array of int
        Ranks of the labels, 0 or more.
    margin : float

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
    reach = np.searchsorted(scores[rows], scores[rows] - margin, side="right")
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


def _gather(positions: IndexArray, values: FloatArray, size: int) -> FloatArray:
    """Sum the values that have the same position, shape (size,)."""
    return np.bincount(positions, values, minlength=size).astype(np.float64, copy=False)
