"""Cluster: the place of problems that are too large or slow for one machine, in blocks of rows over Dask workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from mmap import mmap
from typing import Any

import numpy as np
import scipy.sparse as sparse
from joblib import cpu_count

from manifuse.diffusion.graph import FeatureGraph, HostGraph
from manifuse.diffusion.neighbours import Neighbours, Query, Scaling
from manifuse.diffusion.place import Place
from manifuse.errors import InputError, OutputError, require
from manifuse.kernels.affinity import HostAffinity
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.laplacian import joint_degrees, normalised_affinity
from manifuse.kernels.neighbours import merge_nearest, nearest_between
from manifuse.kernels.rows import from_order, in_order, row_block
from manifuse.machine import available_memory

#: What an engine may be called: a Dask cluster of this machine, or one that runs already.
DASK, ADDRESS = "dask", "dask://"

#: Seconds to wait for the scheduler of a cluster that is said to run.
PATIENCE = 10

#: Blocks of rows for every thread of the workers: enough to even out their work.
BLOCKS = 4


@contextmanager
def connect(engine: str, workers: int = -1) -> Iterator[Any]:
    """Connect to a cluster, and to one made for the time being if none runs.

    Parameters
    ----------
    engine : str
        ``"dask"`` or ``"dask://HOST:PORT"``.
    workers : int
        Of a cluster that is made, each of one thread; -1 for one per core.

    Yields
    ------
    distributed.Client

    Raises
    ------
    InputError
        If no scheduler answers at the address.
    MissingExtraError
        If Dask is not installed.
    """
    distributed = require("distributed", extra="dask", purpose=f"The engine {engine!r}")
    dask = require("dask", extra="dask", purpose=f"The engine {engine!r}")
    # What tasks are given is large at times, and meant to be.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "4GB"}):
        if engine == DASK:
            count = cpu_count() if workers == -1 else workers
            options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": ":0"}
            with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
                yield client
            return
        address = f"tcp://{engine.removeprefix(ADDRESS)}"
        try:
            client = distributed.Client(address, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            raise InputError(
                f"No Dask scheduler answers at {address} ({type(error).__name__}); start one with 'dask scheduler', "
                f"or use {DASK!r}."
            ) from None
        with client:
            yield client


class Cluster(Place):
    """The workers of a Dask cluster, each with blocks of the rows.

    Neighbours are searched exactly, block against block. Features on disk (``numpy.load(..., mmap_mode="r")``, in a
    file that the workers see, too) are read by the workers; others are sent to them. What is exchanged while the
    diffusion runs are the entries of vectors that each block's edges end at. What was with a worker that dies is made
    anew by another.

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
        distributed = require("distributed", extra="dask", purpose="A cluster")
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except (distributed.TimeoutError, TimeoutError):
            raise InputError("The Dask scheduler has no workers; start some with 'dask worker'.") from None
        self._client = client

    def search(self, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Search exactly, block against block; see `Neighbours.of`."""
        del rng
        blocks = self.split(len(features))
        scaling = self.submit(_scaling_of, _stored(features), query.standardised, query.name)
        held = [self.submit(_scaled, _stored(features, rows), scaling) for rows in blocks]
        count = min(query.count, len(features) - 1)
        merged = []
        for here, rows in zip(held, blocks, strict=True):
            parts = [
                self.submit(nearest_between, here, rows.start, there, others.start, count)
                for there, others in zip(held, blocks, strict=True)
            ]
            merged.append(self.submit(merge_nearest, parts, count))
        indices, distances = (np.concatenate(part) for part in zip(*self.gather(merged), strict=True))
        return Neighbours(indices, distances, 1.0, query.standardised)

    def graph(self, neighbours: Neighbours, count: int) -> ClusterGraph:
        """Build the graph here and give its rows to the workers; see `Place.graph`."""
        graph = HostGraph.of(neighbours, count)
        parts = []
        for rows in self.split(len(graph.scales)):
            block = row_block(graph.weights, rows)
            columns, local = np.unique(block.indices.astype(np.intp), return_inverse=True)
            matrix = sparse.csr_array((block.data, local, block.indptr), shape=(block.shape[0], len(columns)))
            parts.append(Part(rows, columns, self.submit(_itself, matrix)))
        return ClusterGraph(self, tuple(parts), graph.scales, graph.neighbours, graph.standardised, graph.order)

    def search_bytes(self, features: FloatArray) -> int:
        """Nothing here: the workers search; see `Place.search_bytes`."""
        del features
        return 0

    def free_memory(self) -> int | None:
        """Bytes that are free here, where vectors are kept and graphs are built; see `Place.free_memory`."""
        return available_memory()

    def split(self, rows: int) -> list[slice]:
        """Blocks of rows, ``BLOCKS`` for each of the workers' threads, none without rows."""
        count = min(rows, BLOCKS * max(1, sum(self._client.nthreads().values())))
        bounds = np.linspace(0, rows, count + 1).astype(int).tolist()
        return [slice(first, last) for first, last in pairwise(bounds)]

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have a worker call a function; arguments that are futures are what these come to."""
        return self._client.submit(function, *arguments, pure=False)

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """Wait for results.

        Raises
        ------
        OutputError
            If the cluster is lost, or a task takes every worker down.
        """
        distributed = require("distributed", extra="dask", purpose="A cluster")
        try:
            return list(self._client.gather(list(futures)))
        except (distributed.KilledWorker, MemoryError) as error:
            raise OutputError(
                f"A block of rows took every worker down that it was given to ({error}); give the workers more memory."
            ) from error
        except (CancelledError, OSError) as error:
            raise OutputError(f"The Dask cluster was lost ({type(error).__name__}); start it again.") from error

    def __repr__(self) -> str:
        threads = sum(self._client.nthreads().values())
        return f"Cluster({threads} thread{'' if threads == 1 else 's'})"


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a sparse matrix, kept by the workers.

    Attributes
    ----------
    rows : slice
    columns : (c,) array of int
        Those that the rows have entries in.
    matrix : future of (rows, c) CSR array
    """

    rows: slice
    columns: IndexArray
    matrix: Any


@dataclass(frozen=True, eq=False)
class ClusterGraph(FeatureGraph):
    """A graph whose edges the workers keep.

    Attributes
    ----------
    cluster : Cluster
    parts : tuple of Part
        Of ``W^x``, in the order of ``order``.
    scales : (n,) array
    neighbours : int
    standardised : bool or None
    order : (n,) array of int or None
        As in `HostGraph`.
    """

    cluster: Cluster
    parts: tuple[Part, ...]
    scales: FloatArray
    neighbours: int
    standardised: bool | None
    order: IndexArray | None

    def affinity(self, predictions: FloatArray, scale: float) -> ClusterAffinity:
        """Normalised affinity; see `FeatureGraph.affinity`."""
        inside, degrees = self._inside(predictions), self._degrees(predictions, scale)
        parts = [
            replace(
                part,
                matrix=self.cluster.submit(
                    _normalise,
                    part.matrix,
                    (inside[part.rows], inside[part.columns]),
                    (degrees[part.rows], degrees[part.columns]),
                    scale,
                ),
            )
            for part in self.parts
        ]
        return ClusterAffinity(self.cluster, parts, len(self.scales), self.order)

    def degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of the weights; see `FeatureGraph.degrees`."""
        degrees = self._degrees(predictions, scale)
        return degrees if self.order is None else from_order(degrees, self.order)

    def on_host(self) -> HostGraph:
        """Return the same graph in this machine's memory."""
        weights = _assemble(self.cluster, self.parts, len(self.scales))
        return HostGraph(weights, self.scales, self.neighbours, self.standardised, self.order)

    def _inside(self, predictions: FloatArray) -> FloatArray:
        return predictions if self.order is None else np.asarray(predictions[self.order])

    def _degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of the weights, in the order of the parts, shape (n,)."""
        inside = self._inside(predictions)
        sums = [
            self.cluster.submit(_degrees, part.matrix, inside[part.rows], inside[part.columns], scale)
            for part in self.parts
        ]
        return np.concatenate(self.cluster.gather(sums))


class ClusterAffinity(HostAffinity):
    """An affinity whose rows the workers keep; blocks of columns are in this machine's memory.

    Parameters
    ----------
    cluster : Cluster
    parts : sequence of Part
    rows : int
    order : (n,) array of int or None
        As in `HostGraph`.
    """

    def __init__(self, cluster: Cluster, parts: Sequence[Part], rows: int, order: IndexArray | None) -> None:
        super().__init__(rows, order)
        self._cluster = cluster
        self._parts = parts

    def recur(self, current: FloatArray, previous: FloatArray, factor: float) -> FloatArray:
        """Take one step of a three-term recurrence; see `Affinity.recur`."""
        products = [self._cluster.submit(_product, part.matrix, current[part.columns]) for part in self._parts]
        for part, product in zip(self._parts, self._cluster.gather(products), strict=True):
            previous[part.rows] = factor * product - previous[part.rows]
        return previous

    def matrix(self) -> SparseMatrix:
        """Return all entries; see `Affinity.matrix`."""
        whole = _assemble(self._cluster, self._parts, self.shape[0])
        return whole if self.inverse is None else in_order(whole, self.inverse)


@dataclass(frozen=True, eq=False)
class _OnDisk:
    """Rows of a table that workers read for themselves."""

    path: str
    offset: int
    dtype: str
    shape: tuple[int, ...]
    rows: slice

    def load(self) -> FloatArray:
        """Return the rows, still on disk."""
        try:
            whole = np.memmap(self.path, dtype=self.dtype, mode="r", offset=self.offset, shape=self.shape)
        except (OSError, ValueError) as error:
            raise InputError(
                f"A worker cannot read {self.path} ({error}); put it where all workers see it, or load the features."
            ) from None
        return np.asarray(whole[self.rows])


def _stored(features: FloatArray, rows: slice | None = None) -> FloatArray | _OnDisk:
    """Say where rows of a table are on disk, or return them where they are in memory."""
    rows = slice(0, len(features)) if rows is None else rows
    mapped: Any = features if isinstance(features, np.memmap) else features.base
    # A view of a part of a file has the offset of the whole; only the whole rests on the file itself.
    # Only what cannot be changed in memory is surely what stands in the file.
    whole = isinstance(mapped, np.memmap) and isinstance(mapped.base, mmap) and mapped.shape == features.shape
    if not whole or mapped.mode != "r" or mapped.filename is None or not mapped.flags.c_contiguous:
        return features[rows]
    return _OnDisk(str(mapped.filename), mapped.offset, mapped.dtype.str, mapped.shape, rows)


def _loaded(stored: FloatArray | _OnDisk) -> FloatArray:
    return stored.load() if isinstance(stored, _OnDisk) else stored


def _scaling_of(stored: FloatArray | _OnDisk, standardised: bool, name: str) -> Scaling:
    return Scaling.of(_loaded(stored), standardised=standardised, name=name)


def _scaled(stored: FloatArray | _OnDisk, scaling: Scaling) -> FloatArray:
    return scaling.apply(_loaded(stored))


def _degrees(weights: SparseMatrix, predictions: FloatArray, others: FloatArray, scale: float) -> FloatArray:
    return joint_degrees(weights, predictions, scale, others=others)


def _normalise(
    weights: SparseMatrix,
    predictions: tuple[FloatArray, FloatArray],
    degrees: tuple[FloatArray, FloatArray],
    scale: float,
) -> SparseMatrix:
    return normalised_affinity(weights, predictions[0], scale, degrees[0], others=(predictions[1], degrees[1]))


def _product(matrix: SparseMatrix, columns: FloatArray) -> FloatArray:
    return np.asarray(matrix @ columns)


def _itself(value: Any) -> Any:
    """As the result of a task a value is made anew should the workers that hold it die."""
    return value


def _assemble(cluster: Cluster, parts: Sequence[Part], rows: int) -> SparseMatrix:
    """Bring all rows of a matrix here."""
    blocks = []
    for part, matrix in zip(parts, cluster.gather([part.matrix for part in parts]), strict=True):
        triple = (matrix.data, part.columns[matrix.indices], matrix.indptr)
        blocks.append(sparse.csr_array(triple, shape=(matrix.shape[0], rows)))
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))
