"""Host: neighbours and graphs in this machine's memory."""

from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np

from manifuse.backends.backend import Backend
from manifuse.backends.graph import SparseGraph
from manifuse.backends.neighbours import Neighbours, Query, Scaling, warn_of_recall
from manifuse.errors import require
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.laplacian import feature_weights, joined, local_scales, locality_order, squared_distances
from manifuse.kernels.nearest import approximate_neighbours, exact_neighbours
from manifuse.machine import available_memory, loops_in_threads

#: Multiply-adds (n² d) of a search from which threads share it; one thread takes a second for them.
SHARED_WORK = 2e9


@dataclass(frozen=True)
class Host(Backend):
    """The memory and cores of this machine.

    Parameters
    ----------
    exact_work : float
        Multiply-adds (n² d) up to which ``search="auto"`` is exact; beyond, faiss searches approximately,
        and may miss some neighbours.
    ordered_rows : int
        Above so many rows, a graph is kept in an order in which neighbours are near each other in memory.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.Host()
    Host()
    """

    exact_work: float = field(default=5e11, repr=False)
    ordered_rows: int = field(default=50_000, repr=False)

    def search(self, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Search exactly, or with faiss where exact search would take too long; see `Backend.search`."""
        scaling = Scaling.of(features, standardised=query.standardised, name=query.name)
        count = min(query.count, len(features) - 1)
        recall = 1.0
        with loops_in_threads() if _work(features) >= SHARED_WORK else nullcontext():
            if query.search == "exact" or (query.search == "auto" and _work(features) <= self.exact_work):
                indices = exact_neighbours(scaling.apply(features), count)
            else:
                purpose = f"Approximate neighbour search over {len(features):,} rows"
                faiss = require("faiss", extra="neighbours", purpose=purpose)
                indices, recall = approximate_neighbours(scaling.narrow(features), count, faiss=faiss, rng=rng)
                warn_of_recall(recall, query.name)
        distances = squared_distances(features, features, indices, scaling.divisors)
        return Neighbours(indices, distances, recall, query.standardised)

    def graph(self, neighbours: Neighbours, count: int) -> SparseGraph:
        """Build the graph; see `Backend.graph`."""
        indices, distances = neighbours.indices[:, :count], neighbours.distances[:, :count]
        scales = local_scales(distances)
        weights, order = joined(indices, feature_weights(distances, scales[:, None], scales[indices])), None
        if len(indices) > self.ordered_rows:
            order = locality_order(weights)
            weights = weights[order][:, order]
        return SparseGraph(weights, scales, indices.shape[1], neighbours.standardised, order)

    def search_bytes(self, features: FloatArray) -> int:
        """Memory of the scaled table and of the index over it; see `Backend.search_bytes`."""
        return 12 * features.size

    def edge_bytes(self) -> int:
        """Memory of an edge: its column and its weight; see `Backend.edge_bytes`."""
        return 12

    def free_memory(self) -> int | None:
        """Bytes that are free on this machine; see `Backend.free_memory`."""
        return available_memory()


def _work(features: FloatArray) -> float:
    """Multiply-adds of an exact search."""
    return float(len(features)) * features.size
