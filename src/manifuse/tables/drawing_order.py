"""The order in which rows of a table are drawn: the rows themselves give it."""

import numpy as np

from manifuse.kernels.arrays import FloatArray, IndexArray, order_of_rows, without_rounding
from manifuse.tables.observations import Observations


def order_of(table: Observations, rows: IndexArray) -> IndexArray:
    """Put some rows of a table in their order; return positions among them. See `order_of_rows`."""
    return order_of_rows(rows, ordering_scores(table), table.keys, table.table, columns_by_name(table))


def columns_by_name(table: Observations) -> IndexArray | None:
    """Places of the features in the order of their names; None if they have no names."""
    return None if table.feature_names is None else np.argsort(table.feature_names)


def ordering_scores(table: Observations) -> FloatArray:
    """The scores (n,) or (n, c) by which rows are ordered.

    Of more than two classes these are the logarithms of all probabilities, the largest first, so that the names of
    the classes do not matter.
    """
    if table.classes is None or len(table.classes) == 2:
        return table.scores
    return -np.sort(-without_rounding(table.classes.logarithms(table.scores)), axis=1)


def places_of(table: Observations) -> IndexArray:
    """The place of every row (n,) of a table in that order."""
    return np.argsort(order_of(table, np.arange(len(table))))
