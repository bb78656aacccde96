"""Backend: where neighbours are searched and where the edges of graphs are kept."""

from abc import ABC, abstractmethod

import numpy as np

from manifuse.backends.graph import FeatureGraph
from manifuse.backends.neighbours import Neighbours, Query
from manifuse.kernels.arrays import FloatArray


class Backend(ABC):
    """Where the work that grows with the edges is done; vectors of the main table stay in this machine's memory."""

    @abstractmethod
    def search(self, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Find the nearest other rows of every row.

        Parameters
        ----------
        features : (n, d) array
        query : Query
        rng : numpy.random.Generator
            Draws the sample on which the recall of an approximate search is measured.

        Raises
        ------
        InputError
            If all rows are the same point.
        MissingExtraError
            If the search needs a library that is not installed.
        """

    @abstractmethod
    def graph(self, neighbours: Neighbours, count: int) -> FeatureGraph:
        """Build the graph of the ``count`` nearest neighbours; two rows are joined if either names the other."""

    @abstractmethod
    def search_bytes(self, features: FloatArray) -> int:
        """Memory that a search of a table needs, beside the table, counted where `free_memory` is."""

    @abstractmethod
    def edge_bytes(self) -> int:
        """Memory of one edge, counted where `free_memory` is."""

    @abstractmethod
    def free_memory(self) -> int | None:
        """Bytes that a run may take; None if the system does not say."""
