"""Cluster: the place of problems that are worked on by the workers of a Dask cluster."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from manifuse.cluster.connection import Connection
from manifuse.cluster.graph import ClusterGraph
from manifuse.cluster.parts import Parts
from manifuse.cluster.stored import scaled, scaling_of, stored
from manifuse.diffusion.graph import HostGraph
from manifuse.diffusion.neighbours import Neighbours, Query
from manifuse.diffusion.place import Host, Place
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.neighbours import merge_nearest, nearest_between
from manifuse.machine import available_memory

#: Blocks of rows for every thread of the workers while neighbours are searched: enough to even out their work.
BLOCKS = 4


class Cluster(Place):
    """The workers of a Dask cluster, each with blocks of the rows.

    Neighbours are searched exactly, block against block. Features on disk (``numpy.load(..., mmap_mode="r")``, in a
    file that the workers see, too) are read by the workers; others are sent to them. While the diffusion runs, blocks
    of columns stay with the workers, which give each other the rows that their edges end at; what comes here are the
    columns that a recurrence ends with. What was with a worker that dies is made anew by another.

    Parameters
    ----------
    client : distributed.Client

    Raises
    ------
    InputError
        If it has no workers.

    Examples
    --------
    >>> import distributed
    >>> import manifuse as mf
    >>> with distributed.Client(n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
    ...     mf.Cluster(client)
    Cluster(1 thread)
    """

    def __init__(self, client: Any) -> None:
        self._connection = Connection(client)

    def search(self, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Search exactly, block against block; see `Neighbours.of`."""
        del rng
        submit = self._connection.submit
        blocks = self.split(len(features))
        scaling = submit(scaling_of, stored(features), query.standardised, query.name)
        held = [submit(scaled, stored(features, rows), scaling) for rows in blocks]
        count = min(query.count, len(features) - 1)
        merged = []
        for here, rows in zip(held, blocks, strict=True):
            parts = [
                submit(nearest_between, here, rows.start, there, others.start, count)
                for there, others in zip(held, blocks, strict=True)
            ]
            merged.append(submit(merge_nearest, parts, count))
        indices, distances = (np.concatenate(part) for part in zip(*self._connection.gather(merged), strict=True))
        return Neighbours(indices, distances, 1.0, query.standardised)

    def graph(self, neighbours: Neighbours, count: int) -> ClusterGraph:
        """Build the graph here and give its rows to the workers; see `Place.graph`."""
        graph = HostGraph.of(neighbours, count)
        parts = Parts.cut(self._connection, graph.weights)
        return ClusterGraph(parts, graph.scales, graph.neighbours, graph.standardised, graph.order)

    def search_bytes(self, features: FloatArray) -> int:
        """Nothing here: the workers search; see `Place.search_bytes`."""
        del features
        return 0

    def edge_bytes(self, rows: int) -> int:
        """As on one machine, where graphs are built before the workers get them; see `Place.edge_bytes`."""
        return Host().edge_bytes(rows)

    def free_memory(self) -> int | None:
        """Bytes that are free here, where vectors are kept and graphs are built; see `Place.free_memory`."""
        return available_memory()

    def split(self, rows: int) -> list[slice]:
        """Blocks of rows, ``BLOCKS`` for each of the workers' threads, none without rows."""
        count = min(rows, BLOCKS * max(1, len(self._connection.threads())))
        bounds = np.linspace(0, rows, count + 1).astype(int).tolist()
        return [slice(first, last) for first, last in pairwise(bounds)]

    def __repr__(self) -> str:
        threads = len(self._connection.threads())
        return f"Cluster({threads} thread{'' if threads == 1 else 's'})"
