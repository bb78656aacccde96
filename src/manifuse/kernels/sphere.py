"""The predictor manifold: centred vectors of unit norm (eq. 1-3 and 8).

A column is *constant* when what centring leaves of it is below rounding; it has no direction, and
its place on the sphere is the zero vector, whose alignment with everything is 0.
"""

import numpy as np

from manifuse.kernels.arrays import BoolArray, FloatArray


def centre(vectors: FloatArray) -> FloatArray:
    """Columns of ``vectors`` less their means: ``C v`` with ``C = I - 11'/n`` (eq. 8)."""
    return np.asarray(vectors - vectors.mean(axis=0))


def is_constant(vectors: FloatArray) -> BoolArray:
    """Whether each column's spread is no more than the rounding of its own entries."""
    # Largest entries and not norms: their squares would leave the range for tiny or huge scores.
    return is_rounding(np.abs(centre(vectors)).max(axis=0), np.abs(vectors).max(axis=0))


def is_rounding(widest: FloatArray, largest: FloatArray) -> BoolArray:
    """Whether deviations of up to ``widest`` are no more than rounding, among entries of up to ``largest``."""
    precision = np.finfo(largest.dtype)
    # Below the least normal number, means are not what they should be.
    return np.asarray(widest <= 32 * precision.eps * largest + precision.tiny)


def spread(vectors: FloatArray) -> FloatArray:
    """Norms of the centred columns, in range wherever the entries are."""
    scaled, largest = _within_range(centre(vectors))
    return np.asarray(largest * np.linalg.norm(scaled, axis=0))


def unit(vectors: FloatArray) -> FloatArray:
    """Project columns onto the predictor manifold (eq. 1); constant columns become zero."""
    scaled, _ = _within_range(np.where(is_constant(vectors), 0.0, centre(vectors)))
    norms = np.linalg.norm(scaled, axis=0)
    return np.asarray(scaled / np.where(norms > 0, norms, 1.0))


def alignment(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cosine of the centred predictions ``a`` and ``b``, column by column (eq. 8), in [-1, 1]."""
    return np.asarray(np.sum(unit(a) * unit(b), axis=0))


def standardise(vectors: FloatArray) -> FloatArray:
    """Columns with mean 0 and standard deviation 1, so that scales of eq. 14 carry no unit."""
    return np.asarray(unit(vectors) * np.sqrt(len(vectors)))


def _within_range(vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Columns over their largest entries, and these: what is left has a norm that neither overflows nor vanishes."""
    largest = np.abs(vectors).max(axis=0)
    return vectors / np.where(largest > 0, largest, 1.0), largest
