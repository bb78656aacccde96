"""Setup: what a run is given, once it is checked."""

from dataclasses import dataclass

import numpy as np

from manifuse.backends.backend import Backend
from manifuse.backends.neighbours import Neighbours, Order, Query
from manifuse.diffusion.algorithm1 import Algorithm1, choices
from manifuse.kernels.arrays import IndexArray
from manifuse.kernels.randomness import Stream, generator
from manifuse.tables.drawing_order import columns_by_name, order_of
from manifuse.tables.observations import Observations
from manifuse.tables.problem import Problem


def search_order(table: Observations) -> Order:
    """The order in which a table with features is searched: rows as they are drawn, columns by their names."""
    assert table.table is not None, "it has features"
    columns = columns_by_name(table)
    if columns is None:
        columns = np.arange(table.table.shape[1])
    return Order(order_of(table, np.arange(len(table))), columns)


@dataclass(frozen=True, eq=False)
class Setup:
    """A problem, with the algorithm, the seed and the backend that a run solves it by.

    Attributes
    ----------
    problem : Problem
    algorithm : Algorithm1
    seed : int
    backend : Backend
    own_graph : bool
        Whether the main table has a graph though no bridge needs one.
    """

    problem: Problem
    algorithm: Algorithm1
    seed: int
    backend: Backend
    own_graph: bool = False

    def search(self, table: Observations, *, standardised: bool, rng: np.random.Generator) -> Neighbours:
        """Find the neighbours of every row of a table.

        Parameters
        ----------
        table : Observations
            With features.
        standardised : bool
            Whether features are standardised first.
        rng : numpy.random.Generator
            Draws the sample on which the recall is measured.
        """
        assert table.table is not None, "tables without a graph were refused"
        order = search_order(table)
        features = table.table[np.ix_(*order)]
        query = Query(max(choices(self.algorithm.neighbours)), standardised, table.name, self.algorithm.search)
        return self.backend.search(features, query, rng).undo(order)

    def folds(self) -> list[IndexArray]:
        """Put the pairs of every reference into folds of nearly equal size, an array (p,) of fold numbers each."""
        return [
            generator(self.seed, Stream.FOLDS).permutation(np.arange(len(reference.main_rows)) % self.algorithm.folds)
            for reference in self.problem.references
        ]
