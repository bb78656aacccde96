"""Pairs file: ids of the same things, for tables whose ids differ."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from manifuse.errors import InputError, warn
from manifuse.files import shorten
from manifuse.grid import many, told_apart
from manifuse.tables.column_checks import demand_columns
from manifuse.tables.column_names import ColumnNames
from manifuse.tables.containers import to_keys, to_text
from manifuse.tables.formats import counting_in, open_columns
from manifuse.tables.pairing import LEAST_PAIRS
from manifuse.tables.row_names import rows_as
from manifuse.tables.table import Table


def rename_by_pairs(main: Table, references: Sequence[Table], source: Path) -> list[Table]:
    """Give paired reference rows the ids of their main rows, and all other reference rows ids that match nothing.

    Parameters
    ----------
    main : Table
    references : sequence of Table
    source : Path
        The file of pairs: columns ``main`` and ``reference``; with several references, also ``table``.

    Raises
    ------
    InputError
        If a column is missing, a reference has too few pairs, or a pair names an unknown id, or an id twice.

    Warns
    -----
    ManifuseWarning
        If pairs are of tables that did not come, or rows with equal ids are not paired.
    """
    file = open_columns(source, ColumnNames(roles=(), text=("main", "reference", "table")))
    has_tables = len(references) > 1 or "table" in file.theirs
    needed = ["main", "reference"] + (["table"] if has_tables else [])
    demand_columns(source, file.theirs, *needed)
    pairs = file.take(needed)
    with rows_as(counting_in(source)):
        texts = {name: to_text(pairs[name], what=f"The column {name!r} of {source}").tolist() for name in needed}
    tables = texts.get("table", [references[0].name] * len(texts["main"]))
    known = [reference.name for reference in references]
    others = [name for name in tables if name not in known]
    named = shorten(told_apart(dict.fromkeys(others)))
    if others and len(others) == len(tables):
        raise InputError(
            f"The column 'table' of {source} names {named}, but the references are {told_apart(known)}; name these."
        )
    rows = list(zip(tables, texts["reference"], texts["main"], strict=True))
    renamed = [
        _renamed(reference, main, [(theirs, ours) for table, theirs, ours in rows if table == reference.name], source)
        for reference in references
    ]
    for before, after in zip(references, renamed, strict=True):
        _warn_of_equal_ids(main, before, after, source)
    if others:
        warn(
            "pairs_of_others",
            f"{source} has {many(len(others), 'pair')} of tables that did not come ({named}); they are left out, "
            f"because the references are {told_apart(known)}.",
        )
    return renamed


def _warn_of_equal_ids(main: Table, reference: Table, renamed: Table, source: Path) -> None:
    """Warn of rows of a reference that have the ids of main rows, and are not paired with them."""
    ours, (ids, now) = {*map(str, main.ids.tolist())}, (map(str, each.ids.tolist()) for each in (reference, renamed))
    apart = [name for name, paired in zip(ids, now, strict=True) if name in ours and name != paired]
    if apart:
        warn(
            "equal_ids_apart",
            f"{source} does not pair {many(len(apart), 'row')} of {reference.name} with the rows of {main.name} that "
            f"have the same ids (first: {apart[0]!r}); if equal ids mean the same thing, add these pairs.",
        )


def _renamed(reference: Table, main: Table, pairs: Sequence[tuple[str, str]], source: Path) -> Table:
    """Rename the rows of one reference by its pairs of a reference id and a main id."""
    names = dict(pairs)
    for table, sides in ((reference, [theirs for theirs, _ in pairs]), (main, [ours for _, ours in pairs])):
        twice = next((name for name, count in Counter(sides).items() if count > 1), None)
        if twice is not None:
            raise InputError(f"{source} pairs the row {twice!r} of {table.name} twice; keep one pair for each row.")
    with rows_as(reference.counting):
        ids = to_keys(reference.ids, what=f"The id column of {reference.name}").tolist()
    for table, named, there in ((reference, names, ids), (main, names.values(), map(str, main.ids.tolist()))):
        strange = set(named) - set(there)
        if strange:
            raise InputError(f"{source} names {min(strange)!r}, which is not an id of {table.name}; correct it.")
    if len(pairs) < LEAST_PAIRS:
        raise InputError(
            f"{source} has {many(len(pairs), 'pair')} of {reference.name}, but at least {LEAST_PAIRS} (better 30 to "
            "200) are needed; add some, or leave the table out."
        )
    return replace(reference, ids=np.array([names.get(name, f"␟{row}") for row, name in enumerate(ids)]))
