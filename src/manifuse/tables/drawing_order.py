"""The order in which rows of a table are drawn: the rows themselves give it."""

from __future__ import annotations

import numpy as np

from manifuse.kernels.arrays import IndexArray, order_of_rows
from manifuse.kernels.rows import inverse_order
from manifuse.tables.observations import Observations


def order_of(table: Observations, rows: IndexArray) -> IndexArray:
    """Put some rows of a table in their order; return positions among them. See `order_of_rows`."""
    # Features with names are compared in the order of the names.
    by_name = None if table.feature_names is None else np.argsort(table.feature_names)
    return order_of_rows(rows, table.scores, table.keys, table.table, by_name)


def places_of(table: Observations) -> IndexArray:
    """The place of every row (n,) of a table in that order."""
    return inverse_order(order_of(table, np.arange(len(table))))
