"""Edges of a neighbour graph, their weights, and the normalised affinity (eq. 14).

The Laplacian of eq. 14 is ``I - S`` with the affinity ``S = D^{-1/2} W D^{-1/2}``; the code keeps ``S``,
whose spectrum lies in [-1, 1]. Weights of edges are sparse matrices by rows, worked on in blocks of rows.
"""

import numpy as np
import scipy.sparse as sparse
from numpy.typing import DTypeLike
from scipy.sparse.csgraph import reverse_cuthill_mckee

from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.blocks import in_blocks, row_blocks
from manifuse.kernels.rows import row_block

#: Numbers handled at once while distances are taken: what a core's cache holds, however wide the table.
CHUNK = 1 << 16


def joined(neighbours: IndexArray, values: FloatArray) -> SparseMatrix:
    """Symmetric matrix of a neighbour table: an entry where either end names the other, the larger of what they say.

    Parameters
    ----------
    neighbours : (n, N) array of int
    values : (n, N) array
        Not negative, of any precision; where they are 0 there is no entry. Their memory is used up.

    Returns
    -------
    (n, n) CSR array
        With sorted indices.
    """
    n, count = neighbours.shape
    whole = np.int32 if n * count < np.iinfo(np.int32).max else np.int64
    starts = np.arange(0, n * count + 1, count, dtype=whole)
    directed = sparse.csr_array((values.ravel(), neighbours.astype(whole).ravel(), starts), shape=(n, n))
    directed.sort_indices()
    directed = _without_repeats(directed)
    reverse = directed.T.tocsr()
    # SciPy makes room for the entries of both, and keeps it: hence in blocks, and copies.
    parts = [row_block(directed, rows).maximum(row_block(reverse, rows)).copy() for rows in row_blocks(n)]
    del directed, reverse
    whole_matrix: SparseMatrix = sparse.csr_array(sparse.vstack(parts, format="csr"))
    return whole_matrix


def locality_order(weights: SparseMatrix) -> IndexArray:
    """Order of the rows of a symmetric matrix in which neighbours stand near each other (reverse Cuthill-McKee)."""
    return np.asarray(reverse_cuthill_mckee(weights, symmetric_mode=True))


def squared_distances(
    features: FloatArray, start: IndexArray, stop: IndexArray, deviations: FloatArray | float = 1.0
) -> FloatArray:
    """Squared distance between rows ``start[e]`` and ``stop[e]``, free of the cancellation of a matrix product.

    In double precision, whatever the features are kept in.

    Parameters
    ----------
    features : (n, d) array
    start, stop : (edges,) array of int
    deviations : (d,) array, optional
        What differences are divided by, column by column.
    """
    distances = np.empty(len(start))
    edges = max(1, CHUNK // features.shape[1])
    for first in range(0, len(start), edges):
        part = slice(first, first + edges)
        difference = np.subtract(features[start[part]], features[stop[part]], dtype=np.float64) / deviations
        distances[part] = np.einsum("ij,ij->i", difference, difference)
    return distances


def local_scales(distances: FloatArray) -> FloatArray:
    """Twice the mean squared distance of each row to its neighbours, ``sigma_x^2`` of eq. 14.

    Rows all of whose neighbours are copies of them have no scale of their own and take the mean of
    the others.

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
    """``W^x`` of eq. 14 per edge; the geometric mean of the two local scales keeps it symmetric."""
    return np.asarray(np.exp(-distances / np.sqrt(scale_start * scale_stop)))


def prediction_weights(differences: FloatArray, scale: float) -> FloatArray:
    """``W^f`` of eq. 14 per edge, with the minus sign that the print lost; ``scale`` may be infinite."""
    return np.asarray(np.exp(-(differences**2) / scale))


def weigh_by_features(
    neighbours: IndexArray,
    distances: FloatArray,
    scales: FloatArray,
    *,
    precision: DTypeLike = np.float64,
    threads: int = 1,
) -> SparseMatrix:
    """``W^x`` of eq. 14, with an edge where either end names the other.

    Parameters
    ----------
    neighbours : (n, N) array of int
    distances : (n, N) array
        Squared; the same from both ends.
    scales : (n,) array
    precision : data type
        That the weights are kept in.
    threads : int

    Returns
    -------
    (n, n) CSR array
    """
    weights = np.empty(neighbours.shape, dtype=precision)

    def weigh(rows: slice) -> None:
        weights[rows] = feature_weights(distances[rows], scales[rows, None], scales[neighbours[rows]])

    in_blocks(weigh, len(weights), threads=threads)
    return joined(neighbours, weights)


def joint_degrees(
    weights: SparseMatrix,
    predictions: FloatArray,
    scale: float,
    *,
    others: FloatArray | None = None,
    threads: int = 1,
) -> FloatArray:
    """Row sums of ``W^x * W^f`` of eq. 14, shape (n,), in double precision whatever the weights are kept in.

    Parameters
    ----------
    weights : (n, c) CSR array
        ``W^x``, or some of its rows with the columns that they reach.
    predictions : (n,) array
        Of the rows.
    scale : float
        ``sigma_f^2``; infinity leaves the features alone to weigh.
    others : (c,) array, optional
        Predictions of the columns, where these are not the rows.
    threads : int
    """
    others = predictions if others is None else others
    degrees = np.empty(weights.shape[0])

    def add(rows: slice) -> None:
        edges, start = _edges_of(weights, rows)
        joint = weights.data[edges] * prediction_weights(predictions[start] - others[weights.indices[edges]], scale)
        bounds = weights.indptr[rows.start : rows.stop + 1]
        # An empty row would be given the first weight of the next one.
        sums = np.add.reduceat(np.append(joint, 0.0), bounds[:-1] - edges.start)
        degrees[rows] = np.where(np.diff(bounds) > 0, sums, 0.0)

    in_blocks(add, weights.shape[0], threads=threads)
    return degrees


def normalised_affinity(
    weights: SparseMatrix,
    predictions: FloatArray,
    scale: float,
    degrees: FloatArray,
    *,
    others: tuple[FloatArray, FloatArray] | None = None,
    threads: int = 1,
) -> SparseMatrix:
    """``D^{-1/2} (W^x * W^f) D^{-1/2}`` of eq. 14, in the precision of ``weights``.

    A row whose weights are all below rounding is left without edges: its Laplacian row is that of an
    isolated node, and nothing is divided by zero.

    Parameters
    ----------
    weights, predictions, scale
        As in `joint_degrees`.
    degrees : (n,) array
        What `joint_degrees` gives.
    others : pair of (c,) arrays, optional
        Predictions and degrees of the columns, where these are not the rows.
    threads : int
    """
    roots = _inverse_roots(degrees)
    there, roots_there = (predictions, roots) if others is None else (others[0], _inverse_roots(others[1]))
    entries = np.empty_like(weights.data)

    def weigh(rows: slice) -> None:
        edges, start = _edges_of(weights, rows)
        stop = weights.indices[edges]
        joint = weights.data[edges] * prediction_weights(predictions[start] - there[stop], scale)
        # The bracket makes entry (i, j) the same number as entry (j, i), to the last bit.
        entries[edges] = joint * (roots[start] * roots_there[stop])

    in_blocks(weigh, weights.shape[0], threads=threads)
    return sparse.csr_array((entries, weights.indices, weights.indptr), shape=weights.shape)


def _inverse_roots(degrees: FloatArray) -> FloatArray:
    isolated = degrees < np.sqrt(np.finfo(np.float64).tiny)
    return np.where(isolated, 0.0, 1.0 / np.sqrt(np.where(isolated, 1.0, degrees)))


def _without_repeats(matrix: SparseMatrix) -> SparseMatrix:
    """Leave out entries whose place in a row of sorted indices is taken; SciPy would add them up."""
    repeated = np.append(False, matrix.indices[1:] == matrix.indices[:-1])
    repeated[matrix.indptr[:-1][np.diff(matrix.indptr) > 0]] = False
    if not repeated.any():
        return matrix
    before = np.append(0, np.cumsum(repeated)).astype(matrix.indptr.dtype)
    triple = (matrix.data[~repeated], matrix.indices[~repeated], matrix.indptr - before[matrix.indptr])
    return sparse.csr_array(triple, shape=matrix.shape)


def _edges_of(matrix: SparseMatrix, rows: slice) -> tuple[slice, IndexArray]:
    """Where the entries of some rows are stored, and the row of each."""
    bounds = matrix.indptr[rows.start : rows.stop + 1]
    return slice(int(bounds[0]), int(bounds[-1])), np.repeat(np.arange(rows.start, rows.stop), np.diff(bounds))
