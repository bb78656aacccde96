"""Affinity: a graph's normalised affinity as the diffusions see it, wherever its edges are kept.

The diffusions hold blocks of columns in the affinity's own order of rows, kind of array and place; vectors of the
table `enter` and `leave`. What is written for the one works for all: SciPy on this machine, torch on a graphics card,
workers elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.blocks import in_blocks
from manifuse.kernels.compiled import PairStep
from manifuse.kernels.rows import from_order, in_order, inverse_order, row_block

#: A block of columns, (n, c), of whatever kind the affinity works with; it knows ``+``, ``*`` and ``+=``.
Block = Any


class Affinity(ABC):
    """``S = D^{-1/2} W D^{-1/2}`` of shape (n, n), symmetric, spectrum in [-1, 1].

    Attributes
    ----------
    shape : (n, n)
    pairwise : bool
        Whether two columns at a time are as fast as many at once; they take less memory.
    """

    shape: tuple[int, int]
    pairwise: bool = False

    @abstractmethod
    def enter(self, values: FloatArray) -> Block:
        """Copy ``values`` (n, c), in the order of the table, to a block."""

    @abstractmethod
    def leave(self, block: Block) -> FloatArray:
        """Give a block back, shape (n, c), in the order of the table; the block is used no more."""

    @abstractmethod
    def zeros(self, columns: int) -> Block:
        """Return a block of zeros."""

    @abstractmethod
    def add(self, block: Block, rows: IndexArray, values: FloatArray) -> None:
        """Add ``values`` (p, c) to distinct ``rows`` (p,) of the table."""

    @abstractmethod
    def take(self, block: Block, rows: IndexArray) -> ArrayLike:
        """Copy ``rows`` (p,) of the table out of a block, shape (p, c), to what is an array when looked at."""

    @abstractmethod
    def recur(self, current: Block, previous: Block, factor: float) -> Block:
        """Compute ``factor * (S @ current) - previous``, in the memory of ``previous``."""

    @abstractmethod
    def matrix(self) -> SparseMatrix:
        """Return all entries, in the order of the table."""


class SparseAffinity(Affinity):
    """An affinity in this machine's memory.

    Parameters
    ----------
    matrix : (n, n) CSR array
        In the order of ``order``.
    order : (n,) array of int, optional
        The table's row of each row of ``matrix``; the table's own order if not given.
    threads : int
        That share the rows of a product.
    pair_step : callable, optional
        Does the work of blocks of two columns.
    """

    def __init__(
        self,
        matrix: SparseMatrix,
        order: IndexArray | None = None,
        *,
        threads: int = 1,
        pair_step: PairStep | None = None,
    ) -> None:
        self.shape = (matrix.shape[0], matrix.shape[0])
        self._matrix = matrix
        self._order = order
        self._threads = threads
        self._pair_step = pair_step
        self.pairwise = pair_step is not None

    @cached_property
    def inverse(self) -> IndexArray | None:
        """Row of a block of each of the table's rows, shape (n,); None where they are the same."""
        return None if self._order is None else inverse_order(self._order)

    def enter(self, values: FloatArray) -> FloatArray:
        """Copy to a block; see `Affinity.enter`."""
        if self._order is None:
            return np.array(values, dtype=np.float64)
        return np.asarray(values[self._order], dtype=np.float64)

    def leave(self, block: FloatArray) -> FloatArray:
        """Copy back, or give the block itself where its order is the table's; see `Affinity.leave`."""
        return block if self._order is None else from_order(block, self._order)

    def zeros(self, columns: int) -> FloatArray:
        """Return a block of zeros; see `Affinity.zeros`."""
        return np.zeros((self.shape[0], columns))

    def add(self, block: FloatArray, rows: IndexArray, values: FloatArray) -> None:
        """Add to rows; see `Affinity.add`."""
        block[self._places(rows)] += values

    def take(self, block: FloatArray, rows: IndexArray) -> FloatArray:
        """Copy rows; see `Affinity.take`."""
        return np.asarray(block[self._places(rows)])

    def recur(self, current: FloatArray, previous: FloatArray, factor: float) -> FloatArray:
        """Take one step of a three-term recurrence; see `Affinity.recur`."""
        if self._pair_step is not None and current.shape[1] == 2:
            self._pair_step(self._matrix, current, previous, factor, self._threads)
            return previous

        def step(rows: slice) -> None:
            product = row_block(self._matrix, rows) @ current
            product *= factor
            np.subtract(product, previous[rows], out=previous[rows])

        in_blocks(step, self.shape[0], threads=self._threads)
        return previous

    def matrix(self) -> SparseMatrix:
        """Return all entries; see `Affinity.matrix`."""
        return self._matrix if self.inverse is None else in_order(self._matrix, self.inverse)

    def _places(self, rows: IndexArray) -> IndexArray:
        return rows if self.inverse is None else np.asarray(self.inverse[rows])
