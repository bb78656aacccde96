"""ClusterAffinity: an affinity whose entries and blocks of columns stay with the workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manifuse.cluster.block import ClusterBlock
from manifuse.cluster.connection import Connection, Held
from manifuse.cluster.parts import Parts, take_rows
from manifuse.kernels.affinity import Affinity
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.rows import from_order, in_order, inverse_order


class ClusterAffinity(Affinity):
    """An affinity whose rows the workers keep, and blocks of columns with them.

    A recurrence is told to the scheduler without waiting for it; only what `leave` gives back, and what `take` took
    where it is looked at, comes here.

    Parameters
    ----------
    parts : Parts
    order : (n,) array of int or None
        As in `HostGraph`.
    """

    def __init__(self, parts: Parts, order: IndexArray | None) -> None:
        self.shape = (parts.rows, parts.rows)
        self._parts = parts
        self._order = order
        self._inverse = None if order is None else inverse_order(order)

    def enter(self, values: FloatArray) -> ClusterBlock:
        """Give every part its rows; see `Affinity.enter`."""
        tasks = self._parts.connection.tasks()
        sent = self._parts.send(tasks, values if self._order is None else values[self._order])
        return ClusterBlock(self._parts, values.shape[1], [(1.0, tasks.start(sent))])

    def leave(self, block: ClusterBlock) -> FloatArray:
        """Wait for all rows; see `Affinity.leave`."""
        values = self._parts.gather(block.held())
        return values if self._order is None else from_order(values, self._order)

    def zeros(self, columns: int) -> ClusterBlock:
        """Return the sum of nothing; see `Affinity.zeros`."""
        return ClusterBlock(self._parts, columns)

    def add(self, block: ClusterBlock, rows: IndexArray, values: FloatArray) -> None:
        """Add to rows; see `Affinity.add`."""
        block.add(self._places(rows), values)

    def take(self, block: ClusterBlock, rows: IndexArray) -> Taken:
        """Ask for rows, and return what waits for them where it is looked at; see `Affinity.take`."""
        places = self._places(rows)
        owners = self._parts.owners(places)
        held, tasks = block.held(), self._parts.connection.tasks()
        order = np.argsort(owners, kind="stable")
        keys = [
            tasks.add(part.home, take_rows, held[number], places[owners == number] - part.rows.start)
            for number, part in enumerate(self._parts)
            if (owners == number).any()
        ]
        return Taken(self._parts.connection, tasks.start(keys), order)

    def recur(self, current: ClusterBlock, previous: ClusterBlock, factor: float) -> ClusterBlock:
        """Take one step of a three-term recurrence; see `Affinity.recur`."""
        return current.times_affinity(factor, less=previous)

    def matrix(self) -> SparseMatrix:
        """Return all entries; see `Affinity.matrix`."""
        whole = self._parts.whole()
        return whole if self._inverse is None else in_order(whole, self._inverse)

    def _places(self, rows: IndexArray) -> IndexArray:
        return rows if self._inverse is None else np.asarray(self._inverse[rows])


class Taken:
    """Rows that were asked for; an array where one is wanted.

    Parameters
    ----------
    connection : Connection
    pieces : sequence of future of (p, c) array
    order : (rows,) array of int
        Place of each row of the pieces among those that were asked for.
    """

    def __init__(self, connection: Connection, pieces: Sequence[Held], order: IndexArray) -> None:
        self._connection = connection
        self._pieces = pieces
        self._order = order

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        del copy
        pieces = np.concatenate(self._connection.gather(self._pieces))
        rows = np.empty_like(pieces, dtype=dtype)
        rows[self._order] = pieces
        return rows
