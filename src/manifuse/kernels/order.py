"""Concordance: which rows are ordered as their labels say."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.kernels.arrays import FloatArray, IndexArray


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

    Notes
    -----
    O(n log n) per column: after one sort by score, the rows are parted stably by the bits of their
    grade, highest bit first. Two rows of different grade part company at exactly one bit, and there
    the running count of ones and zeros in their block says how many partners stand on either side.
    """
    _, grades = np.unique(labels, return_inverse=True)
    by_grade = np.argsort(grades, kind="stable")
    rising = _count(scores[by_grade], grades[by_grade])
    counts = np.empty_like(rising)
    counts[by_grade] = rising
    ordered = np.sort(scores, axis=0)
    tied = np.any(ordered[1:] == ordered[:-1], axis=0)
    if tied.any():
        # A stable sort counts every tie as right when rows come in by rising grade, and as wrong
        # when they come in by falling grade; the mean of the two counts it one half.
        falling = by_grade[::-1]
        pessimistic = np.empty((len(labels), int(tied.sum())))
        pessimistic[falling] = _count(scores[falling][:, tied], grades[falling])
        counts[:, tied] = (counts[:, tied] + pessimistic) / 2
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
    _, grades = np.unique(labels, return_inverse=True)
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


def _count(scores: FloatArray, grades: IndexArray) -> FloatArray:
    """Concordant partners of each row when ties stand in the order the rows came in."""
    n, candidates = scores.shape
    rows = np.argsort(scores, axis=0, kind="stable")
    current = grades[rows]
    counts = np.zeros((n, candidates))
    blocks = np.sort(grades)
    for bit in reversed(range(int(blocks[-1]).bit_length())):
        prefix = blocks >> (bit + 1)
        start = np.searchsorted(prefix, prefix, side="left")
        stop = np.searchsorted(prefix, prefix, side="right")
        ones = (current >> bit) & 1
        running = np.zeros((n + 1, candidates), dtype=np.intp)
        np.cumsum(ones, axis=0, out=running[1:])
        ones_before = running[:-1] - running[start]
        zeros_before = (np.arange(n) - start)[:, None] - ones_before
        ones_in_block = running[stop] - running[start]
        counts += np.where(ones, zeros_before, ones_in_block - ones_before)
        zeros_in_block = (stop - start)[:, None] - ones_in_block
        if bit == 0:
            break  # nothing is counted after the last bit, so nothing needs to be parted by it
        target = start[:, None] + np.where(ones, zeros_in_block + ones_before, zeros_before)
        current, rows, counts = (_scatter(values, target) for values in (current, rows, counts))
    return _scatter(counts, rows)


def _scatter(values: NDArray[Any], target: IndexArray) -> NDArray[Any]:
    """Put every entry into row ``target`` of its own column; one flat index is faster than one a column."""
    columns = values.shape[1]
    placed = np.empty(values.size, dtype=values.dtype)
    placed[target * columns + np.arange(columns)] = values
    return placed.reshape(values.shape)
