"""ClusterGraph: a graph whose edges the workers keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manifuse.cluster.affinity import ClusterAffinity
from manifuse.cluster.connection import Held, Tasks
from manifuse.cluster.parts import Parts
from manifuse.diffusion.graph import FeatureGraph, HostGraph
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.laplacian import joint_degrees, normalised_affinity
from manifuse.kernels.rows import from_order


@dataclass(frozen=True, eq=False)
class ClusterGraph(FeatureGraph):
    """A graph whose edges the workers keep.

    Attributes
    ----------
    parts : Parts
        Of ``W^x``, in the order of ``order``.
    scales : (n,) array
    neighbours : int
    standardised : bool or None
    order : (n,) array of int or None
        As in `HostGraph`.
    """

    parts: Parts
    scales: FloatArray
    neighbours: int
    standardised: bool | None
    order: IndexArray | None

    def affinity(self, predictions: FloatArray, scale: float) -> ClusterAffinity:
        """Normalised affinity; see `FeatureGraph.affinity`."""
        tasks = self.parts.connection.tasks()
        weighed = self._send(tasks, predictions)
        sums = self._sum_rows(tasks, weighed, scale)
        around = self.parts.exchange(tasks, sums)
        matrices = [
            tasks.add(part.home, affinity_of, part.matrix, *own, scale, *degrees)
            for part, own, *degrees in zip(self.parts, weighed, sums, around, strict=True)
        ]
        return ClusterAffinity(self.parts.holding(tasks.start(matrices)), self.order)

    def degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of the weights; see `FeatureGraph.degrees`."""
        tasks = self.parts.connection.tasks()
        degrees = self.parts.gather(tasks.start(self._sum_rows(tasks, self._send(tasks, predictions), scale)))
        return degrees if self.order is None else from_order(degrees, self.order)

    def on_host(self) -> HostGraph:
        """Return the same graph in this machine's memory."""
        return HostGraph(self.parts.whole(), self.scales, self.neighbours, self.standardised, self.order)

    def _send(self, tasks: Tasks, predictions: FloatArray) -> list[tuple[Held, list[Held]]]:
        """Predictions of the rows and of the columns of every part."""
        sent = self.parts.send(tasks, predictions if self.order is None else predictions[self.order])
        return list(zip(sent, self.parts.exchange(tasks, sent), strict=True))

    def _sum_rows(self, tasks: Tasks, weighed: Sequence[tuple[Held, list[Held]]], scale: float) -> list[Held]:
        return [
            tasks.add(part.home, row_sums, part.matrix, *own, scale)
            for part, own in zip(self.parts, weighed, strict=True)
        ]


def row_sums(weights: SparseMatrix, predictions: FloatArray, others: list[FloatArray], scale: float) -> FloatArray:
    """Row sums of the weights of one part.

    Parameters
    ----------
    weights : (rows, c) CSR array
        ``W^x``.
    predictions : (rows,) array
    others : list of (b,) array
        Together the predictions of the c columns.
    scale : float
    """
    return joint_degrees(weights, predictions, scale, others=np.concatenate(others))


def affinity_of(
    weights: SparseMatrix,
    predictions: FloatArray,
    others: list[FloatArray],
    scale: float,
    degrees: FloatArray,
    other_degrees: list[FloatArray],
) -> SparseMatrix:
    """Normalised affinity of one part; the arguments as of `row_sums`, and all row sums alike."""
    around = (np.concatenate(others), np.concatenate(other_degrees))
    return normalised_affinity(weights, predictions, scale, degrees, others=around)
