"""Tables of files, checked as observations; messages count rows as the file does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from manifuse.tables.containers import rows_as
from manifuse.tables.feature_source import Source
from manifuse.tables.observations import Observations
from manifuse.tables.table import Table
from manifuse.tables.validity import finite_rows


def observe(table: Table, *, drop: bool, scale: Any = None) -> Observations:
    """Check a table; rows with values that are not finite are dropped or refused. `Observations` checks ``scale``."""
    with rows_as(table.counting):
        made = Observations(
            table.scores,
            table.features,
            ids=table.ids,
            name=table.name,
            feature_names=table.feature_names,
            scale=scale,
            classes=table.class_names,
            invalid="drop" if drop else "refuse",
        )
    made.called = table.called
    return made


def without_invalid(table: Table) -> Table:
    """Leave out the rows of a table of columns whose numbers are not all finite."""
    if not len(table):
        return table
    features = table.features
    kept = finite_rows(np.asarray(table.scores, dtype=np.float64), features)
    # Features in a file are not read again.
    return replace(table, source=Source.if_any(features)).part(kept)
