"""Pairs of rows: how many of them scores put in the order of the labels."""

from __future__ import annotations

import numpy as np

from manifuse.kernels.arrays import FloatArray, IndexArray


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
    grades, counts = ranks(labels), np.empty(scores.shape)
    for column, candidate in enumerate(scores.T):
        # A tie counts one half: the mean of one count with every tie right and one with every tie wrong.
        has_ties = len(np.unique(candidate)) < len(candidate)
        ways = [_partners(np.lexsort((tied, candidate)), grades) for tied in (grades, -grades)[: 1 + has_ties]]
        counts[:, column] = np.mean(ways, axis=0)
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


def _partners(order: IndexArray, grades: IndexArray) -> FloatArray:
    """Count, for every row, the rows of a higher grade after it and of a lower one before it in ``order``, shape (n,).

    Any two different grades differ first at one bit, as in `_ascents`. There the rows whose higher bits agree stand
    together, in their order, so running sums of the bits count all pairs that differ first at this bit.
    """
    blocks, positions, counts = np.sort(grades), np.arange(len(order)), np.zeros(len(order))
    for bit in reversed(range(int(blocks[-1]).bit_length())):
        above = blocks >> (bit + 1)
        start, stop = (np.searchsorted(above, above, side=side) for side in ("left", "right"))
        high = (grades[order] >> bit) & 1
        before = np.concatenate([[0], np.cumsum(high)])
        lower_before = positions - start - (before[:-1] - before[start])
        counts[order] += np.where(high == 1, lower_before, before[stop] - before[:-1])
        order = order[np.argsort(grades[order] >> bit, kind="stable")]
    return counts
