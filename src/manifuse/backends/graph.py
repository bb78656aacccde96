"""Graphs of the neighbours of a table, which predictions re-weigh: of any backend, and in this machine's memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse

from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.laplacian import degrees_of, joint_weights, normalised_affinity


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
    def on_host(self) -> SparseGraph:
        """Return the graph in this machine's memory, in the form that files hold."""


@dataclass(frozen=True, eq=False)
class SparseGraph(FeatureGraph):
    """A graph in this machine's memory, which every backend can give and every file can hold.

    Attributes
    ----------
    weights : (n, n) CSR array
        ``W^x`` of eq. 14, rows and columns in the order of ``order``.
    scales : (n,) array
    neighbours : int
    standardised : bool
        As of `FeatureGraph`.
    order : (n,) array of int or None
        The table's row of each row of ``weights``; None for the table's own order.
    """

    weights: SparseMatrix
    scales: FloatArray
    neighbours: int
    standardised: bool
    order: IndexArray | None = None

    @classmethod
    def without_edges(cls, rows: int) -> SparseGraph:
        """Return the graph of a table that needs none."""
        return cls(sparse.csr_array((rows, rows)), np.ones(rows), 0, False)

    def affinity(self, predictions: FloatArray, scale: float) -> SparseAffinity:
        """Normalised affinity; see `FeatureGraph.affinity`."""
        return SparseAffinity(normalised_affinity(self._joint_weights(predictions, scale)), self.order)

    def degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of the weights; see `FeatureGraph.degrees`."""
        degrees = degrees_of(self._joint_weights(predictions, scale))
        return degrees if self.order is None else np.asarray(degrees[np.argsort(self.order)])

    def on_host(self) -> SparseGraph:
        """Return the graph itself."""
        return self

    def _joint_weights(self, predictions: FloatArray, scale: float) -> SparseMatrix:
        """Weights of both features and predictions, in the order of ``order``."""
        inside = predictions if self.order is None else predictions[self.order]
        return joint_weights(self.weights, inside, scale)


class SparseAffinity(Affinity):
    """An affinity in this machine's memory.

    Parameters
    ----------
    matrix : (n, n) CSR array
        In the order of ``order``.
    order : (n,) array of int, optional
        The table's row of each row of ``matrix``; the table's own order if not given.
    """

    def __init__(self, matrix: SparseMatrix, order: IndexArray | None = None) -> None:
        rows = np.arange(matrix.shape[0])
        self.shape = (matrix.shape[0], matrix.shape[0])
        self._matrix = matrix
        self._order = rows if order is None else order
        self._inverse = rows if order is None else np.argsort(order)

    def enter(self, values: FloatArray) -> FloatArray:
        """Copy to a block; see `Affinity.enter`."""
        return np.asarray(values[self._order], dtype=np.float64)

    def leave(self, block: FloatArray) -> FloatArray:
        """Copy back; see `Affinity.leave`."""
        return np.asarray(block[self._inverse])

    def zeros(self, columns: int) -> FloatArray:
        """Return a block of zeros; see `Affinity.zeros`."""
        return np.zeros((self.shape[0], columns))

    def add(self, block: FloatArray, rows: IndexArray, values: FloatArray) -> None:
        """Add to rows; see `Affinity.add`."""
        block[self._inverse[rows]] += values

    def take(self, block: FloatArray, rows: IndexArray) -> FloatArray:
        """Copy rows; see `Affinity.take`."""
        return np.asarray(block[self._inverse[rows]])

    def recur(self, current: FloatArray, previous: FloatArray, factor: float) -> FloatArray:
        """Take one step of a three-term recurrence; see `Affinity.recur`."""
        product = self._matrix @ current
        product *= factor
        np.subtract(product, previous, out=previous)
        return previous

    def matrix(self) -> SparseMatrix:
        """Return all entries; see `Affinity.matrix`."""
        return self._matrix[self._inverse][:, self._inverse]
