"""Nearest neighbours: exact search, approximate search, and the recall of the second against the first."""

from collections.abc import Sequence
from types import ModuleType

import numpy as np
from sklearn.neighbors import NearestNeighbors

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.laplacian import squared_distances

#: Work in multiply-adds (n² d) up to which exact search is the faster way (docs/decisions.md).
EXACT_WORK = 5e11


def exact_is_affordable(features: FloatArray) -> bool:
    """Whether exact search over these rows stays within ``EXACT_WORK``."""
    rows, dimensions = features.shape
    return bool(float(rows) ** 2 * dimensions <= EXACT_WORK)


def exact_neighbours(features: FloatArray, count: int) -> IndexArray:
    """Find the ``count`` nearest other rows of every row, nearest first, shape (n, count).

    A row is never its own neighbour, however many exact copies of it there are.
    """
    search = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(features)
    return np.asarray(search.kneighbors(return_distance=False), dtype=np.intp)


def nearest_between(
    here: FloatArray, first: int, there: FloatArray, other_first: int, count: int
) -> tuple[IndexArray, FloatArray]:
    """Find the rows of one block of a table nearest to each row of another, or of itself.

    Parameters
    ----------
    here, there : (q, d) and (p, d) array
        Rows of the table from ``first`` and from ``other_first`` on.
    first, other_first : int
    count : int

    Returns
    -------
    indices : (q, N) array of int
        Rows of the table, ``count`` of them or as many as the block has. The row itself is never among them.
    distances : (q, N) array
        Squared distances to them.
    """
    itself = first == other_first
    near = np.empty((len(here), 0), dtype=np.intp)
    if len(there) > itself:
        search = NearestNeighbors(n_neighbors=min(count, len(there) - itself), algorithm="brute").fit(there)
        near = search.kneighbors(None if itself else here, return_distance=False)
    start = np.repeat(np.arange(len(here)), near.shape[1])
    distances = squared_distances(np.vstack([here, there]), start, len(here) + near.ravel()).reshape(near.shape)
    return near + other_first, distances


def merge_nearest(parts: Sequence[tuple[IndexArray, FloatArray]], count: int) -> tuple[IndexArray, FloatArray]:
    """Keep the ``count`` nearest of what `nearest_between` found in several blocks, nearest first."""
    indices, distances = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
    order = np.argsort(distances, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(distances, order, axis=1)


def approximate_neighbours(
    features: FloatArray,
    count: int,
    *,
    faiss: ModuleType,
    rng: np.random.Generator,
    recall_goal: float = 0.95,
) -> tuple[IndexArray, float]:
    """Find nearly the ``count`` nearest other rows with an inverted-file index (faiss ``IVFFlat``).

    The number of cells visited doubles until the recall on 1,000 sampled rows reaches ``recall_goal``
    or every cell is visited.

    Returns
    -------
    neighbours : (n, count) array
        Row indices, nearest first; the row itself is left out.
    recall : float
        Share of the true neighbours found, over the sampled rows, in [0, 1].
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
    # A cell poorer than ``count`` leaves places empty (-1); the nearest row found stands in for them.
    neighbours = np.where(neighbours < 0, neighbours[:, :1], neighbours)
    return neighbours, recall


def _without_self(neighbours: IndexArray, rows: IndexArray) -> IndexArray:
    """Drop each row's own index, or the farthest neighbour where copies crowded it out."""
    own = neighbours == rows[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(neighbours[~own].reshape(len(rows), -1), dtype=np.intp)
