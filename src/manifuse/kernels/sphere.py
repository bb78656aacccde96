"""The predictor manifold: centred vectors of unit norm (eq. 1, 2, 3, 8 and 11).

A prediction is one number a row, (n,), or several, (n, c). It is one point of the manifold either way: every column is
centred, and all columns have one norm.

A column is *constant* if centring leaves nothing of it but rounding. Such a column has no direction. It is projected
to the zero vector, which has alignment 0 with every vector.
"""

import numpy as np

from manifuse.kernels.arrays import BoolArray, FloatArray


def centre(vectors: FloatArray) -> FloatArray:
    """Subtract the mean of each column of ``vectors``: ``C v`` with ``C = I - 11'/n`` (eq. 8)."""
    return np.asarray(vectors - vectors.mean(axis=0))


def is_constant(vectors: FloatArray) -> BoolArray:
    """For each column, whether it varies by no more than the rounding of its own entries."""
    # We compare largest entries, not norms, because squares of tiny or huge scores are out of the range of floats.
    return is_rounding(np.abs(centre(vectors)).max(axis=0), np.abs(vectors).max(axis=0))


def is_rounding(widest: FloatArray, largest: FloatArray) -> BoolArray:
    """Whether deviations up to ``widest`` are only rounding, if the entries are as large as ``largest``."""
    precision = np.finfo(largest.dtype)
    # Means of subnormal numbers are not accurate.
    return np.asarray(widest <= 32 * precision.eps * largest + precision.tiny)


def centred_norm(prediction: FloatArray) -> float:
    """Norm of a centred prediction (n,) or (n, c). It is in the range of floats wherever the entries are."""
    centred = centre(prediction)
    largest = float(np.abs(centred).max())
    return largest * float(np.sqrt(np.sum((centred / (largest or 1.0)) ** 2)))


def on_sphere(prediction: FloatArray, axis: int | None = None) -> FloatArray:
    """Project a prediction (n,) or (n, c) onto the manifold: centred, with norm 1 (eq. 1). A constant becomes zero.

    ``axis`` is that along which norms are taken; by default there is one of all entries.
    """
    centred = np.where(is_constant(prediction), 0.0, centre(prediction))
    # Divided by the largest entry first, so that no norm leaves the range of numbers.
    largest = np.abs(centred).max(axis=axis)
    scaled = centred / np.where(largest == 0, 1.0, largest)
    norms = np.sqrt(np.sum(scaled * scaled, axis=axis))
    return np.asarray(scaled / np.where(norms == 0, 1.0, norms))


def standardise_prediction(prediction: FloatArray) -> FloatArray:
    """Bring a prediction (n,) or (n, c) to mean 0 in every column, and mean square 1 over all entries."""
    return np.asarray(on_sphere(prediction) * np.sqrt(prediction.size))


def inner(a: FloatArray, b: FloatArray) -> float:
    """Inner product of two predictions of the same shape; on the manifold, their alignment (eq. 3)."""
    return float(a.ravel() @ b.ravel())


def unit(vectors: FloatArray) -> FloatArray:
    """Project columns onto the predictor manifold: centred, with norm 1 (eq. 1). Constant columns become zero."""
    return on_sphere(vectors, axis=0)


def alignment(a: FloatArray, b: FloatArray) -> FloatArray:
    """Cosine of the centred predictions ``a`` and ``b`` (eq. 8), one for each column, in [-1, 1].

    This is the estimate from n rows (eq. 3) of the metric over all possible observations (eq. 2). The factor 1/n of
    eq. 3 is part of `unit`. Its square is the alignment of the centred Gram matrices of ``a`` and ``b`` (eq. 11).
    """
    return np.asarray(np.sum(unit(a) * unit(b), axis=0))


def standardise(vectors: FloatArray) -> FloatArray:
    """Bring columns to mean 0 and standard deviation 1, so that the scales of eq. 14 have no unit."""
    return np.asarray(unit(vectors) * np.sqrt(len(vectors)))
