"""Neighbours: which rows of a feature table are near each other, and the units in which distances are taken."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, Self

import numpy as np

from manifuse.errors import InputError, warn
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.feature_blocks import means_and_deviations, rescale

Search = Literal["auto", "exact", "approximate"]

#: The user is warned if a search finds a smaller share of the true neighbours than this.
LEAST_RECALL = 0.95


#: Scaled features of later rows that are farther than this count as this far, so that their squares stay in range.
FARTHEST = 1e100


class Order(NamedTuple):
    """An order in which a table is searched. It does not depend on how its rows and columns came.

    Where rows are equally far from a row, it decides which of them are its neighbours.

    Attributes
    ----------
    rows : (n,) array of int
    columns : (d,) array of int
    """

    rows: IndexArray
    columns: IndexArray


@dataclass(frozen=True)
class Query:
    """What is asked of a neighbour search.

    Attributes
    ----------
    count : int
        Neighbours of every row, at least 1; tables with fewer rows use all others.
    standardised : bool
        Whether every column is brought to mean 0 and standard deviation 1 first; constant columns then count nothing.
    name : str
        What the table is called in messages.
    search : {"auto", "exact", "approximate"}
        With ``"auto"`` the backend decides by the size of the table.
    """

    count: int
    standardised: bool
    name: str = "table"
    search: Search = "auto"


@dataclass(frozen=True, eq=False)
class Scaling:
    """Features as distances see them: centred, so that no offset costs digits, and standardised or not.

    Attributes
    ----------
    means, deviations : (d,) array
        Of the columns; the deviation of a constant column is 0.
    divisors : (d,) array
        Standard deviations, or one number for all columns: the power of two below the largest of them, so that squares
        stay in range. A constant column has an infinite divisor and so counts nothing, in later rows, too.
    standardised : bool
    """

    means: FloatArray
    deviations: FloatArray
    divisors: FloatArray
    standardised: bool

    @classmethod
    def of(cls, features: FloatArray, *, standardised: bool, name: str) -> Self:
        """Measure the columns of ``features`` (n, d).

        Raises
        ------
        InputError
            If all rows are the same point and so have no neighbours, or if sums leave the range of numbers.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            means, deviations = means_and_deviations(features)
        if not np.isfinite(means + deviations).all():
            raise InputError(f"The features of {name} leave the range of numbers when added up; scale them.")
        if not deviations.any():
            raise InputError(
                f"All feature rows of {name} are equal, so they do not tell which rows are alike; "
                "give other features, or leave features out if all ids are common."
            )
        divisors = deviations if standardised else np.exp2(np.floor(np.log2(deviations.max())))
        divisors = np.where(deviations > 0, divisors, np.inf)
        return cls(means, deviations, divisors, standardised)

    def apply(self, features: FloatArray) -> FloatArray:
        """Scale rows (q, d) of the table, or of another table with the same columns, up to `FARTHEST`."""
        with np.errstate(over="ignore"):
            scaled = rescale(features, self.means, self.divisors, np.float64)
        return np.clip(scaled, -FARTHEST, FARTHEST, out=scaled)

    def narrow(self, features: FloatArray) -> FloatArray:
        """Scale a table (n, d) to single precision; its widest column gets deviation 1, so squares stay in range."""
        spreads = np.where(np.isfinite(self.divisors), self.deviations / self.divisors, 0.0)
        return rescale(features, self.means, self.divisors * spreads.max(), np.float32)


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
        Share of the true neighbours found, in [0, 1]: 1 for exact search, else measured on a sample.
    standardised : bool
        Whether the features were standardised before distances were taken.
    """

    indices: IndexArray
    distances: FloatArray
    recall: float
    standardised: bool

    def undo(self, order: Order) -> Self:
        """Return them by the rows of the table as it was before it was brought into an order to be searched."""
        places = np.argsort(order.rows)
        return replace(self, indices=order.rows[self.indices[places]], distances=self.distances[places])


def warn_of_recall(recall: float, name: str) -> None:
    """Warn of a search that missed too many neighbours."""
    if recall < LEAST_RECALL:
        warn(
            "missed_neighbours",
            f"The neighbour search over {name} found {recall:.0%} of the true neighbours; project the features "
            "to fewer dimensions, or ask for exact search.",
        )
