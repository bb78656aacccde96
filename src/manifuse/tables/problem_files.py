"""Problem files: the tables and labels of a problem in files, and how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from manifuse.errors import InputError
from manifuse.files import identity
from manifuse.tables.class_columns import demand_classes
from manifuse.tables.column_file import FileFeatures
from manifuse.tables.column_names import ColumnNames, demand_there, demand_used
from manifuse.tables.formats import open_columns
from manifuse.tables.label_table import read_labels
from manifuse.tables.labels import ClassLabels, RankLabels, warn_of_unused_label
from manifuse.tables.observations import Observations
from manifuse.tables.pairs_file import rename_by_pairs
from manifuse.tables.paths import files_in
from manifuse.tables.score_tables import read_table
from manifuse.tables.table import Table


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

    @property
    def scales(self) -> list[str | None]:
        """The scale of the main table and of every reference, which is that of the main scores if both are classes."""
        scale = self.files.scale
        return [scale, *(scale if each.classes and self.main.classes else None for each in self.references)]

    def observed(self, most: int | None = None) -> tuple[Observations, list[Observations]]:
        """Check the tables. Features of more rows than ``most`` stay in files that allow it."""
        drop, made = self.files.drop_invalid, []
        for table, scale in zip((self.main, *self.references), self.scales, strict=True):
            unread = isinstance(table.source, FileFeatures) and most is not None and len(table) > most and not drop
            made.append(table.observed(drop=drop, scale=scale, unread=unread))
        return made[0], made[1:]
