"""Labels, read from a table."""

from collections.abc import Collection
from pathlib import Path

import numpy as np

from manifuse.errors import InputError
from manifuse.files import shorten
from manifuse.grid import told_apart
from manifuse.kernels.keys import NOT_AVAILABLE, is_blank
from manifuse.tables.column_checks import demand_numbers
from manifuse.tables.column_names import AS_USUAL, PAIR, ColumnNames
from manifuse.tables.formats import counting_in, open_columns
from manifuse.tables.id_checks import demand_visible
from manifuse.tables.labels import ClassLabels, RankLabels, demand_one_kind, warn_of_ungrouped, warn_of_unused_groups
from manifuse.tables.row_names import rows_as
from manifuse.tables.table_checks import valid_rows

#: Columns that a file of labels may have.
READ = ("id", "label", "group", *PAIR)

#: What to do about labels that are text.
OF_TEXT = ", write yes and no as 1 and 0, or name columns of class probabilities with `classes` if labels are classes"


def read_labels(
    path: Path, called: ColumnNames = AS_USUAL, *, drop: bool = False, classes: Collection[str] = ()
) -> RankLabels | ClassLabels:
    """Read labels: columns ``id``, ``label`` and, if there is one, ``group``; or ``better`` and ``worse``.

    Labels are numbers, or names of ``classes`` if there are any. Rows whose label is blank are left out, because their
    truth is not known, and so are those whose label is infinite, with a warning, if ``drop`` is true.

    Raises
    ------
    InputError
        If the file cannot be read, or has other columns or no label.
    """
    file = open_columns(path, called.of_labels(classes))
    columns = file.take([name for name in READ if name in file.types])
    demand_one_kind(path, columns)
    if {"id", "label"} <= columns.keys():
        labels = columns["label"]
        if not classes:
            demand_numbers(path, file.theirs["label"], labels, instead=OF_TEXT)
        is_class = NOT_AVAILABLE in classes
        are_known = [not is_blank(each) and (is_class or each != NOT_AVAILABLE) for each in labels.tolist()]
        kept = np.flatnonzero(are_known)
        if not len(kept):
            raise InputError(f"{path} has no value in {file.theirs['label']!r}; give the truth of some rows.")
        if drop and not classes:
            kept = kept[valid_rows(labels[kept], None, name=path.name, drop=True)]
        groups = columns["group"][kept] if "group" in columns else None
        if groups is None:
            texts = [
                name for name, kind in file.types.items() if name not in (*READ, "score") and str(kind) == "String"
            ]
            beside = {name: column[kept] for name, column in file.take(texts).items()}
            warn_of_ungrouped(path, beside, remedy="call it `group`")
        noun, first = counting_in(path)
        with rows_as((noun, first + kept)):
            if classes:
                demand_visible(f"Column {file.theirs['label']!r} of {path}", labels[kept])
                return ClassLabels(columns["id"][kept], labels[kept], groups)
            return RankLabels(columns["id"][kept], labels[kept], groups)
    if {*PAIR} <= columns.keys():
        if "group" in columns:
            warn_of_unused_groups(path)
        with rows_as(counting_in(path)):
            return RankLabels.from_pairs(columns["better"], columns["worse"])
    if not {"id", *called.id} - {*called.label}:
        raise InputError("`id` and `label` both name the column 'id'; name two columns.")
    known = shorten(told_apart(file.theirs.values())) or "none"
    expected = " and ".join(" or ".join(each) for each in (("id", *called.id), ("label", *called.label)))
    raise InputError(
        f"{path} has the columns {known}, but {expected}, or better and worse, were expected; rename them, "
        "or name them with `id` and `label`."
    )
