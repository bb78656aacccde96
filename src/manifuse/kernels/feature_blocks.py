"""Feature blocks: a feature table is read in blocks of rows, so that a table on disk is never in memory as a whole."""

from collections.abc import Iterator

import numpy as np

from manifuse.kernels.arrays import BoolArray, FloatArray
from manifuse.kernels.sphere import is_rounding

#: How many numbers a block has.
NUMBERS = 1 << 22


def blocks_of(features: FloatArray) -> Iterator[slice]:
    """Return slices of rows with about ``NUMBERS`` numbers each."""
    rows, width = features.shape
    size = max(1, NUMBERS // max(1, width))
    return (slice(first, min(first + size, rows)) for first in range(0, max(1, rows), size))


def means_and_deviations(features: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations (d,) of the columns of ``features`` (n, d).

    The deviation of a column is 0 if the column varies by no more than the rounding of its own entries. It is in the
    range of floats wherever the entries are.
    """
    width = features.shape[1]
    sums, low, high = np.zeros(width), np.full(width, np.inf), np.full(width, -np.inf)
    for rows in blocks_of(features):
        block = _in_double(features, rows)
        # Of a sum beyond the range of floats, the mean is the largest or the smallest entry, or NaN if the sum is.
        with np.errstate(over="ignore", invalid="ignore"):
            sums += block.sum(axis=0)
        np.minimum(low, block.min(axis=0), out=low)
        np.maximum(high, block.max(axis=0), out=high)
    largest = np.maximum(np.abs(low), np.abs(high))
    # A sum of many rows is rounded, so that the mean of equal numbers could be another one.
    means = np.clip(sums / len(features), low, high)
    widest, squares = np.zeros((2, width))
    for rows in blocks_of(features):
        np.maximum(widest, np.abs(_in_double(features, rows) - means).max(axis=0), out=widest)
    divisor = np.where(widest > 0, widest, 1.0)
    for rows in blocks_of(features):
        # Deviations are divided by the largest of them, so that their squares neither overflow nor vanish.
        squares += np.sum(((_in_double(features, rows) - means) / divisor) ** 2, axis=0)
    return means, np.where(is_rounding(widest, largest), 0.0, widest * np.sqrt(squares / len(features)))


def rescale(features: FloatArray, means: FloatArray, divisors: FloatArray, dtype: type) -> FloatArray:
    """Compute ``(features - means) / divisors`` (n, d) in double precision, and keep it as ``dtype``."""
    table: FloatArray = np.empty(features.shape, dtype=dtype)
    for rows in blocks_of(features):
        table[rows] = (_in_double(features, rows) - means) / divisors
    return table


def all_finite(features: FloatArray) -> BoolArray:
    """For each row, whether all its numbers are finite, shape (n,) of bool."""
    return np.concatenate([np.isfinite(features[rows]).all(axis=1) for rows in blocks_of(features)])


def _in_double(features: FloatArray, rows: slice) -> FloatArray:
    # In one order of memory, so that sums are rounded alike whatever a table comes as.
    return np.ascontiguousarray(features[rows], dtype=np.float64)
