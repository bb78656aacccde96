"""Torch: neighbours and graphs on a graphics card, or on the CPU by torch."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sparse

from manifuse.backends.backend import Backend
from manifuse.backends.graph import FeatureGraph, SparseGraph
from manifuse.backends.neighbours import Neighbours, Query, Scaling, warn_of_recall
from manifuse.errors import InputError, require
from manifuse.kernels import tensors
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.laplacian import local_scales
from manifuse.kernels.tensors import Tensor
from manifuse.machine import available_memory

#: Rows on which the recall is measured, the recall that is enough, and candidates beyond those asked for.
SAMPLE, ENOUGH, SLACK = 200, 0.999, 6


class Torch(Backend):
    """A torch device: neighbours by matrix products, graphs as sparse tensors in double precision.

    The search is exact in principle, whatever the size of the table. It is done in single precision, and again in
    double precision if the recall on a sample is not near 1. Distances are taken in double precision.

    Parameters
    ----------
    device : str or torch.device
        ``"cuda"``, ``"cuda:1"``, ``"cpu"``, or any other device that torch knows and that has double precision.
    distances : int
        Distances that are held at once while neighbours are searched; 8 bytes each.
    differences : int
        Numbers that are held at once while edges are measured.

    Raises
    ------
    InputError
        If there is no such device.
    MissingExtraError
        If torch is not installed.

    Examples
    --------
    >>> import manifuse as mf
    >>> mf.Torch("cpu")
    Torch('cpu')
    """

    def __init__(self, device: Any = "cuda", *, distances: int = 1 << 28, differences: int = 1 << 26) -> None:
        self._torch = require("torch", extra="deep", purpose="A torch device")
        try:
            self._torch.zeros(1, dtype=self._torch.float64, device=device)
        except (RuntimeError, AssertionError, TypeError, ValueError) as error:
            sentence = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
            raise InputError(
                f"torch cannot use the device {str(device)!r} ({sentence}); give 'cuda' or 'cpu', or no backend."
            ) from None
        self.device = self._torch.device(device)
        self._distances, self._differences = distances, differences

    def search(self, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Search by matrix products, and measure the recall; see `Backend.search`."""
        scaling = Scaling.of(features, standardised=query.standardised, name=query.name)
        table = self._torch.as_tensor(scaling.apply(features), device=self.device)
        narrow = self._torch.as_tensor(scaling.narrow(features), device=self.device)
        count = min(query.count, len(features) - 1)
        sample = rng.choice(len(features), size=min(len(features), SAMPLE), replace=False)
        # Single precision fails for rows that are crowded together far from the mean.
        for precision in (narrow, table):
            more = min(count + SLACK, len(features) - 1)
            candidates = tensors.nearest_rows(self._torch, precision, more, at_once=self._distances)
            found, distances = tensors.sort_by_distance(
                self._torch, table, candidates, count, at_once=self._differences
            )
            recall = tensors.recall_of(self._torch, table, found, sample)
            if recall >= ENOUGH:
                break
        warn_of_recall(recall, query.name)
        return Neighbours(found.cpu().numpy(), distances.cpu().numpy(), recall, query.standardised)

    def graph(self, neighbours: Neighbours, count: int) -> TensorGraph:
        """Build the graph on the device; see `Backend.graph`."""
        torch, device = self._torch, self.device
        indices, distances = neighbours.indices[:, :count], neighbours.distances[:, :count]
        scales = local_scales(distances)
        start, stop, values = tensors.symmetric_edges(
            torch, torch.as_tensor(indices, device=device), torch.as_tensor(distances, device=device)
        )
        # Roots first, because the product of two tiny scales would be 0.
        roots = torch.sqrt(torch.as_tensor(scales, device=device))
        weights = torch.exp(-values / (roots[start] * roots[stop]))
        starts = torch.searchsorted(start, torch.arange(len(scales) + 1, device=device))
        return TensorGraph(torch, starts, start, stop, weights, scales, indices.shape[1], neighbours.standardised)

    def search_bytes(self, features: FloatArray) -> int:
        """Memory of the table in both precisions and of a block of distances; see `Backend.search_bytes`."""
        return 12 * features.size + 8 * self._distances

    def edge_bytes(self) -> int:
        """Memory of an edge: both of its ends and its weight; see `Backend.edge_bytes`."""
        return 24

    def free_memory(self) -> int | None:
        """Bytes that are free on the device; see `Backend.free_memory`."""
        if self.device.type == "cuda":
            cuda = self._torch.cuda
            # Torch does not return memory to the device after use, but it uses that memory again.
            reusable = cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device)
            return int(cuda.mem_get_info(self.device)[0] + reusable)
        return available_memory()

    def __repr__(self) -> str:
        return f"Torch({str(self.device)!r})"


@dataclass(frozen=True, eq=False)
class TensorGraph(FeatureGraph):
    """A graph on a torch device.

    Attributes
    ----------
    torch : module
    starts : (n + 1,) tensor
        Where each row's edges begin.
    start, stop : (edges,) tensor
    weights : (edges,) tensor
        ``W^x``.
    scales : (n,) array
    neighbours : int
    standardised : bool
    """

    torch: ModuleType
    starts: Any
    start: Any
    stop: Any
    weights: Any
    scales: FloatArray
    neighbours: int
    standardised: bool

    def affinity(self, predictions: FloatArray, scale: float) -> TensorAffinity:
        """Normalised affinity; see `FeatureGraph.affinity`."""
        weights, degrees = self._weigh(predictions, scale)
        values = tensors.normalise(self.torch, weights, degrees, self.start, self.stop)
        return TensorAffinity(self.torch, self.starts, self.stop, values)

    def degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of the weights; see `FeatureGraph.degrees`."""
        return np.asarray(self._weigh(predictions, scale)[1].cpu().numpy())

    def on_host(self) -> SparseGraph:
        """Copy the graph into this machine's memory."""
        parts = tuple(part.cpu().numpy() for part in (self.weights, self.stop, self.starts))
        weights = sparse.csr_array(parts, shape=(len(self.scales), len(self.scales)))
        return SparseGraph(weights, self.scales, self.neighbours, self.standardised)

    def _weigh(self, predictions: FloatArray, scale: float) -> tuple[Any, Any]:
        inside = self.torch.as_tensor(predictions, device=self.weights.device)
        inside = inside.reshape(len(inside), -1)
        squares = ((inside[self.start] - inside[self.stop]) ** 2).mean(dim=1)
        weights = self.weights * self.torch.exp(-squares / scale)
        # Unlike atomic additions, every call adds them in the same order.
        return weights, self.torch.segment_reduce(weights, "sum", offsets=self.starts, initial=0.0)


class TensorAffinity(Affinity):
    """An affinity on a torch device.

    Parameters
    ----------
    torch : module
    starts : (n + 1,) tensor
        Where each row's entries begin.
    stop : (edges,) tensor
        Their columns.
    values : (edges,) tensor
    """

    def __init__(self, torch: ModuleType, starts: Tensor, stop: Tensor, values: Tensor) -> None:
        self.shape = (len(starts) - 1, len(starts) - 1)
        self._torch = torch
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            self._matrix = torch.sparse_csr_tensor(starts, stop, values, self.shape, check_invariants=False)

    def enter(self, values: FloatArray) -> Tensor:
        """Copy to a block; see `Affinity.enter`."""
        return self._torch.tensor(values, dtype=self._matrix.dtype, device=self._matrix.device)

    def leave(self, block: Tensor) -> FloatArray:
        """Copy back; see `Affinity.leave`."""
        return np.asarray(block.cpu().numpy())

    def zeros(self, columns: int) -> Tensor:
        """Return a block of zeros; see `Affinity.zeros`."""
        return self._torch.zeros((self.shape[0], columns), dtype=self._matrix.dtype, device=self._matrix.device)

    def add(self, block: Tensor, rows: IndexArray, values: FloatArray) -> None:
        """Add to rows; see `Affinity.add`."""
        block[self._rows(rows)] += self.enter(values)

    def take(self, block: Tensor, rows: IndexArray) -> FloatArray:
        """Copy rows; see `Affinity.take`."""
        return np.asarray(block[self._rows(rows)].cpu().numpy())

    def recur(self, current: Tensor, previous: Tensor, factor: float) -> Tensor:
        """Take one step of a three-term recurrence; see `Affinity.recur`."""
        return previous.neg_().add_(self._matrix @ current, alpha=factor)

    def matrix(self) -> SparseMatrix:
        """Return all entries; see `Affinity.matrix`."""
        parts = (self._matrix.values(), self._matrix.col_indices(), self._matrix.crow_indices())
        return sparse.csr_array(tuple(part.cpu().numpy() for part in parts), shape=self.shape)

    def _rows(self, rows: IndexArray) -> Tensor:
        return self._torch.as_tensor(np.asarray(rows), device=self._matrix.device)
