"""FeatureGraph: the neighbour graph of one feature table, re-weighted by predictions (eq. 14)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from manifuse.diffusion.neighbours import Neighbours
from manifuse.errors import find
from manifuse.kernels.affinity import Affinity, SparseAffinity
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.compiled import pair_step
from manifuse.kernels.laplacian import (
    joint_degrees,
    local_scales,
    locality_order,
    normalised_affinity,
    weigh_by_features,
)
from manifuse.kernels.rows import from_order, in_order
from manifuse.machine import threads

#: Rows from which a graph is kept in an order of its own, so that neighbours are near in memory (docs/decisions.md).
ORDERED_ROWS = 20_000

#: Rows from which memory is spared: edges are kept in single precision, and what rounds did is not kept.
LARGE_ROWS = 100_000

#: Rows from which compiled steps are worth their compilation, where numba is installed.
COMPILED_ROWS = 300_000


def precision_of(rows: int) -> type[np.floating[Any]]:
    """Precision in which the edges of a graph of so many rows are kept."""
    return np.float32 if rows >= LARGE_ROWS else np.float64


class FeatureGraph(ABC):
    """Neighbour graph with feature weights ``W^x``; predictions re-weight it, the edges stay.

    Attributes
    ----------
    scales : (n,) array
        Local scales, twice the mean squared distance to the neighbours.
    neighbours : int
        Of every row (N).
    standardised : bool or None
        Whether the features were, before distances were taken; None where the neighbours were given.
    """

    scales: FloatArray
    neighbours: int
    standardised: bool | None

    @abstractmethod
    def affinity(self, predictions: FloatArray, scale: float) -> Affinity:
        """Normalised affinity ``I - Laplacian`` under the weights ``W^x * W^f`` (eq. 14).

        Parameters
        ----------
        predictions : (n,) array
            Standardised, so that ``scale`` has no unit.
        scale : float
            ``sigma_f^2``, positive; infinity leaves the features alone to weigh.
        """

    @abstractmethod
    def degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of ``W^x * W^f``, the diagonal of ``D`` in eq. 14, shape (n,)."""

    @abstractmethod
    def on_host(self) -> HostGraph:
        """Return the same graph in this machine's memory."""


@dataclass(frozen=True, eq=False)
class HostGraph(FeatureGraph):
    """A graph in this machine's memory.

    Attributes
    ----------
    weights : (n, n) CSR array
        ``W^x``, in the order of ``order``; of large tables in single precision.
    scales : (n,) array
    neighbours : int
    standardised : bool or None
    order : (n,) array of int or None
        The table's row of each row of ``weights``; None for the table's own order.
    """

    weights: SparseMatrix
    scales: FloatArray
    neighbours: int
    standardised: bool | None
    order: IndexArray | None

    @classmethod
    def of(cls, neighbours: Neighbours, count: int) -> HostGraph:
        """Build the graph of the ``count`` nearest neighbours, joined where either end names the other."""
        indices, distances = neighbours.indices[:, :count], neighbours.distances[:, :count]
        scales, rows = local_scales(distances), len(indices)
        weights = weigh_by_features(indices, distances, scales, precision=precision_of(rows), threads=threads())
        order = locality_order(weights) if rows >= ORDERED_ROWS else None
        weights = weights if order is None else in_order(weights, order)
        return cls(weights, scales, indices.shape[1], neighbours.standardised, order)

    def affinity(self, predictions: FloatArray, scale: float) -> SparseAffinity:
        """Normalised affinity; see `FeatureGraph.affinity`."""
        inside = self._inside(predictions)
        degrees = joint_degrees(self.weights, inside, scale, threads=threads())
        matrix = normalised_affinity(self.weights, inside, scale, degrees, threads=threads())
        # Compiling takes a second or two.
        numba = find("numba") if len(self.scales) >= COMPILED_ROWS else None
        compiled = None if numba is None else pair_step(numba)
        return SparseAffinity(matrix, self.order, threads=threads(), pair_step=compiled)

    def degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of the weights; see `FeatureGraph.degrees`."""
        degrees = joint_degrees(self.weights, self._inside(predictions), scale, threads=threads())
        return degrees if self.order is None else from_order(degrees, self.order)

    def on_host(self) -> HostGraph:
        """Return itself."""
        return self

    def _inside(self, predictions: FloatArray) -> FloatArray:
        return predictions if self.order is None else np.asarray(predictions[self.order])
