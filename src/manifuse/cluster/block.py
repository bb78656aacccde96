"""ClusterBlock: a block of columns that stays with the workers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manifuse.cluster.connection import Held
from manifuse.cluster.parts import Parts
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix

#: A block that is the sum of more multiples of others than this is added up, so that the others can be forgotten.
TERMS = 8


class ClusterBlock:
    """Columns over the rows of an affinity, as a sum that is added up when it is asked for.

    All that a block is the sum of is one task for each part: a product, the multiple of another block that is taken
    off it, and what is added at single rows. What the workers hold is never changed, for it may be asked for by a
    task that is done again.

    Parameters
    ----------
    parts : Parts
        Of the affinity.
    width : int
        Columns.
    terms : sequence of (float, list of held)
        Multiples of what the parts hold.
    product : (float, list of held) or None
        A multiple of the affinity's product with what the parts hold.
    """

    #: So that a number of NumPy leaves its product with a block to the block.
    __array_ufunc__ = None

    def __init__(
        self,
        parts: Parts,
        width: int,
        terms: Sequence[tuple[float, list[Held]]] = (),
        product: tuple[float, list[Held]] | None = None,
    ) -> None:
        self.width = width
        self._parts = parts
        self._terms = list(terms)
        self._product = product
        self._sources: list[tuple[IndexArray, FloatArray]] = []

    def __rmul__(self, factor: float) -> ClusterBlock:
        return ClusterBlock(self._parts, self.width, [(float(factor), self.held())])

    __mul__ = __rmul__

    def __add__(self, other: ClusterBlock) -> ClusterBlock:
        total = ClusterBlock(self._parts, self.width, self._summed())
        total += other
        return total

    def __iadd__(self, other: ClusterBlock) -> ClusterBlock:
        self._terms = [*self._summed(), *other._summed()]
        if len(self._terms) > TERMS:
            self.held()
        return self

    def add(self, rows: IndexArray, values: FloatArray) -> None:
        """Add ``values`` (p, c) to distinct ``rows`` (p,)."""
        self._sources.append((rows, values))

    def times_affinity(self, factor: float, *, less: ClusterBlock) -> ClusterBlock:
        """Return ``factor`` times the affinity's product with this block, less another block."""
        product = (factor, self.held()) if self._summed() else None
        return ClusterBlock(self._parts, self.width, [(-multiple, held) for multiple, held in less._summed()], product)

    def held(self) -> list[Held]:
        """Futures of the rows of every part."""
        if self._product is None and not self._sources and [factor for factor, _ in self._terms] == [1.0]:
            return self._terms[0][1]
        tasks = self._parts.connection.tasks()
        factor, columns = (0.0, None) if self._product is None else self._product
        factors = [factor for factor, _ in self._terms]
        sources = [(self._parts.owners(rows), rows, values) for rows, values in self._sources]
        around = [[] for _ in self._parts] if columns is None else self._parts.exchange(tasks, columns)
        keys = []
        for number, part in enumerate(self._parts):
            added = [
                [rows[owners == number] - part.rows.start, values[owners == number]]
                for owners, rows, values in sources
            ]
            pieces = [term[number] for _, term in self._terms]
            keys.append(
                tasks.add(part.home, add_up, self.width, part.matrix, factor, around[number], factors, pieces, added)
            )
        total = tasks.start(keys)
        self._terms, self._product, self._sources = [(1.0, total)], None, []
        return total

    def _summed(self) -> list[tuple[float, list[Held]]]:
        """Multiples of what the parts hold that it is the sum of, and of nothing else."""
        if self._product is not None or self._sources:
            self.held()
        return self._terms


def add_up(
    width: int,
    matrix: SparseMatrix,
    factor: float,
    around: list[FloatArray],
    factors: list[float],
    pieces: list[FloatArray],
    added: list[list[FloatArray]],
) -> FloatArray:
    """Add up the rows that one part has of a block.

    Parameters
    ----------
    width : int
        Columns.
    matrix : (rows, c) CSR array
    factor : float
    around : list of (b, width) array
        Together the c rows that ``factor`` times the matrix is to be multiplied with; empty without a product.
    factors : list of float
    pieces : list of (rows, width) array
        What these are the factors of.
    added : list of [(p,) array of int, (p, width) array]
        Numbers to add, and the rows that they are added to.
    """
    total = matrix @ np.concatenate(around) if around else np.zeros((matrix.shape[0], width))
    if around:
        total *= factor
    for multiple, piece in zip(factors, pieces, strict=True):
        total += multiple * piece
    for rows, values in added:
        total[rows] += values
    return np.asarray(total)
