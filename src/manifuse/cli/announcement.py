"""Announcement: what was read, said before the work starts."""

from collections.abc import Sequence

from manifuse.grid import many, told_apart
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.table import Table

#: Names of features that are shown.
SHOWN = 8


def lines_of(main: Table, references: Sequence[Table], labels: RankLabels | ClassLabels | None) -> list[str]:
    """Say what was read: every table with its rows and features, and the labels."""
    lines = [f"{table.name}: {_described(table)}" for table in (main, *references)]
    if labels is None:
        return lines
    noun = "ordered pair" if isinstance(labels, RankLabels) and labels.grades is None else "labelled row"
    classes = f", {many(len({*labels.names.tolist()}), 'class')}" if isinstance(labels, ClassLabels) else ""
    groups = "" if labels.groups is None else f" in {many(len({*labels.groups.tolist()}), 'group')}"
    return [*lines, f"labels: {many(len(labels), noun)}{groups}{classes}"]


def _described(table: Table) -> str:
    shape = (0, 0) if table.source is None else table.source.shape
    # Features that are no matrix are refused later.
    width = shape[1] if len(shape) > 1 else 1
    rows = many(len(table), "row") + (f", {many(len(table.classes), 'class')}" if table.classes else "")
    if not width:
        return f"{rows}, no features"
    names = table.feature_names
    shown = "" if names is None else f" ({told_apart(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''})"
    return f"{rows}, {many(width, 'feature')}{shown}"
