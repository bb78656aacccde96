"""The predictor manifold: centred vectors of unit norm (eq. 1-3 and 8).

A column is *constant* if centring leaves nothing of it but rounding. It has no direction: it is projected to the zero
vector, which has alignment 0 with everything.
"""

import numpy as np

from manifuse.kernels.arrays import BoolArray, FloatArray


def centre(vectors: FloatArray) -> FloatArray:
    """Subtract the mean of each column of ``vectors``: ``C v`` with ``C = I - 11'/n`` (eq. 8)."""
    return np.asarray(vectors - vectors.mean(axis=0))


def is_constant(vectors: FloatArray) -> BoolArray:
    """Whether each column's spread is no more than the rounding of its own entries."""
    # The largest entries are compared, not the norms: squares of tiny or huge scores leave the range of floats.
    return is_rounding(np.abs(centre(vectors)).max(axis=0), np.abs(vectors).max(axis=0))


def is_rounding(widest: FloatArray, largest: FloatArray) -> BoolArray:
    """Whether deviations of up to ``widest`` are no more than rounding, among entries of up to ``largest``."""
    precision = np.finfo(largest.dtype)
    # Means of numbers below the least normal number are not accurate.
    return np.asarray(widest <= 32 * precision.eps * largest + precision.tiny)


def centred_norm(vectors: FloatArray) -> FloatArray:
    """Norms of the centred columns; they neither overflow nor vanish while the entries are in range."""
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
    """Bring columns to mean 0 and standard deviation 1, so that the scales of eq. 14 have no unit."""
    return np.asarray(unit(vectors) * np.sqrt(len(vectors)))


def _within_range(vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Divide columns by their largest entries, so that norms are in range; return these entries, too."""
    largest = np.abs(vectors).max(axis=0)
    return vectors / np.where(largest > 0, largest, 1.0), largest
