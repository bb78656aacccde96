"""Neighbour search, edges and weights of graphs (eq. 14) on torch tensors, on any device.

These functions compute the same as `nearest` and `laplacian` do on arrays, and tests compare them. Every function
takes the module ``torch`` as an argument, so that nothing here imports it.
"""

from types import ModuleType
from typing import Any

import numpy as np

from manifuse.kernels.arrays import IndexArray

Tensor = Any


def nearest_rows(torch: ModuleType, table: Tensor, count: int, *, at_once: int) -> Tensor:
    """Find the ``count`` nearest other rows of every row of ``table`` (n, d), nearest first, shape (n, count).

    It uses matrix products in the precision of ``table``, and computes ``at_once`` distances at a time.
    """
    rows = len(table)
    squares = (table * table).sum(dim=1)
    found = torch.empty((rows, count), dtype=torch.int64, device=table.device)
    size = max(1, at_once // rows)
    for first in range(0, rows, size):
        part = slice(first, min(first + size, rows))
        # The square of the row itself is left out: it is part of all its distances, so their order stays the same.
        distances = torch.addmm(squares, table[part], table.T, alpha=-2.0)
        own = torch.arange(part.start, part.stop, device=table.device)
        distances[own - part.start, own] = torch.inf
        found[part] = torch.topk(distances, count, dim=1, largest=False, sorted=True).indices
    return found


def sort_by_distance(
    torch: ModuleType, table: Tensor, candidates: Tensor, count: int, *, at_once: int
) -> tuple[Tensor, Tensor]:
    """Keep the ``count`` nearest of every row's ``candidates`` (n, more), nearest first, with squared distances."""
    distances = squared_distances(torch, table, candidates, at_once=at_once)
    distances, order = torch.sort(distances, dim=1, stable=True)
    return candidates.gather(1, order)[:, :count], distances[:, :count]


def recall_of(torch: ModuleType, table: Tensor, neighbours: Tensor, rows: IndexArray) -> float:
    """Share of the true neighbours of some rows that are among ``neighbours`` (n, N), in [0, 1].

    The true neighbours are found by differences of rows of ``table``.
    """
    shares = []
    for row in rows.tolist():
        distances = ((table - table[row]) ** 2).sum(dim=1)
        distances[row] = torch.inf
        farthest = torch.topk(distances, neighbours.shape[1], largest=False).values[-1]
        # A row as far as the last true neighbour counts as found, because exact copies cannot be told apart.
        shares.append(float((distances[neighbours[row]] <= farthest).double().mean()))
    return float(np.mean(shares))


def squared_distances(torch: ModuleType, table: Tensor, neighbours: Tensor, *, at_once: int) -> Tensor:
    """Squared distances of every row of ``table`` to its ``neighbours`` (n, N), ``at_once`` differences at a time."""
    distances = torch.empty(neighbours.shape, dtype=table.dtype, device=table.device)
    size = max(1, at_once // (table.shape[1] * neighbours.shape[1]))
    for first in range(0, len(table), size):
        part = slice(first, min(first + size, len(table)))
        difference = table[part, None] - table[neighbours[part]]
        distances[part] = (difference * difference).sum(dim=2)
    return distances


def symmetric_edges(torch: ModuleType, neighbours: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """List the edges of a neighbour table (n, N), row by row; two rows have an edge if either names the other.

    Returns
    -------
    start, stop : (edges,) tensor of int64
    values : (edges,) tensor
        Taken from ``values`` (n, N). Two rows that name each other must give equal values.
    """
    rows = len(neighbours)
    start = torch.arange(rows, device=neighbours.device).repeat_interleave(neighbours.shape[1])
    stop = neighbours.reshape(-1)
    keys, order = torch.sort(torch.cat([start * rows + stop, stop * rows + start]))
    first = torch.ones(len(keys), dtype=torch.bool, device=keys.device)
    first[1:] = keys[1:] != keys[:-1]
    kept = keys[first]
    return kept // rows, kept % rows, values.reshape(-1)[order[first] % len(start)]


def normalise(torch: ModuleType, weights: Tensor, degrees: Tensor, start: Tensor, stop: Tensor) -> Tensor:
    """Entries of ``D^{-1/2} W D^{-1/2}`` (eq. 14); 0 in rows whose weights are all below rounding."""
    isolated = degrees < np.sqrt(np.finfo(np.float64).tiny)
    inverse_root = torch.where(isolated, 0.0, torch.where(isolated, 1.0, degrees).rsqrt())
    return weights * (inverse_root[start] * inverse_root[stop])
