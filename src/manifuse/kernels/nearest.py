"""Nearest neighbours: exact search, and approximate search with its recall against the exact one."""

from types import ModuleType
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from manifuse.kernels.arrays import FloatArray, IndexArray

#: A squared distance below this share of the squares of both rows is rounding.
LEAST_SQUARE = 2.0**-48

#: The share of the true neighbours that is enough to find.
ENOUGH = 0.95


def squared_distances_to(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Squared distances of rows (q, d) to others (n, d), shape (q, n), by a matrix product.

    Where two rows are so near each other that nothing but rounding is left of their squares, it is 0.
    """
    norms, other_norms = np.einsum("qd,qd->q", rows, rows), np.einsum("nd,nd->n", others, others)
    squares = rows @ others.T
    squares *= -2.0
    squares += norms[:, None]
    squares += other_norms
    most = LEAST_SQUARE * (norms.max(initial=0.0) + other_norms.max(initial=0.0))
    if squares.min(initial=np.inf) <= most:
        here, there = np.nonzero(squares <= most)
        near = squares[here, there]
        squares[here, there] = np.where(near < LEAST_SQUARE * (norms[here] + other_norms[there]), 0.0, near)
    return squares


def exact_neighbours(features: FloatArray, count: int) -> IndexArray:
    """Find the ``count`` nearest other rows of every row, nearest first, shape (n, count).

    A row is never its own neighbour, even if the table has exact copies of it.
    """
    search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(features)
    return np.asarray(search.kneighbors(return_distance=False), dtype=np.intp)


def approximate_neighbours(
    features: FloatArray, count: int, *, faiss: ModuleType, rng: np.random.Generator
) -> tuple[IndexArray, float]:
    """Find most of the ``count`` nearest other rows of every row with cells.

    Returns
    -------
    neighbours : (n, count) array
        Row numbers, nearest first, without the row itself.
    recall : float
        Share of the true neighbours that were found, averaged over 1,000 sampled rows, in [0, 1].
    """
    rows = np.ascontiguousarray(features, dtype=np.float32)
    index, recall = cells_of(rows, count, faiss=faiss, rng=rng)
    neighbours = _without_self(index.search(rows, count + 1)[1], np.arange(len(rows)))
    return _filled(neighbours), recall


def cells_of(rows: FloatArray, count: int, *, faiss: ModuleType, rng: np.random.Generator) -> tuple[Any, float]:
    """Put rows (n, d) of single precision into cells, an inverted-file index (faiss ``IVFFlat``).

    The number of cells that a search visits grows until the recall on 1,000 sampled rows, which are asked for
    their ``count`` nearest others, reaches `ENOUGH`, or until all cells are visited.

    Returns
    -------
    index : faiss.IndexIVFFlat
    recall : float
    """
    n, dimensions = rows.shape
    cells = max(1, min(int(3 * np.sqrt(n)), n // 39))
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(dimensions), dimensions, cells)
    index.train(rows)
    index.add(rows)
    sample = rng.choice(n, size=min(n, 1000), replace=False)
    exact = faiss.knn(rows[sample], rows, count + 1)[1]
    truth = _without_self(exact, sample)
    index.nprobe = min(8, cells)
    while True:
        found = _without_self(index.search(rows[sample], count + 1)[1], sample)
        recall = float(np.mean([np.isin(a, b).mean() for a, b in zip(truth, found, strict=True)]))
        if recall >= ENOUGH or index.nprobe >= cells:
            return index, recall
        index.nprobe = min(index.nprobe * 3 // 2, cells)


def nearest_in_cells(index: Any, rows: FloatArray, count: int) -> IndexArray:
    """Find the ``count`` nearest indexed rows of rows (q, d) of single precision, nearest first, shape (q, count)."""
    return _filled(np.asarray(index.search(np.ascontiguousarray(rows), count)[1], dtype=np.intp))


def _filled(neighbours: IndexArray) -> IndexArray:
    """Put the nearest row where the visited cells had too few rows, which faiss marks by -1."""
    return np.where(neighbours < 0, neighbours[:, :1], neighbours)


def _without_self(neighbours: IndexArray, rows: IndexArray) -> IndexArray:
    """Drop each row's own index. If copies of the row took its place, drop the farthest neighbour instead."""
    own = neighbours == rows[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(neighbours[~own].reshape(len(rows), -1), dtype=np.intp)
