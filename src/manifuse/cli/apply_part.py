"""One part of a table of later rows, refined."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.cli.output import refined_columns
from manifuse.columns.refined import LITTLE
from manifuse.run.refinement import Refinement
from manifuse.tables.feature_source import Loaded
from manifuse.tables.observations import Observations
from manifuse.tables.score_tables import Table, observe
from manifuse.tables.validity import demand_finite


@dataclass(frozen=True, eq=False)
class Part:
    """What became of a part of a table.

    Attributes
    ----------
    keys : (q,) array of str
        Ids of the rows that were refined.
    fitted, little : int
        How many of them were in the fit, and how many have little evidence.
    """

    keys: NDArray[np.str_]
    fitted: int
    little: int


def refine_part(
    result: Refinement, table: Table, *, drop_invalid: bool, first: int = 0
) -> tuple[dict[str, NDArray[Any]], Part]:
    """Check and refine a part of a table, from its row ``first`` on; return its columns, and what became of it."""
    if not len(table):
        none = np.empty(0)
        errors = None if result.errors is None else none
        return refined_columns(table.ids, none, none, none, errors), Part(np.empty(0, dtype=np.str_), 0, 0)
    if not drop_invalid:
        table = replace(table, source=None if table.source is None else Loaded(table.source.take()))
        parts = {"score": table.scores} | ({} if table.source is None else {"features": table.source.take()})
        numbers = {what: values for what, values in parts.items() if values.dtype.kind == "f"}
        demand_finite(table.name, numbers, np.arange(first, first + len(table)))
    new = observe(table, drop=drop_invalid, scale=result.main.scale)
    columns = refined_rows(result, new, table.ids[new.rows])
    fitted = int(np.count_nonzero(result.refiner.locate(new.keys)[1]))
    return columns, Part(new.keys, fitted, int(np.sum(columns["support"] < LITTLE)))


def refined_rows(result: Refinement, new: Observations, ids: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Refine checked rows; return their columns, with ``ids`` (q,) as the file holds them."""
    applied = result.apply_in_full(new)
    return refined_columns(ids, new.in_scale(new.scores), applied.scores, applied.support, applied.errors)
