"""Rows of a sparse matrix: keep their K largest entries, and scale them to sum 1 (eq. 17)."""

import numpy as np
import scipy.sparse as sparse

from manifuse.kernels.arrays import SparseMatrix


def keep_largest(matrix: SparseMatrix, count: int) -> SparseMatrix:
    """Keep the ``count`` largest entries of every row (K of eq. 17); of equal ones, those in lower columns.

    Entries must be at least 0.
    """
    sizes = np.diff(matrix.indptr)
    if sizes.max(initial=0) <= count:
        return matrix
    matrix.sort_indices()
    rows = np.repeat(np.arange(len(sizes)), sizes)
    padded = np.full((len(sizes), int(sizes.max())), -1.0)
    padded[rows, np.arange(len(rows)) - matrix.indptr[rows]] = matrix.data
    best = np.argsort(-padded, axis=1, kind="stable")[:, :count]
    kept = np.sort((matrix.indptr[:-1, None] + best)[best < sizes[:, None]])
    indptr = np.append(0, np.cumsum(np.minimum(sizes, count)))
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=matrix.shape)


def sum_to_one(matrix: SparseMatrix) -> SparseMatrix:
    """Scale every row to sum 1 (eq. 17). Rows without entries stay empty."""
    sums = np.asarray(matrix.sum(axis=1)).ravel()
    factors = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    scaled = matrix.data * np.repeat(factors, np.diff(matrix.indptr))
    return sparse.csr_array((scaled, matrix.indices, matrix.indptr), shape=matrix.shape)
