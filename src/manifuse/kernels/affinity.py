"""Affinity: a graph's normalised affinity as the diffusions see it, wherever its edges are kept.

The diffusions are written once, in blocks of columns. An affinity keeps such blocks in its own order of rows, as its
own kind of array and on its own device; vectors of the table `enter` a block and `leave` it. Every backend has its
own affinity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix

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
        """Return a block's values, shape (n, c), in the order of the table; the block must not be used afterwards."""

    @abstractmethod
    def zeros(self, columns: int) -> Block:
        """Return a block of zeros."""

    @abstractmethod
    def add(self, block: Block, rows: IndexArray, values: FloatArray) -> None:
        """Add ``values`` (p, c) to distinct ``rows`` (p,) of the table."""

    @abstractmethod
    def take(self, block: Block, rows: IndexArray) -> FloatArray:
        """Copy ``rows`` (p,) of the table out of a block, shape (p, c)."""

    @abstractmethod
    def recur(self, current: Block, previous: Block, factor: float) -> Block:
        """Compute ``factor * (S @ current) - previous``, in the memory of ``previous``."""

    @abstractmethod
    def matrix(self) -> SparseMatrix:
        """Return all entries, in the order of the table."""
