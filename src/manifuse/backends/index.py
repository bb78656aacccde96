"""Index: the nearest rows of a fitted table, for rows that it does not have."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Self

import numpy as np
from sklearn.neighbors import NearestNeighbors

from manifuse.backends.neighbours import Order, Scaling
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.laplacian import squared_distances
from manifuse.kernels.nearest import cells_of, nearest_in_cells

#: From so many rows on, rows are put into cells if faiss is installed; smaller tables are searched exactly.
IN_CELLS = 5_000

#: Neighbours for which cells are measured.
MEASURED = 10


@dataclass(frozen=True, eq=False)
class Index:
    """An index of the rows of a table, built once.

    Attributes
    ----------
    scaling : Scaling
        Of the table's features.
    order : Order
        In which the table is searched.
    rows : (n, d) array
        The features in that order, scaled.
    find : callable
        Takes scaled rows (q, d) and a count; returns the places of their nearest rows, (q, count).
    """

    scaling: Scaling
    order: Order
    rows: FloatArray
    find: Callable[[FloatArray, int], IndexArray]

    @classmethod
    def of(cls, table: FloatArray, order: Order, *, standardised: bool, name: str) -> Self:
        """Index a table (n, d) of features. Its order decides which rows are found where several are equally near.

        Raises
        ------
        InputError
            If all rows are the same point, or sums leave the range of numbers.
        """
        table = table[order.rows]
        scaling = Scaling.of(table, standardised=standardised, name=name)
        rows = np.take(scaling.apply(table), order.columns, axis=1)
        in_cells = len(rows) >= IN_CELLS and find_spec("faiss") is not None
        return cls(scaling, order, rows, _in_cells(rows) if in_cells else _exactly(rows))

    def column(self, number: int) -> FloatArray:
        """One column of the table, scaled (n,)."""
        return np.asarray(self.rows[:, np.argsort(self.order.columns)[number]])

    def nearest(self, features: FloatArray, count: int) -> tuple[FloatArray, IndexArray]:
        """Find the nearest rows of the table.

        Parameters
        ----------
        features : (q, d) array
            As they came.
        count : int

        Returns
        -------
        squares : (q, count) array
            Squared distances, from differences in double precision; the smallest first.
        indices : (q, count) array of int
        """
        scaled = np.take(self.scaling.apply(features), self.order.columns, axis=1)
        indices = self.find(scaled, count)
        squares = squared_distances(scaled, self.rows, indices)
        rising = np.argsort(squares, axis=1, kind="stable")
        return np.take_along_axis(squares, rising, 1), self.order.rows[np.take_along_axis(indices, rising, 1)]


def _exactly(rows: FloatArray) -> Callable[[FloatArray, int], IndexArray]:
    search = NearestNeighbors(algorithm="brute").fit(rows)
    return lambda scaled, count: np.asarray(search.kneighbors(scaled, count, return_distance=False))


def _in_cells(rows: FloatArray) -> Callable[[FloatArray, int], IndexArray]:
    # In single precision squares are in range up to 1e18; rows that far from all others have no true neighbour.
    largest = float(np.abs(rows).max())

    def narrow(scaled: FloatArray) -> FloatArray:
        return np.asarray(np.clip(scaled / largest, -1e9, 1e9), dtype=np.float32)

    index, _ = cells_of(narrow(rows), MEASURED, faiss=import_module("faiss"), rng=np.random.default_rng(0))
    return lambda scaled, count: nearest_in_cells(index, narrow(scaled), count)
