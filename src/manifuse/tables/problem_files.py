"""Problem files: the tables, labels and pairs of ids of a problem in files, and how they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from manifuse.errors import InputError, warn
from manifuse.files import identity, shorten
from manifuse.grid import many, told_apart
from manifuse.kernels.keys import NOT_AVAILABLE, is_blank
from manifuse.tables.class_columns import demand_classes
from manifuse.tables.column_checks import demand_columns, demand_numbers
from manifuse.tables.column_file import FileFeatures
from manifuse.tables.column_names import AS_USUAL, PAIR, ColumnNames, demand_there, demand_used
from manifuse.tables.containers import to_keys, to_text
from manifuse.tables.formats import counting_in, open_columns
from manifuse.tables.id_checks import demand_visible
from manifuse.tables.labels import (
    ClassLabels,
    RankLabels,
    demand_one_kind,
    warn_of_ungrouped,
    warn_of_unused_groups,
    warn_of_unused_label,
)
from manifuse.tables.observations import Observations
from manifuse.tables.pairing import LEAST_PAIRS
from manifuse.tables.paths import files_in
from manifuse.tables.row_names import rows_as
from manifuse.tables.score_tables import read_table
from manifuse.tables.table import Table
from manifuse.tables.table_checks import valid_rows

#: Columns that a file of labels may have.
READ = ("id", "label", "group", *PAIR)

#: What to do about labels that are text.
OF_TEXT = ", write yes and no as 1 and 0, or name columns of class probabilities with `classes` if labels are classes"

#: What ids of rows without a pair begin with. No id has the sign. The rare letter stays if signs are left out, so that
#: no number is left.
UNPAIRED = "␟ꙮ"


@dataclass(frozen=True, kw_only=True)
class Files:
    """The files of a problem, and how they are read.

    Attributes
    ----------
    main : str
        The main table; ``FILE::FEATURES.npy`` has its features in a file of their own.
    references : tuple of str
    labels : Path or None
        Columns ``id`` and ``label``, perhaps ``group``; or ``better`` and ``worse``.
    pairs : Path or None
        Ids of the same things: columns ``main``, ``reference`` and, with several references, ``table``.
    columns : ColumnNames
    features : str or None
        Regular expression that names of features start with.
    scale : str or None
        Of the main scores, as of `Observations`; of classes, of all tables.
    drop_invalid : bool
        Whether rows with values that are not finite are dropped.
    """

    main: str
    references: tuple[str, ...] = ()
    labels: Path | None = None
    pairs: Path | None = None
    columns: ColumnNames = ColumnNames()
    features: str | None = None
    scale: str | None = None
    drop_invalid: bool = False

    def read(self) -> Tables:
        """Read ids and scores, and the labels. Features stay in files of Parquet and Arrow until they are needed.

        Raises
        ------
        InputError
            If a file cannot be read, or its content cannot be used.
        """
        files = [tuple(identity(part) for part in files_in(given)) for given in self.references]
        twice = [given for given, file in zip(self.references, files, strict=True) if files.count(file) > 1]
        if twice:
            raise InputError(f"The reference {twice[0]} was given twice, and would count twice; give it once.")
        if self.pairs is not None and not self.references:
            raise InputError(
                "`pairs` came without references; give the references whose rows it pairs, or leave it out."
            )
        columns = self.columns
        truth: Mapping[str, str] = {}
        unread: Sequence[str] = ()
        if self.labels is not None:
            labelled = open_columns(self.labels, columns.of_labels(()))
            truth, unread = labelled.theirs, labelled.dropped
            columns = columns.beside_labels(truth, unread)
        table = read_table(self.main, features=self.features, columns=replace(columns, all_there=True))
        unused = [] if self.labels is not None else [name for name in columns.label if name in table.called.drop]
        if unused:
            warn_of_unused_label(*unused)
        others = [read_table(given, features=self.features, columns=columns) for given in self.references]
        if isinstance(columns.classes, str) and not any(each.classes for each in (table, *others)):
            demand_classes(columns.classes, (), self.main)
        demand_used(self.columns, [each.called for each in (table, *others)])
        left_out = [each.called.drop for each in (table, *others)]
        demand_there(self.columns.drop, [*left_out, unread])
        if len({other.name for other in others}) < len(others):
            # Files with the same name in several folders are named by their paths.
            others = [replace(other, name=given) for other, given in zip(others, self.references, strict=True)]
        if self.pairs is not None:
            others = rename_by_pairs(table, others, self.pairs)
        labels, drop = None, self.drop_invalid
        if self.labels is not None:
            labels = read_labels(self.labels, self.columns, drop=drop, classes=table.classes.values())
        demand_there(self.columns.label, [truth.values(), *left_out], "label")
        return Tables(self, table, others, labels)


@dataclass(frozen=True, eq=False)
class Tables:
    """What the files of a problem hold.

    Attributes
    ----------
    files : Files
    main : Table
    references : list of Table
    labels : RankLabels, ClassLabels or None
    """

    files: Files
    main: Table
    references: list[Table]
    labels: RankLabels | ClassLabels | None

    def observed(self, most: int | None = None) -> tuple[Observations, list[Observations]]:
        """Check the tables. Features of more rows than ``most`` stay in files that allow it."""
        drop, made = self.files.drop_invalid, []
        for table in (self.main, *self.references):
            # References have the scale of the main scores if both are classes.
            scale = self.files.scale if table is self.main or (table.classes and self.main.classes) else None
            unread = isinstance(table.source, FileFeatures) and most is not None and len(table) > most and not drop
            made.append(table.observed(drop=drop, scale=scale, unread=unread))
        return made[0], made[1:]


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
    ours, ids, now = (
        to_text(each.ids, what=f"The id column of {each.name}").tolist() for each in (main, reference, renamed)
    )
    there = {*ours}
    apart = [name for name, paired in zip(ids, now, strict=True) if name in there and name != paired]
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
    ours = to_text(main.ids, what=f"The id column of {main.name}").tolist()
    for table, named, there in ((reference, names, ids), (main, names.values(), ours)):
        strange = set(named) - set(there)
        if strange:
            raise InputError(f"{source} names {min(strange)!r}, which is not an id of {table.name}; correct it.")
    if len(pairs) < LEAST_PAIRS:
        raise InputError(
            f"{source} has {many(len(pairs), 'pair')} of {reference.name}, but at least {LEAST_PAIRS} (better 30 to "
            "200) are needed; add some, or leave the table out."
        )
    return replace(reference, ids=np.array([names.get(name, f"{UNPAIRED}{row}") for row, name in enumerate(ids)]))
