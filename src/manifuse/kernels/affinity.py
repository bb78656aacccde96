"""Affinity: a graph's normalised affinity, through which the diffusions use every backend.

The diffusions are written once, in blocks of columns. Every backend has its own affinity, which chooses the kind of
array and the device of its blocks. `enter` copies columns of the table into a block, and `leave` returns them.
"""

from abc import ABC, abstractmethod
from typing import Any

from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix

#: A block of columns, (n, c), of the affinity's own kind of array; it has the operators ``+``, ``*`` and ``+=``.
Block = Any


class Affinity(ABC):
    """``S = D^{-1/2} W D^{-1/2}`` (eq. 14: the Laplacian is ``I - S``), symmetric, with its spectrum in [-1, 1].

    Attributes
    ----------
    shape : (n, n)
    """

    shape: tuple[int, int]

    @abstractmethod
    def enter(self, values: FloatArray) -> Block:
        """Copy ``values`` (n, c) to a block."""

    @abstractmethod
    def leave(self, block: Block) -> FloatArray:
        """Return a block's values (n, c). The block must not be used afterwards."""

    @abstractmethod
    def zeros(self, columns: int) -> Block:
        """Return a block of zeros with so many columns."""

    @abstractmethod
    def add(self, block: Block, rows: IndexArray, values: FloatArray) -> None:
        """Add ``values`` (p, c) to distinct ``rows`` (p,)."""

    @abstractmethod
    def take(self, block: Block, rows: IndexArray) -> FloatArray:
        """Copy ``rows`` (p,) out of a block, shape (p, c)."""

    @abstractmethod
    def recur(self, current: Block, previous: Block, factor: float) -> Block:
        """Compute ``factor * (S @ current) - previous``, in the memory of ``previous``."""

    @abstractmethod
    def matrix(self) -> SparseMatrix:
        """Return all entries."""
