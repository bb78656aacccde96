"""Backend: where neighbours are searched and where the edges of graphs are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from manifuse.backends.neighbours import Neighbours, Query
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.records import Saveable


@dataclass(frozen=True, eq=False)
class StoredGraph(Saveable):
    """A feature graph as plain arrays, which every backend can give and every file can hold.

    Attributes
    ----------
    weights : (n, n) CSR array
        ``W^x`` of eq. 14, rows and columns in the order of ``order``.
    scales : (n,) array
        Local scales, twice the mean squared distance to the neighbours, in the order of the table.
    neighbours : int
        Neighbours of every row (N).
    standardised : bool
        Whether the features were standardised before distances were taken.
    order : (n,) array of int or None
        The table's row of each row of ``weights``; None for the table's own order.
    """

    weights: SparseMatrix
    scales: FloatArray
    neighbours: int
    standardised: bool
    order: IndexArray | None


class FeatureGraph(ABC):
    """Neighbour graph with feature weights ``W^x``; predictions re-weigh it, the edges stay (eq. 14).

    Attributes
    ----------
    scales : (n,) array
        Local scales, twice the mean squared distance to the neighbours.
    neighbours : int
        Neighbours of every row (N).
    standardised : bool
        Whether the features were standardised before distances were taken.
    """

    scales: FloatArray
    neighbours: int
    standardised: bool

    @abstractmethod
    def affinity(self, predictions: FloatArray, scale: float) -> Affinity:
        """Normalised affinity ``I - Laplacian`` under the weights ``W^x * W^f`` (eq. 14).

        Parameters
        ----------
        predictions : (n,) or (n, c) array
            Standardised, so that ``scale`` has no unit.
        scale : float
            ``sigma_f^2``, positive; with infinity the features alone decide the weights.
        """

    @abstractmethod
    def degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of ``W^x * W^f``, the diagonal of ``D`` in eq. 14, shape (n,)."""

    @abstractmethod
    def stored(self) -> StoredGraph:
        """Return the graph as arrays in this machine's memory."""


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
