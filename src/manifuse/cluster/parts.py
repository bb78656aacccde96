"""Parts: a sparse matrix in blocks of rows, each with a worker, which get from each other what their columns name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sparse

from manifuse.cluster.connection import Connection, Held, Tasks
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.rows import row_block

#: Rows that a part has at least: below it takes longer to schedule than to work on.
ROWS = 5_000


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a matrix.

    Attributes
    ----------
    rows : slice
    home : str
        Address of the worker that is to have them.
    matrix : future of (rows, c) CSR array
    columns : future of (c,) array of int
        Those of the whole matrix that the rows have entries in, and their own, sorted.
    borders : tuple of (int, future of (b,) array of int or None)
        The parts whose rows these columns are, and which of their rows; None for the part itself, all of whose rows
        are among them.
    """

    rows: slice
    home: str
    matrix: Held
    columns: Held
    borders: tuple[tuple[int, Held | None], ...]


class Parts:
    """A square matrix by parts; columns over its rows are lists of what each part has of them.

    Parameters
    ----------
    connection : Connection
    parts : sequence of Part
    """

    def __init__(self, connection: Connection, parts: Sequence[Part]) -> None:
        self.connection = connection
        self._parts = tuple(parts)
        self._starts = np.array([part.rows.start for part in parts])
        self.rows = parts[-1].rows.stop

    @classmethod
    def cut(cls, connection: Connection, matrix: SparseMatrix) -> Parts:
        """Give the rows of a matrix to the workers, a block for each thread.

        More blocks would have more borders, and be no more even: in a recurrence each waits for the others.
        """
        connection.demand_workers()
        threads = connection.threads()
        count = max(1, min(len(threads), matrix.shape[0] // ROWS))
        bounds = np.linspace(0, matrix.shape[0], count + 1).astype(int)
        tasks = connection.tasks()
        homes = [threads[number * len(threads) // count] for number in range(count)]
        cut: list[tuple[slice, list[int]]] = []
        wanted: list[Held] = []
        for number, (first, last) in enumerate(pairwise(bounds.tolist())):
            block = row_block(matrix, slice(first, last))
            columns = np.union1d(block.indices, np.arange(first, last, dtype=block.indices.dtype))
            triple = (block.data, np.searchsorted(columns, block.indices).astype(columns.dtype), block.indptr)
            local = sparse.csr_array(triple, shape=(last - first, len(columns)))
            # As the result of a task it is made anew should the workers that hold it die.
            wanted += [tasks.add(homes[number], _itself, local), tasks.add(homes[number], _itself, columns)]
            stops = np.searchsorted(columns, bounds)
            owners = np.flatnonzero(np.diff(stops)).tolist()
            for owner in owners:
                if owner != number:
                    rows = columns[stops[owner] : stops[owner + 1]] - bounds[owner]
                    wanted.append(tasks.add(homes[owner], _itself, rows))
            cut.append((slice(first, last), owners))
        futures = iter(tasks.start(wanted))
        return cls(
            connection,
            [
                Part(
                    rows,
                    homes[number],
                    next(futures),
                    next(futures),
                    tuple((owner, None if owner == number else next(futures)) for owner in owners),
                )
                for number, (rows, owners) in enumerate(cut)
            ],
        )

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def holding(self, matrices: Sequence[Held]) -> Parts:
        """Parts of another matrix, with entries in the same places."""
        parts = [replace(part, matrix=matrix) for part, matrix in zip(self._parts, matrices, strict=True)]
        return Parts(self.connection, parts)

    def send(self, tasks: Tasks, values: FloatArray) -> list[Held]:
        """Give every part its rows of ``values`` (n, ...)."""
        return [tasks.add(part.home, _itself, np.array(values[part.rows], dtype=np.float64)) for part in self._parts]

    def exchange(self, tasks: Tasks, pieces: Sequence[Held]) -> list[list[Held]]:
        """For every part, its columns' rows of what the parts hold: its own, and from others only those it needs."""
        return [
            [
                pieces[owner] if rows is None else tasks.add(self._parts[owner].home, take_rows, pieces[owner], rows)
                for owner, rows in part.borders
            ]
            for part in self._parts
        ]

    def owners(self, rows: IndexArray) -> IndexArray:
        """Part of each of some rows."""
        return np.searchsorted(self._starts, rows, side="right") - 1

    def gather(self, pieces: Sequence[Held]) -> FloatArray:
        """Bring all rows of what the parts hold here."""
        return np.concatenate(self.connection.gather(pieces))

    def whole(self) -> SparseMatrix:
        """Bring all rows of the matrix here."""
        gathered = self.connection.gather([held for part in self._parts for held in (part.matrix, part.columns)])
        blocks = [
            sparse.csr_array((matrix.data, columns[matrix.indices], matrix.indptr), shape=(matrix.shape[0], self.rows))
            for matrix, columns in zip(gathered[::2], gathered[1::2], strict=True)
        ]
        return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def take_rows(piece: FloatArray, rows: IndexArray) -> FloatArray:
    """Rows of what a part holds."""
    return piece[rows]


def _itself(value: Any) -> Any:
    return value
