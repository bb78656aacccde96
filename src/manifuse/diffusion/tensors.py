"""Torch: the place of graphs on a graphics card, or on the CPU by torch."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import scipy.sparse as sparse

from manifuse.diffusion.graph import FeatureGraph, HostGraph
from manifuse.diffusion.neighbours import Neighbours, Query, Scaling, warn_of_recall
from manifuse.diffusion.place import Place
from manifuse.errors import InputError, require
from manifuse.kernels import tensors
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.laplacian import local_scales
from manifuse.machine import available_memory

#: Rows on which the recall is measured, the recall that is enough, and candidates beyond those asked for.
SAMPLE, ENOUGH, SLACK = 200, 0.999, 6


class Torch(Place):
    """A torch device: neighbours by matrix products and graphs as torch's sparse tensors, in double precision.

    Neighbours are searched among all rows, whatever the size of the table: in single precision, and again in double
    precision where the recall on a sample is not near 1. Distances are taken in double precision.

    Parameters
    ----------
    device : str or torch.device
        ``"cuda"``, ``"cuda:1"``, ``"cpu"``; anything that torch knows and that has numbers of double precision.

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

    def __init__(self, device: Any = "cuda") -> None:
        self._torch = require("torch", extra="deep", purpose="A torch device")
        try:
            self._torch.zeros(1, dtype=self._torch.float64, device=device)
        except (RuntimeError, AssertionError, TypeError, ValueError) as error:
            sentence = str(error).strip().partition("\n")[0].rstrip(".")
            raise InputError(
                f"device={str(device)!r} came, but torch cannot use it ({sentence}); give 'cuda' or 'cpu', or none."
            ) from None
        self.device = self._torch.device(device)

    def search(self, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Search by matrix products, and measure the recall; see `Neighbours.of`."""
        scaling = Scaling.of(features, standardised=query.standardised, name=query.name)
        table = self._torch.as_tensor(scaling.apply(features), device=self.device)
        narrow = self._torch.as_tensor(scaling.narrow(features), device=self.device)
        count = min(query.count, len(features) - 1)
        sample = rng.choice(len(features), size=min(len(features), SAMPLE), replace=False)
        # Single precision does where rows are spread out; where they are crowded far from the mean it does not.
        for precision in (narrow, table):
            more = min(count + SLACK, len(features) - 1)
            candidates = tensors.nearest_rows(self._torch, precision, more)
            found, distances = tensors.sort_by_distance(self._torch, table, candidates, count)
            recall = tensors.recall_of(self._torch, table, found, sample)
            if recall >= ENOUGH:
                break
        warn_of_recall(recall, query.name)
        return Neighbours(found.cpu().numpy(), distances.cpu().numpy(), recall, query.standardised)

    def graph(self, neighbours: Neighbours, count: int) -> TensorGraph:
        """Build the graph on the device; see `Place.graph`."""
        return TensorGraph.of(self._torch, self.device, neighbours, count)

    def search_bytes(self, features: FloatArray) -> int:
        """Memory of a search: the table in both precisions and a block of distances; see `Place.search_bytes`."""
        return 12 * features.size + 8 * tensors.DISTANCES

    def edge_bytes(self, rows: int) -> int:
        """Memory of an edge: both of its ends, and its weight; see `Place.edge_bytes`."""
        del rows
        return 24

    def free_memory(self) -> int | None:
        """Bytes that are free on the device; see `Place.free_memory`."""
        if self.device.type == "cuda":
            cuda = self._torch.cuda
            # What torch keeps for itself after use is free for it.
            kept = cuda.memory_reserved(self.device) - cuda.memory_allocated(self.device)
            return int(cuda.mem_get_info(self.device)[0] + kept)
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
    standardised : bool or None
    """

    torch: ModuleType
    starts: Any
    start: Any
    stop: Any
    weights: Any
    scales: FloatArray
    neighbours: int
    standardised: bool | None

    @classmethod
    def of(cls, torch: ModuleType, device: Any, neighbours: Neighbours, count: int) -> TensorGraph:
        """Build the graph of the ``count`` nearest neighbours, joined where either end names the other."""
        indices, distances = neighbours.indices[:, :count], neighbours.distances[:, :count]
        scales = local_scales(distances)
        start, stop, values = tensors.symmetric_edges(
            torch, torch.as_tensor(indices, device=device), torch.as_tensor(distances, device=device)
        )
        widths = torch.as_tensor(scales, device=device)
        weights = torch.exp(-values / torch.sqrt(widths[start] * widths[stop]))
        starts = tensors.row_starts(torch, start, len(scales))
        return cls(torch, starts, start, stop, weights, scales, indices.shape[1], neighbours.standardised)

    def affinity(self, predictions: FloatArray, scale: float) -> tensors.TensorAffinity:
        """Normalised affinity; see `FeatureGraph.affinity`."""
        weights, degrees = self._weigh(predictions, scale)
        values = tensors.normalise(self.torch, weights, degrees, self.start, self.stop)
        return tensors.TensorAffinity(self.torch, self.starts, self.stop, values)

    def degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of the weights; see `FeatureGraph.degrees`."""
        return np.asarray(self._weigh(predictions, scale)[1].cpu().numpy())

    def on_host(self) -> HostGraph:
        """Return the same graph in this machine's memory, in the table's own order."""
        parts = tuple(part.cpu().numpy() for part in (self.weights, self.stop, self.starts))
        rows = len(self.scales)
        weights = sparse.csr_array(parts, shape=(rows, rows))
        return HostGraph(weights, self.scales, self.neighbours, self.standardised, None)

    def _weigh(self, predictions: FloatArray, scale: float) -> tuple[Any, Any]:
        inside = self.torch.as_tensor(predictions, device=self.weights.device)
        differences = inside[self.start] - inside[self.stop]
        weights = self.weights * self.torch.exp(-(differences**2) / scale)
        return weights, tensors.row_sums(self.torch, weights, self.starts)
