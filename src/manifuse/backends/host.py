"""Host: neighbours and graphs in this machine's memory, by SciPy, in threads where tables are large."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from manifuse.backends.backend import Backend, FeatureGraph, StoredGraph
from manifuse.backends.neighbours import Neighbours, Query, Scaling, warn_of_recall
from manifuse.errors import require
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.blocks import in_blocks, row_blocks
from manifuse.kernels.laplacian import (
    degrees_of,
    joint_weights,
    local_scales,
    locality_order,
    normalised_affinity,
    weigh_by_features,
)
from manifuse.kernels.nearest import approximate_neighbours, exact_neighbours
from manifuse.kernels.rows import from_order, in_order, inverse_order, row_block
from manifuse.machine import available_memory, loops_in_threads, threads

#: Multiply-adds (n² d) of a search from which threads share it; one thread takes a second for them.
SHARED_WORK = 2e9


@dataclass(frozen=True)
class Host(Backend):
    """The memory and cores of this machine.

    The parameters are sizes at which the work is done in another way (docs/decisions.md). No result depends on
    them by more than rounding, except that approximate search may miss neighbours.

    Parameters
    ----------
    exact_work : float
        Multiply-adds (n² d) up to which ``search="auto"`` is exact; beyond, faiss searches approximately.
    ordered_rows : int
        From so many rows on, a graph is kept in an order in which neighbours are near each other in memory.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.Host()
    Host()
    """

    exact_work: float = field(default=5e11, repr=False)
    ordered_rows: int = field(default=20_000, repr=False)

    def search(self, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Search exactly, or with faiss where exact search would take too long; see `Backend.search`."""
        scaling = Scaling.of(features, standardised=query.standardised, name=query.name)
        count = min(query.count, len(features) - 1)
        recall = 1.0
        with loops_in_threads() if _work(features) >= SHARED_WORK else nullcontext():
            if self._is_exact(features, query):
                indices = exact_neighbours(scaling.apply(features), count)
            else:
                purpose = f"Approximate neighbour search over {len(features):,} rows"
                faiss = require("faiss", extra="neighbours", purpose=purpose)
                indices, recall = approximate_neighbours(scaling.narrow(features), count, faiss=faiss, rng=rng)
                warn_of_recall(recall, query.name)
        return Neighbours(indices, scaling.squared_distances(features, indices), recall, query.standardised)

    def graph(self, neighbours: Neighbours, count: int) -> HostGraph:
        """Build the graph; see `Backend.graph`."""
        indices, distances = neighbours.indices[:, :count], neighbours.distances[:, :count]
        scales, rows = local_scales(distances), len(indices)
        weights = weigh_by_features(indices, distances, scales, threads=threads())
        order = locality_order(weights) if rows >= self.ordered_rows else None
        weights = weights if order is None else in_order(weights, order)
        return self.restore(StoredGraph(weights, scales, indices.shape[1], neighbours.standardised, order))

    def restore(self, graph: StoredGraph) -> HostGraph:
        """Return a graph that was stored, ready to be weighed by predictions."""
        return HostGraph(graph)

    def search_bytes(self, features: FloatArray) -> int:
        """Memory of the scaled table and of the index over it; see `Backend.search_bytes`."""
        return 12 * features.size

    def edge_bytes(self) -> int:
        """Memory of an edge: its column and its weight; see `Backend.edge_bytes`."""
        return 12

    def free_memory(self) -> int | None:
        """Bytes that are free on this machine; see `Backend.free_memory`."""
        return available_memory()

    def _is_exact(self, features: FloatArray, query: Query) -> bool:
        return query.search == "exact" or (query.search == "auto" and _work(features) <= self.exact_work)


def _work(features: FloatArray) -> float:
    """Multiply-adds of an exact search."""
    return float(len(features)) * features.size


class HostGraph(FeatureGraph):
    """A graph in this machine's memory.

    Parameters
    ----------
    graph : StoredGraph
    """

    def __init__(self, graph: StoredGraph) -> None:
        self.scales = graph.scales
        self.neighbours = graph.neighbours
        self.standardised = graph.standardised
        self._graph = graph

    def affinity(self, predictions: FloatArray, scale: float) -> SparseAffinity:
        """Normalised affinity; see `FeatureGraph.affinity`."""
        matrix = normalised_affinity(self._joint_weights(predictions, scale), threads=threads())
        return SparseAffinity(matrix, self._graph.order, threads=threads())

    def degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of the weights; see `FeatureGraph.degrees`."""
        degrees = degrees_of(self._joint_weights(predictions, scale))
        return degrees if self._graph.order is None else from_order(degrees, self._graph.order)

    def stored(self) -> StoredGraph:
        """Return the arrays that this graph is made of."""
        return self._graph

    def _joint_weights(self, predictions: FloatArray, scale: float) -> SparseMatrix:
        """Weights of both features and predictions, in the order in which the graph is kept."""
        order = self._graph.order
        inside = predictions if order is None else predictions[order]
        return joint_weights(self._graph.weights, inside, scale, threads=threads())


class SparseAffinity(Affinity):
    """An affinity in this machine's memory, whose products are shared by threads.

    Parameters
    ----------
    matrix : (n, n) CSR array
        In the order of ``order``.
    order : (n,) array of int, optional
        The table's row of each row of ``matrix``; the table's own order if not given.
    threads : int
        Number of threads that share the rows of a product.
    """

    def __init__(self, matrix: SparseMatrix, order: IndexArray | None = None, *, threads: int = 1) -> None:
        self.shape = (matrix.shape[0], matrix.shape[0])
        self._matrix = matrix
        self._order = order
        self._threads = threads

    @cached_property
    def inverse(self) -> IndexArray | None:
        """Row of a block of each of the table's rows, shape (n,); None if they are the same."""
        return None if self._order is None else inverse_order(self._order)

    @cached_property
    def _parts(self) -> dict[int, SparseMatrix]:
        """The matrix in blocks of rows, by their first row; to make them takes as long as a small product."""
        return {rows.start: row_block(self._matrix, rows) for rows in row_blocks(self.shape[0])}

    def enter(self, values: FloatArray) -> FloatArray:
        """Copy to a block; see `Affinity.enter`."""
        if self._order is None:
            return np.array(values, dtype=np.float64)
        return np.asarray(values[self._order], dtype=np.float64)

    def leave(self, block: FloatArray) -> FloatArray:
        """Copy back, or return the block itself if its order is the table's; see `Affinity.leave`."""
        return block if self._order is None else from_order(block, self._order)

    def zeros(self, columns: int) -> FloatArray:
        """Return a block of zeros; see `Affinity.zeros`."""
        return np.zeros((self.shape[0], columns))

    def add(self, block: FloatArray, rows: IndexArray, values: FloatArray) -> None:
        """Add to rows; see `Affinity.add`."""
        block[self._inside(rows)] += values

    def take(self, block: FloatArray, rows: IndexArray) -> FloatArray:
        """Copy rows; see `Affinity.take`."""
        return np.asarray(block[self._inside(rows)])

    def recur(self, current: FloatArray, previous: FloatArray, factor: float) -> FloatArray:
        """Take one step of a three-term recurrence; see `Affinity.recur`."""

        def step(rows: slice) -> None:
            product = self._parts[rows.start] @ current
            product *= factor
            np.subtract(product, previous[rows], out=previous[rows])

        in_blocks(step, self.shape[0], threads=self._threads)
        return previous

    def matrix(self) -> SparseMatrix:
        """Return all entries; see `Affinity.matrix`."""
        return self._matrix if self.inverse is None else in_order(self._matrix, self.inverse)

    def _inside(self, rows: IndexArray) -> IndexArray:
        """Rows of a block, given rows of the table."""
        return rows if self.inverse is None else np.asarray(self.inverse[rows])
