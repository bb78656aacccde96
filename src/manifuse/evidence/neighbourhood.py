"""Neighbourhood: the main rows and the pairs whose features are most like those of one row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import locate
from manifuse.kernels.sphere import standardise
from manifuse.tables.observations import Observations

#: Nearest rows, and nearest pairs of each reference.
NEAREST, PAIRS = 5, 3


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """What is near a row.

    Attributes
    ----------
    main : Observations
    row : int
    distances : (n,) array
        Of all main rows, in units of the median distance; infinite without features.
    near : (5,) array of int
        The nearest other main rows; fewer if there are fewer.
    """

    main: Observations
    row: int
    distances: FloatArray
    near: IndexArray

    @classmethod
    def of(cls, main: Observations, row: int, *, standardised: bool) -> Neighbourhood:
        """Find what is near a row; ``standardised`` says whether distances are of standardised features."""
        distances = _distances(main, row, standardised=standardised)
        return cls(main, row, distances, _nearest(distances, np.arange(len(main)) != row, NEAREST))

    def pairs(self, keys: NDArray[np.str_]) -> tuple[IndexArray, IndexArray]:
        """The nearest other main rows that a table with ids ``keys`` has too, and its rows; each (3,), or fewer."""
        rows, known = locate(self.main.keys, keys)
        nearest = _nearest(self.distances, known & (np.arange(len(self.main)) != self.row), PAIRS)
        return nearest, rows[nearest]


def percentiles_of(scores: FloatArray) -> FloatArray:
    """Places of scores (n,): 0 for the lowest, 100 for the highest."""
    return np.asarray(100.0 * (rankdata(scores) - 1.0) / max(len(scores) - 1, 1))


def _distances(main: Observations, row: int, *, standardised: bool) -> FloatArray:
    if main.table is None:
        return np.where(np.arange(len(main)) == row, 0.0, np.inf)
    table = standardise(main.table) if standardised else np.asarray(main.table, dtype=np.float64)
    found = np.linalg.norm(table - table[row], axis=1)
    return np.asarray(found / (np.median(found) or 1.0))


def _nearest(distances: FloatArray, among: NDArray[np.bool_], most: int) -> IndexArray:
    rows = np.flatnonzero(among)
    order = rows[np.argsort(distances[rows], kind="stable")]
    return order[np.isfinite(distances[order])][:most]
