"""Edges of a neighbour graph, their weights, and the normalised affinity (eq. 14).

The Laplacian of eq. 14 is ``I - S`` with the affinity ``S = D^{-1/2} W D^{-1/2}``; the code keeps ``S``,
whose spectrum lies in [-1, 1]. Weights of edges are sparse matrices by rows, worked on in blocks of rows.
"""

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.blocks import in_blocks

#: Numbers handled at once while distances are taken: what a core's cache holds, however wide the table.
CHUNK = 1 << 16


def edge_pattern(neighbours: IndexArray) -> SparseMatrix:
    """Symmetric pattern of a neighbour table (n, N): an edge where either end names the other.

    Returns
    -------
    (n, n) CSR array of int
        With sorted indices. An entry tells, counted from 1, where in the flat table one of its ends names the
        other, so that what the table knows of them can be looked up.
    """
    n, count = neighbours.shape
    whole = np.int32 if n * count < np.iinfo(np.int32).max else np.int64
    places, stops = np.arange(1, n * count + 1, dtype=whole), np.arange(0, n * count + 1, count, dtype=whole)
    directed = sparse.csr_array((places, neighbours.ravel().astype(whole), stops), shape=(n, n))
    directed.sort_indices()
    directed = _without_repeats(directed)
    pattern: SparseMatrix = directed.maximum(directed.T.tocsr())
    return pattern


def locality_order(neighbours: IndexArray) -> IndexArray:
    """Order of rows in which those of a neighbour table (n, N) stand near their neighbours (reverse Cuthill-McKee)."""
    n, count = neighbours.shape
    ones = np.ones(n * count, dtype=np.int8)
    stops = np.arange(0, n * count + 1, count, dtype=np.int32 if n * count < np.iinfo(np.int32).max else np.int64)
    directed = sparse.csr_array((ones, neighbours.ravel().astype(stops.dtype), stops), shape=(n, n))
    return np.asarray(reverse_cuthill_mckee(directed, symmetric_mode=False), dtype=np.intp)


def squared_distances(
    features: FloatArray, start: IndexArray, stop: IndexArray, deviations: FloatArray | float = 1.0
) -> FloatArray:
    """Squared distance between rows ``start[e]`` and ``stop[e]``, free of the cancellation of a matrix product.

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
        difference = (features[start[part]] - features[stop[part]]) / deviations
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
    pattern: SparseMatrix, distances: FloatArray, scales: FloatArray, *, threads: int
) -> SparseMatrix:
    """``W^x`` of eq. 14 on the edges of a pattern.

    Parameters
    ----------
    pattern : (n, n) CSR array
        As `edge_pattern` makes it.
    distances : (n, N) array
        Squared, of the neighbour table that the pattern was made of.
    scales : (n,) array
    threads : int
    """
    known = distances.ravel()
    weights = np.empty(pattern.nnz)

    def weigh(rows: slice) -> None:
        edges, start = _edges_of(pattern, rows)
        stop = pattern.indices[edges]
        weights[edges] = feature_weights(known[pattern.data[edges] - 1], scales[start], scales[stop])

    in_blocks(weigh, pattern.shape[0], threads=threads)
    return _like(pattern, weights)


def weigh_by_predictions(
    weights: SparseMatrix,
    predictions: FloatArray,
    scale: float,
    *,
    others: FloatArray | None = None,
    threads: int = 1,
) -> tuple[SparseMatrix, FloatArray]:
    """``W^x * W^f`` of eq. 14 and its row sums.

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
    joint, degrees = np.empty(weights.nnz), np.empty(weights.shape[0])

    def weigh(rows: slice) -> None:
        edges, start = _edges_of(weights, rows)
        differences = predictions[start] - others[weights.indices[edges]]
        joint[edges] = weights.data[edges] * prediction_weights(differences, scale)
        bounds = weights.indptr[rows.start : rows.stop + 1]
        # An empty row would be given the first weight of the next one.
        sums = np.add.reduceat(np.append(joint[edges], 0.0), bounds[:-1] - edges.start)
        degrees[rows] = np.where(np.diff(bounds) > 0, sums, 0.0)

    in_blocks(weigh, weights.shape[0], threads=threads)
    return _like(weights, joint), degrees


def normalised_affinity(
    weights: SparseMatrix, degrees: FloatArray, *, others: FloatArray | None = None, threads: int = 1
) -> SparseMatrix:
    """``D^{-1/2} W D^{-1/2}`` for weights ``W`` and their row sums, in the memory of ``weights``.

    A row whose weights are all below rounding is left without edges: its Laplacian row is that of an
    isolated node, and nothing is divided by zero.

    Parameters
    ----------
    weights : (n, c) CSR array
        All of them, or some rows with the columns that they reach.
    degrees : (n,) array
        Of the rows.
    others : (c,) array, optional
        Degrees of the columns, where these are not the rows.
    threads : int
    """
    roots = _inverse_roots(degrees)
    other_roots = roots if others is None else _inverse_roots(others)

    def scale(rows: slice) -> None:
        edges, start = _edges_of(weights, rows)
        # The bracket makes entry (i, j) the same number as entry (j, i), to the last bit.
        weights.data[edges] *= roots[start] * other_roots[weights.indices[edges]]

    in_blocks(scale, weights.shape[0], threads=threads)
    return weights


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


def _like(pattern: SparseMatrix, values: FloatArray) -> SparseMatrix:
    """Return a matrix with the pattern of another, and other values."""
    return sparse.csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)
