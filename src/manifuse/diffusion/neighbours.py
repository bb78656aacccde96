"""Neighbours: which rows of a feature table are near each other, searched or given."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from manifuse.diffusion.containers import to_numpy
from manifuse.errors import InputError, ManifuseWarning, require
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.columns import means_and_deviations, rescale
from manifuse.kernels.laplacian import squared_distances
from manifuse.kernels.neighbours import approximate_neighbours, exact_is_affordable, exact_neighbours

Search = Literal["auto", "exact", "approximate"]

#: Recall below which the user is warned that the neighbour search missed too much.
LEAST_RECALL = 0.95

#: Distances that are given may be as large as this: their squares are in range.
LARGEST_DISTANCE = 1e150


@dataclass(frozen=True, eq=False)
class Scaling:
    """Features as distances see them: centred, so that no offset costs digits, and standardised or not.

    Attributes
    ----------
    means, deviations : (d,) array
        Of the columns; deviations are 0 for constant ones.
    divisors : (d,) array
        Standard deviations, or ones; infinite for constant columns, which then count nothing.
    standardised : bool
    """

    means: FloatArray
    deviations: FloatArray
    divisors: FloatArray
    standardised: bool

    @classmethod
    def of(cls, features: FloatArray, *, standardised: bool, name: str) -> Scaling:
        """Look at the columns of ``features`` (n, d).

        Raises
        ------
        InputError
            If all rows are the same point, so that there are no neighbours to speak of; or sums leave the range of
            numbers.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            means, deviations = means_and_deviations(features)
        if not np.isfinite(means + deviations).all():
            raise InputError(f"The features of {name} leave the range of numbers when added up; scale them.")
        if not deviations.any():
            raise InputError(
                f"All feature rows of {name} are equal, so they say nothing about which rows are alike; "
                "give other features, or none if all ids are common."
            )
        ones = np.ones(len(means))
        return cls(
            means, deviations, np.where(deviations > 0, deviations, np.inf) if standardised else ones, standardised
        )

    def apply(self, features: FloatArray) -> FloatArray:
        """Scale rows (q, d) of the table or of any other with its columns."""
        return rescale(features, self.means, self.divisors, np.float64)

    def narrow(self, features: FloatArray) -> FloatArray:
        """Scale a table (n, d) to single precision, its widest column to deviation 1: squares stay in range."""
        spreads = np.where(np.isfinite(self.divisors), self.deviations / self.divisors, 0.0)
        return rescale(features, self.means, self.divisors * spreads.max(), np.float32)

    def squared_distances(self, features: FloatArray, indices: IndexArray) -> FloatArray:
        """Squared distances of rows of ``features`` (n, d) to others of them (n, N), in double precision."""
        start = np.repeat(np.arange(len(indices)), indices.shape[1])
        return squared_distances(features, start, indices.ravel(), self.divisors).reshape(indices.shape)


@dataclass(frozen=True)
class Query:
    """What is asked of a neighbour search.

    Attributes
    ----------
    count : int
        Neighbours of every row, at least 1; all others where there are fewer.
    standardised : bool
        Bring every column to mean 0 and standard deviation 1 first; constant columns then count nothing.
    name : str
        What the table is called in messages.
    search : {"auto", "exact", "approximate"}
        ``"auto"`` is exact while n² d stays within 5e11 multiply-adds.
    """

    count: int
    standardised: bool
    name: str = "table"
    search: Search = "auto"


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest neighbours of every row of a feature table: searched once, shared by every graph on it.

    Attributes
    ----------
    indices : (n, N) array of int
        Other rows, nearest first, so that the first columns are the table of a smaller N.
    distances : (n, N) array
        Squared distances to them.
    recall : float
        Share of the true neighbours found, 1 for exact search, else measured on a sample.
    standardised : bool or None
        Whether features were, before distances were taken; None where the neighbours were given.
    """

    indices: IndexArray
    distances: FloatArray
    recall: float
    standardised: bool | None

    @classmethod
    def of(cls, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Search the nearest rows of every row.

        Parameters
        ----------
        features : (n, d) array
        query : Query
        rng : numpy.random.Generator
            Draws the sample on which the recall is measured.

        Raises
        ------
        InputError
            If all rows are the same point, so that there are no neighbours to speak of.
        MissingExtraError
            If approximate search is called for and faiss is not installed.
        """
        scaling = Scaling.of(features, standardised=query.standardised, name=query.name)
        count = min(query.count, len(features) - 1)
        recall = 1.0
        if is_exact(features, query.search):
            indices = exact_neighbours(scaling.apply(features), count)
        else:
            purpose = f"Approximate neighbour search over {len(features):,} rows"
            faiss = require("faiss", extra="neighbours", purpose=purpose)
            indices, recall = approximate_neighbours(scaling.narrow(features), count, faiss=faiss, rng=rng)
            warn_of_recall(recall, query.name)
        return cls(indices, scaling.squared_distances(features, indices), recall, query.standardised)

    @property
    def count(self) -> int:
        """Neighbours of every row (N)."""
        return int(self.indices.shape[1])


def given_neighbours(given: Any, rows: int, *, name: str) -> Neighbours:
    """Check neighbours that a table of so many rows came with.

    Parameters
    ----------
    given : (rows, rows) sparse array of distances, or pair of (rows, N) arrays: distances and row numbers
    rows : int
    name : str
        What the table is called in messages.

    Raises
    ------
    InputError
        If they are of another kind or size, or a row has none.
    """
    start, indices, distances = _entries_of(given, rows, name)
    if indices.dtype.kind not in "iu" or indices.min(initial=0) < 0 or indices.max(initial=0) >= rows:
        raise InputError(f"The neighbours of {name} name rows that are not there; number them from 0 to {rows - 1}.")
    if distances.dtype.kind not in "iuf" or not bool(np.all((distances >= 0) & (distances <= LARGEST_DISTANCE))):
        raise InputError(
            f"The distances of {name}'s neighbours must be at least 0 and have squares in range; mend them."
        )
    others = indices != start
    start, indices, distances = start[others], indices[others], distances[others].astype(np.float64)
    # A neighbour that is named twice counts once, with the smaller distance.
    order = np.lexsort((distances, indices, start))
    keys = (start * rows + indices)[order]
    first = np.append(True, keys[1:] != keys[:-1]) if len(keys) else np.empty(0, dtype=bool)
    keys, distances = keys[first], distances[order][first]
    # Where each of two rows names the other, both have the smaller of their distances, so that the graph is symmetric.
    other_way = keys % rows * rows + keys // rows
    places = np.minimum(np.searchsorted(keys, other_way), max(len(keys) - 1, 0))
    mutual = keys[places] == other_way
    distances = np.where(mutual, np.minimum(distances, distances[places]), distances)
    start, indices = keys // rows, keys % rows
    count = int(np.bincount(start, minlength=rows).min())
    if count == 0:
        raise InputError(f"Some rows of {name} came without neighbours; each needs at least one that is not itself.")
    order = np.lexsort((distances, start))
    begin = np.searchsorted(start[order], np.arange(rows))
    nearest = order[begin[:, None] + np.arange(count)]
    return Neighbours(indices[nearest].astype(np.intp), distances[nearest] ** 2, 1.0, None)


def _entries_of(given: Any, rows: int, name: str) -> tuple[IndexArray, NDArray[Any], NDArray[Any]]:
    """Row, neighbour and distance of everything that was given, row by row."""
    if sparse.issparse(given):
        matrix: Any = sparse.csr_array(given)  # type: ignore[call-overload]
        if matrix.shape != (rows, rows):
            raise InputError(
                f"The neighbours of {name} came with shape {matrix.shape}, but ({rows}, {rows}) was expected: a row "
                "and a column for every row of the table."
            )
        return np.repeat(np.arange(rows), np.diff(matrix.indptr)), matrix.indices, matrix.data
    try:
        distances, indices = (to_numpy(part, what=f"The neighbours of {name}") for part in given)
    except (TypeError, ValueError):
        raise InputError(
            f"The neighbours of {name} came as {type(given).__name__}, but a sparse array of distances, or a pair of "
            "distances and row numbers was expected."
        ) from None
    if indices.ndim != 2 or indices.shape != distances.shape or len(indices) != rows:
        raise InputError(
            f"The neighbours of {name} came with shapes {distances.shape} and {indices.shape}, but two of ({rows}, N) "
            "were expected: distances and row numbers."
        )
    return np.repeat(np.arange(rows), len(indices[0])), indices.ravel(), distances.ravel()


def is_exact(features: FloatArray, search: Search) -> bool:
    """Whether a table is searched exactly."""
    return search == "exact" or (search == "auto" and exact_is_affordable(features))


def warn_of_recall(recall: float, name: str) -> None:
    """Warn of a search that missed too much."""
    if recall < LEAST_RECALL:
        warnings.warn(
            f"The neighbour search over {name} found {recall:.0%} of the true neighbours; project the features "
            "to fewer dimensions, or ask for exact search.",
            ManifuseWarning,
            stacklevel=4,
        )
