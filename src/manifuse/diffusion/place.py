"""Place: where neighbours are searched and graphs are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from manifuse.diffusion.graph import FeatureGraph, HostGraph, precision_of
from manifuse.diffusion.neighbours import Neighbours, Query
from manifuse.kernels.arrays import FloatArray
from manifuse.machine import available_memory


class Place(ABC):
    """Where the work that grows with the edges is done; vectors of the main table stay in this machine's memory."""

    @abstractmethod
    def search(self, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Search the nearest neighbours of every row; see `Neighbours.of`."""

    @abstractmethod
    def graph(self, neighbours: Neighbours, count: int) -> FeatureGraph:
        """Build the graph of the ``count`` nearest neighbours, joined where either end names the other."""

    @abstractmethod
    def search_bytes(self, features: FloatArray) -> int:
        """Memory that a search of a table takes where `free_memory` is counted, beside the table."""

    @abstractmethod
    def edge_bytes(self, rows: int) -> int:
        """Memory that an edge of a graph of so many rows takes where `free_memory` is counted."""

    @abstractmethod
    def free_memory(self) -> int | None:
        """Bytes that a run may take; None where nobody says."""


class Host(Place):
    """The memory and cores of this machine: SciPy, in threads where tables are large.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.Host()
    Host()
    """

    def search(self, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Search exactly or with faiss, by the size of the table; see `Neighbours.of`."""
        return Neighbours.of(features, query, rng)

    def graph(self, neighbours: Neighbours, count: int) -> HostGraph:
        """Build the graph; see `Place.graph`."""
        return HostGraph.of(neighbours, count)

    def search_bytes(self, features: FloatArray) -> int:
        """Memory of a search: the scaled table, and the index over it; see `Place.search_bytes`."""
        return 12 * features.size

    def edge_bytes(self, rows: int) -> int:
        """Memory of an edge: its column, and its weight; see `Place.edge_bytes`."""
        return 4 + np.dtype(precision_of(rows)).itemsize

    def free_memory(self) -> int | None:
        """Bytes that are free on this machine; see `Place.free_memory`."""
        return available_memory()

    def __repr__(self) -> str:
        return "Host()"
