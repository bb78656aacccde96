"""Edges of a neighbour graph, their weights, and the normalised affinity (eq. 14).

The Laplacian of eq. 14 is ``I - S`` with the affinity ``S = D^{-1/2} W D^{-1/2}``. The code keeps ``S``. Its spectrum
is in [-1, 1]. The weights of edges are sparse matrices in CSR form.
"""

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix

#: How many numbers distances are computed from at once. They fit into a core's cache, for a table of any width.
CHUNK = 1 << 16


def joined(neighbours: IndexArray, values: FloatArray) -> SparseMatrix:
    """Make a symmetric matrix of a neighbour table, with an entry where either row names the other.

    If both rows name each other, the entry is the larger of their two values.

    Parameters
    ----------
    neighbours : (n, N) array of int
    values : (n, N) array
        At least 0. A value of 0 makes no entry.

    Returns
    -------
    (n, n) CSR array
        With sorted indices.
    """
    n, count = neighbours.shape
    whole = np.int32 if n * count < np.iinfo(np.int32).max else np.int64
    starts = np.arange(0, n * count + 1, count, dtype=whole)
    # Where a search found too few rows, the nearest one stands again; it counts once.
    again = neighbours == neighbours[:, :1]
    again[:, 0] = False
    values = np.where(again, 0.0, values)
    directed = sparse.csr_array((values.ravel(), neighbours.astype(whole).ravel(), starts), shape=(n, n))
    directed.sum_duplicates()
    # SciPy reserves memory for the entries of both matrices and keeps it. A copy needs less.
    return directed.maximum(directed.T.tocsr()).copy()


def locality_order(weights: SparseMatrix) -> IndexArray:
    """Find an order of the rows of a symmetric matrix that brings neighbours close (reverse Cuthill-McKee)."""
    return np.asarray(reverse_cuthill_mckee(weights, symmetric_mode=True))


def squared_distances(
    rows: FloatArray, others: FloatArray, indices: IndexArray, deviations: FloatArray | float = 1.0
) -> FloatArray:
    """Squared distances of rows (q, d) to those of the others (n, d) that ``indices`` name, shape (q, N).

    They are computed from differences in double precision, for features of any precision. A matrix product would be
    faster, but it would lose digits by cancellation.

    Parameters
    ----------
    rows, others : (q, d) and (n, d) array
    indices : (q, N) array of int
    deviations : (d,) array, optional
        What the differences of each column are divided by.
    """
    distances = np.empty(indices.shape)
    size = max(1, CHUNK // (indices.shape[1] * rows.shape[1]))
    for part in (slice(first, first + size) for first in range(0, len(rows), size)):
        difference = np.subtract(rows[part, None], others[indices[part]], dtype=np.float64) / deviations
        np.einsum("qNd,qNd->qN", difference, difference, out=distances[part])
    return distances


def local_scales(distances: FloatArray) -> FloatArray:
    """Twice the mean squared distance of each row to its neighbours: ``sigma_x^2`` of eq. 14, shape (n,).

    If all neighbours of a row are copies of it, the row has no scale of its own. It gets the mean scale of the other
    rows.

    Parameters
    ----------
    distances : (n, N) array
        Squared distances to the neighbours.
    """
    scales = 2.0 * distances.mean(axis=1)
    positive = scales > 0
    fallback = scales[positive].mean() if positive.any() else 1.0
    return np.where(positive, scales, fallback)


def feature_weights(distances: FloatArray, scale_start: FloatArray, scale_stop: FloatArray) -> FloatArray:
    """Compute ``W^x`` of eq. 14 for every edge. The geometric mean of the two local scales keeps it symmetric."""
    # Roots first, because the product of two tiny scales would be 0.
    return np.asarray(np.exp(-distances / (np.sqrt(scale_start) * np.sqrt(scale_stop))))


def prediction_weights(
    here: FloatArray, start: IndexArray | slice, there: FloatArray, stop: IndexArray, scale: float
) -> FloatArray:
    """Compute ``W^f`` of eq. 14 for every edge, with the minus that the print lost.

    Parameters
    ----------
    here, there : (n,) or (n, c) array
        Predictions of the rows at both ends. Of c columns, the mean of their squared differences counts.
    start, stop : (edges,) array of int
        The ends of every edge.
    scale : float
        ``sigma_f^2``, may be infinite.
    """
    columns = zip(here.reshape(len(here), -1).T, there.reshape(len(there), -1).T, strict=True)
    # One column at a time, because NumPy gathers numbers much faster than rows.
    squares = [(one[start] - other[stop]) ** 2 for one, other in columns]
    return np.asarray(np.exp(-(sum(squares[1:], squares[0]) / len(squares)) / scale))


def joint_weights(weights: SparseMatrix, predictions: FloatArray, scale: float) -> SparseMatrix:
    """Compute ``W^x * W^f`` of eq. 14.

    Parameters
    ----------
    weights : (n, n) CSR array
        ``W^x``.
    predictions : (n,) or (n, c) array
    scale : float
        ``sigma_f^2``; with infinity, only the features count.
    """
    by_predictions = prediction_weights(predictions, _starts_of(weights), predictions, weights.indices, scale)
    return sparse.csr_array((weights.data * by_predictions, weights.indices, weights.indptr), shape=weights.shape)


def degrees_of(joint: SparseMatrix) -> FloatArray:
    """Row sums of `joint_weights`, the diagonal of ``D`` in eq. 14, shape (n,)."""
    return np.asarray(joint @ np.ones(joint.shape[0]))


def normalised_affinity(joint: SparseMatrix) -> SparseMatrix:
    """Turn `joint_weights` into ``S = D^{-1/2} (W^x * W^f) D^{-1/2}`` of eq. 14, in the same memory.

    If all weights of a row are below rounding, its entries become 0, as for an isolated node. So nothing is divided by
    zero.
    """
    degrees = degrees_of(joint)
    isolated = degrees < np.sqrt(np.finfo(np.float64).tiny)
    roots = np.where(isolated, 0.0, 1.0 / np.sqrt(np.where(isolated, 1.0, degrees)))
    # With this bracket, entries (i, j) and (j, i) are equal to the last bit.
    joint.data *= roots[_starts_of(joint)] * roots[joint.indices]
    return joint


def _starts_of(matrix: SparseMatrix) -> IndexArray:
    """Find the row of each entry, shape (edges,)."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
