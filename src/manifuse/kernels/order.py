"""Pairs of rows by their order: which are ordered as their labels say, and which are not by a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from manifuse.kernels.arrays import FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class PairRanges:
    """Pairs (i, j) of n rows as O(n log n) ranges: ``upper[e]`` goes with every row of ``lower[first[e]:last[e]]``.

    As a matrix ``A`` of zeros and ones, with a one at each pair, it is never formed.

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
        """``A values``: for every row as the upper of a pair, the sum over its lower rows, shape (n,)."""
        running = np.concatenate([[0.0], np.cumsum(values[self.lower])])
        return _gather(self.upper, running[self.last] - running[self.first], self.rows)

    def sum_upper(self, values: FloatArray) -> FloatArray:
        """``A' values``: for every row as the lower of a pair, the sum over its upper rows, shape (n,)."""
        ends = len(self.lower) + 1
        given = values[self.upper]
        changes = _gather(self.first, given, ends) - _gather(self.last, given, ends)
        return _gather(self.lower, np.cumsum(changes)[:-1], self.rows)


def pairs_within(
    scores: FloatArray, grades: IndexArray, margin: float, *, side: Literal["left", "right"] = "right"
) -> PairRanges:
    """Pairs of an upper and a lower grade whose scores differ by less than the margin.

    Parameters
    ----------
    scores : (n,) array
    grades : (n,) array of int
        Ranks of the labels, 0 or more.
    margin : float
    side : {"left", "right"}
        ``"left"`` takes the pairs in that differ by the margin exactly.

    Notes
    -----
    O(n log n). After one sort by score, the rows are parted stably by the bits of their grade, highest bit
    first (a wavelet tree). Two rows of different grade part company at exactly one bit, and there those of lower grade
    and high enough score are the end of a run.
    """
    n = len(scores)
    rows = np.argsort(scores, kind="stable")
    places, blocks = np.arange(n), np.sort(grades)
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
            + np.where(ones, inside + (place - start) - (zeros[place] - zeros[start]), zeros[place] - zeros[start])
            for place in (places, reach)
        )
        order = np.argsort(target)  # the inverse of a permutation
        rows, current, reach = rows[order], current[order], reach[order]
    empty = np.empty(0, dtype=np.intp)
    upper, lower, first, last = (np.concatenate([empty, *(part[field] for part in parts)]) for field in range(4))
    return PairRanges(n, upper, lower, first, last)


def ranks(labels: FloatArray) -> IndexArray:
    """Ranks of graded labels, equal for equal ones, counted from 0, shape (n,)."""
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def concordance(scores: FloatArray, labels: FloatArray) -> FloatArray:
    """Count, for every row, the rows that ``scores`` order against it as ``labels`` do.

    Pairs of equal labels do not count; pairs of equal scores count one half.

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
        # The mean of the count with every tie right and the count with every tie wrong.
        for side in ("left", "right"):
            wrong = pairs_within(candidate, grades, 0.0, side=side)
            counts[:, column] -= (wrong.sum_lower(ones) + wrong.sum_upper(ones)) / 2
    return counts


def concordant_pairs(scores: FloatArray, labels: FloatArray) -> FloatArray:
    """Count the pairs of rows that ``scores`` order as ``labels`` do; ties count as in `concordance`.

    Parameters
    ----------
    scores : (n, c) array
        Candidate predictions, one per column.
    labels : (n,) array
        Graded truth, larger is better.

    Returns
    -------
    (c,) array
        Half the sum over rows of `concordance`, at a fraction of its time.
    """
    grades = ranks(labels)
    grades = grades.astype(np.min_scalar_type(int(grades.max())))  # a short type is sorted by radix
    candidates = np.ascontiguousarray(scores.T)
    order = np.argsort(candidates, axis=1)
    ordered = np.take_along_axis(candidates, order, axis=1)
    tied = np.any(ordered[:, 1:] == ordered[:, :-1], axis=1)
    pairs = _ascents(grades[order])
    if tied.any():
        # The mean of the count with every tie right and the count with every tie wrong.
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
    """Pairs of places in each row of ``sequences`` (c, n) where the later grade is the larger; rows are permutations.

    Two grades differ first at one bit. Among places whose higher bits agree, the ones stand as far to the right
    of the leftmost places they could have as there are zeros before them: a rank sum counts all pairs of a bit.
    """
    blocks = np.sort(sequences[0])
    places = np.arange(len(blocks), dtype=np.float64)
    pairs = np.zeros(len(sequences))
    for bit in reversed(range(int(blocks[-1]).bit_length())):
        above, here = blocks >> (bit + 1), blocks >> bit
        leftmost = places + np.searchsorted(above, above) - np.searchsorted(here, here)
        pairs += ((sequences >> bit) & 1) @ places - leftmost[(here & 1) == 1].sum()
        if bit > 0:
            parted = np.argsort(sequences >> bit, axis=1, kind="stable")
            sequences = np.take_along_axis(sequences, parted, axis=1)
    return pairs


def _gather(places: IndexArray, values: FloatArray, size: int) -> FloatArray:
    """Sum values by place, shape (size,)."""
    return np.bincount(places, values, minlength=size).astype(np.float64, copy=False)
