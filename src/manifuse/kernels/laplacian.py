"""Edges of a neighbour graph, their weights, and the normalised affinity (eq. 14).

The Laplacian of eq. 14 is ``I - S`` with the affinity ``S = D^{-1/2} W D^{-1/2}``; the code keeps ``S``,
whose spectrum lies in [-1, 1].
"""

import numpy as np
import scipy.sparse as sparse

from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix

#: Numbers handled at once while distances are taken: what a core's cache holds, however wide the table.
CHUNK = 1 << 16


def edge_pattern(neighbours: IndexArray) -> SparseMatrix:
    """Symmetric pattern of a neighbour table (n, N): an edge where either end names the other.

    Returns
    -------
    (n, n) CSR array of ones with sorted indices and an empty diagonal.
    """
    n, count = neighbours.shape
    start = np.repeat(np.arange(n), count)
    directed = sparse.csr_array((np.ones(n * count), (start, neighbours.ravel())), shape=(n, n))
    pattern: SparseMatrix = (directed + directed.T).tocsr()
    pattern.setdiag(0)
    pattern.eliminate_zeros()
    pattern.sort_indices()
    pattern.data[:] = 1.0
    return pattern


def edge_ends(pattern: SparseMatrix) -> tuple[IndexArray, IndexArray]:
    """Row and column of every stored entry, in storage order."""
    rows = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    return rows, np.asarray(pattern.indices)


def edge_values(pattern: SparseMatrix, neighbours: IndexArray, values: FloatArray) -> FloatArray:
    """Bring what is known of every row and its neighbours to the entries of their pattern.

    Parameters
    ----------
    pattern : (n, n) CSR array
        Of ``neighbours``, as `edge_pattern` makes it.
    neighbours : (n, N) array of int
    values : (n, N) array
        The same for both ends where each names the other, as distances are.

    Returns
    -------
    (edges,) array
        In storage order.
    """
    n, count = neighbours.shape
    keys = np.repeat(np.arange(n), count) * n + neighbours.ravel()
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    start, stop = edge_ends(pattern)
    named = start * n + stop
    places = np.minimum(np.searchsorted(keys, named), len(keys) - 1)
    other_way = keys[places] != named
    places[other_way] = np.searchsorted(keys, (stop * n + start)[other_way])
    return np.asarray(values.ravel()[order[places]])


def squared_distances(features: FloatArray, start: IndexArray, stop: IndexArray) -> FloatArray:
    """Squared distance between rows ``start[e]`` and ``stop[e]``, free of the cancellation of a matrix product."""
    distances = np.empty(len(start))
    edges = max(1, CHUNK // features.shape[1])
    for first in range(0, len(start), edges):
        part = slice(first, first + edges)
        difference = features[start[part]] - features[stop[part]]
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


def normalised_affinity(pattern: SparseMatrix, weights: FloatArray) -> SparseMatrix:
    """``D^{-1/2} W D^{-1/2}`` for edge ``weights`` in the storage order of ``pattern``.

    A row whose weights are all below rounding is left without edges: its Laplacian row is that of an
    isolated node, and nothing is divided by zero.
    """
    degrees = np.add.reduceat(np.append(weights, 0.0), pattern.indptr[:-1])
    degrees[np.diff(pattern.indptr) == 0] = 0.0
    isolated = degrees < np.sqrt(np.finfo(np.float64).tiny)
    inverse_root = np.where(isolated, 0.0, 1.0 / np.sqrt(np.where(isolated, 1.0, degrees)))
    rows, columns = edge_ends(pattern)
    # The bracket makes entry (i, j) the same number as entry (j, i), to the last bit.
    values = weights * (inverse_root[rows] * inverse_root[columns])
    return sparse.csr_array((values, pattern.indices, pattern.indptr), shape=pattern.shape)
