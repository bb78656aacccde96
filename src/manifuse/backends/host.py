"""Host: neighbours and graphs in this machine's memory, by SciPy, in threads where tables are large."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from manifuse.backends.backend import Backend, FeatureGraph, StoredGraph
from manifuse.backends.compiled import PairStep, pair_step
from manifuse.backends.neighbours import Neighbours, Query, Scaling, warn_of_recall
from manifuse.errors import require
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.blocks import in_blocks, row_blocks
from manifuse.kernels.laplacian import (
    joint_degrees,
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
    single_precision_rows : int
        From so many rows on, edges are kept in single precision.
    compiled_rows : int
        From so many rows on, steps over two columns are compiled, if numba is installed; compiling takes seconds.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.Host()
    Host()
    """

    exact_work: float = field(default=5e11, repr=False)
    ordered_rows: int = field(default=20_000, repr=False)
    single_precision_rows: int = field(default=100_000, repr=False)
    compiled_rows: int = field(default=300_000, repr=False)

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
        weights = weigh_by_features(indices, distances, scales, precision=self._precision(rows), threads=threads())
        order = locality_order(weights) if rows >= self.ordered_rows else None
        weights = weights if order is None else in_order(weights, order)
        return self.restore(StoredGraph(weights, scales, indices.shape[1], neighbours.standardised, order))

    def restore(self, graph: StoredGraph) -> HostGraph:
        """Return a graph that was stored, ready to be weighed by predictions."""
        return HostGraph(graph, is_compiled=len(graph.scales) >= self.compiled_rows)

    def search_bytes(self, features: FloatArray) -> int:
        """Memory of the scaled table and of the index over it; see `Backend.search_bytes`."""
        return 12 * features.size

    def edge_bytes(self, rows: int) -> int:
        """Memory of an edge: its column and its weight; see `Backend.edge_bytes`."""
        return 4 + np.dtype(self._precision(rows)).itemsize

    def free_memory(self) -> int | None:
        """Bytes that are free on this machine; see `Backend.free_memory`."""
        return available_memory()

    def _is_exact(self, features: FloatArray, query: Query) -> bool:
        return query.search == "exact" or (query.search == "auto" and _work(features) <= self.exact_work)

    def _precision(self, rows: int) -> type[np.float32] | type[np.float64]:
        return np.float32 if rows >= self.single_precision_rows else np.float64


def _work(features: FloatArray) -> float:
    """Multiply-adds of an exact search."""
    return float(len(features)) * features.size


class HostGraph(FeatureGraph):
    """A graph in this machine's memory.

    Parameters
    ----------
    graph : StoredGraph
    is_compiled : bool
        Whether steps over two columns are compiled, if numba is installed.
    """

    def __init__(self, graph: StoredGraph, *, is_compiled: bool) -> None:
        self.scales = graph.scales
        self.neighbours = graph.neighbours
        self.standardised = graph.standardised
        self._graph = graph
        self._is_compiled = is_compiled

    def affinity(self, predictions: FloatArray, scale: float) -> SparseAffinity:
        """Normalised affinity; see `FeatureGraph.affinity`."""
        weights, inside = self._graph.weights, self._inside(predictions)
        degrees = joint_degrees(weights, inside, scale, threads=threads())
        matrix = normalised_affinity(weights, inside, scale, degrees, threads=threads())
        available = self._is_compiled and find_spec("numba") is not None
        compiled = pair_step(import_module("numba")) if available else None
        return SparseAffinity(matrix, self._graph.order, threads=threads(), pair_step=compiled)

    def degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of the weights; see `FeatureGraph.degrees`."""
        degrees = joint_degrees(self._graph.weights, self._inside(predictions), scale, threads=threads())
        return degrees if self._graph.order is None else from_order(degrees, self._graph.order)

    def stored(self) -> StoredGraph:
        """Return the arrays that this graph is made of."""
        return self._graph

    def _inside(self, predictions: FloatArray) -> FloatArray:
        """Predictions in the order in which the graph is kept."""
        order = self._graph.order
        return predictions if order is None else np.asarray(predictions[order])


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
    pair_step : callable, optional
        Does the work of blocks of two columns.
    """

    def __init__(
        self,
        matrix: SparseMatrix,
        order: IndexArray | None = None,
        *,
        threads: int = 1,
        pair_step: PairStep | None = None,
    ) -> None:
        self.shape = (matrix.shape[0], matrix.shape[0])
        self.pairwise = pair_step is not None
        self._matrix = matrix
        self._order = order
        self._threads = threads
        self._pair_step = pair_step

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
        if self._pair_step is not None and current.shape[1] == 2:
            self._pair_step(self._matrix, current, previous, factor, self._threads)
            return previous

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
