"""Tables of files, checked as observations; messages count rows as the file does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.kernels.columns import all_finite
from manifuse.tables.containers import rows_as
from manifuse.tables.feature_source import Source
from manifuse.tables.observations import Observations
from manifuse.tables.table import Table
from manifuse.tables.validity import demand_finite


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
    numbers = [table.scores] if features is None else [table.scores, features]
    finite = [all_finite(np.atleast_2d(np.asarray(each, dtype=np.float64).T).T) for each in numbers]
    kept = np.flatnonzero(np.logical_and.reduce(finite))
    source = None if features is None else Source.loaded(features[kept])
    noun, first = table.counting
    counting = noun, first + kept
    return replace(table, ids=table.ids[kept], scores=table.scores[kept], source=source, counting=counting)


def observe_part(table: Table, rows: NDArray[Any] | range, *, scale: Any = None) -> Observations:
    """Check some rows of a table, whose ids and scores are checked already, and read their features.

    Of rows that follow each other, a range, no others are read.

    Raises
    ------
    InputError
        If features are not finite numbers.
    """
    features, source = None, table.source
    if source is not None:
        features = source.take(rows)
        with rows_as(table.counting):
            demand_finite(table.name, {"features": features}, np.asarray(rows), table.feature_names)
    made = Observations(
        table.scores[rows],
        features,
        ids=table.ids[rows],
        name=table.name,
        feature_names=table.feature_names,
        scale=scale,
        classes=table.class_names,
    )
    made.called = table.called
    return made
