"""Labels, read from a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from manifuse.errors import InputError
from manifuse.files import shorten
from manifuse.kernels.keys import is_missing
from manifuse.tables.column_checks import AS_USUAL, ColumnNames, demand_numbers
from manifuse.tables.containers import rows_as
from manifuse.tables.formats import counting_in, open_columns
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.validity import valid_rows

#: Columns that a file of labels may have.
READ = ("id", "label", "group", "better", "worse")


def read_labels(
    path: Path, called: ColumnNames = AS_USUAL, *, drop: bool = False, of_classes: bool = False
) -> RankLabels | ClassLabels:
    """Read labels: columns ``id``, ``label`` and, if there is one, ``group``; or ``better`` and ``worse``.

    Labels are numbers, or names ``of_classes``. Rows whose label is blank or infinite are left out, with a warning, if
    ``drop`` is true.
    """
    file = open_columns(path, called.of_labels)
    columns = file.take([name for name in READ if name in file.types])
    if {"id", "label"} <= columns.keys():
        labels = columns["label"]
        if not of_classes:
            demand_numbers(path, file.theirs["label"], labels)
        # A name is as good as a number that is there.
        values = np.array([np.nan if is_missing(each) else 0.0 for each in labels.tolist()]) if of_classes else labels
        kept = valid_rows(values, None, name=path.name, drop=True) if drop else slice(None)
        groups = columns["group"][kept] if "group" in columns else None
        with rows_as(counting_in(path)):
            return (ClassLabels if of_classes else RankLabels)(columns["id"][kept], labels[kept], groups)
    if {"better", "worse"} <= columns.keys():
        with rows_as(counting_in(path)):
            return RankLabels.from_pairs(columns["better"], columns["worse"])
    known = shorten(", ".join(file.theirs.values())) or "none"
    raise InputError(
        f"{path} has the columns {known}, but id and label, or better and worse, were expected; rename them, "
        "or name them with `id` and `label`."
    )
