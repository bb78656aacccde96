"""Nearest neighbours: exact search, and approximate search with its recall against the exact one."""

from types import ModuleType

import numpy as np
from sklearn.neighbors import NearestNeighbors

from manifuse.kernels.arrays import FloatArray, IndexArray


def exact_neighbours(features: FloatArray, count: int) -> IndexArray:
    """Find the ``count`` nearest other rows of every row, nearest first, shape (n, count).

    A row is never its own neighbour, even if the table has exact copies of it.
    """
    search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(features)
    return np.asarray(search.kneighbors(return_distance=False), dtype=np.intp)


def approximate_neighbours(
    features: FloatArray,
    count: int,
    *,
    faiss: ModuleType,
    rng: np.random.Generator,
    recall_goal: float = 0.95,
) -> tuple[IndexArray, float]:
    """Find most of the ``count`` nearest other rows of every row with an inverted-file index (faiss ``IVFFlat``).

    The search doubles the number of cells that it visits until the recall on 1,000 sampled rows reaches
    ``recall_goal``, or until it visits every cell.

    Returns
    -------
    neighbours : (n, count) array
        Row numbers, nearest first, without the row itself.
    recall : float
        Share of the true neighbours that were found, averaged over the sampled rows, in [0, 1].
    """
    rows = np.ascontiguousarray(features, dtype=np.float32)
    n, dimensions = rows.shape
    cells = max(1, min(int(4 * np.sqrt(n)), n // 39))
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
        if recall >= recall_goal or index.nprobe >= cells:
            break
        index.nprobe = min(2 * index.nprobe, cells)
    neighbours = _without_self(index.search(rows, count + 1)[1], np.arange(n))
    # If the visited cells have fewer than ``count`` rows, faiss fills up with -1. We put the nearest row there.
    neighbours = np.where(neighbours < 0, neighbours[:, :1], neighbours)
    return neighbours, recall


def _without_self(neighbours: IndexArray, rows: IndexArray) -> IndexArray:
    """Drop each row's own index. If copies of the row took its place, drop the farthest neighbour instead."""
    own = neighbours == rows[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(neighbours[~own].reshape(len(rows), -1), dtype=np.intp)
