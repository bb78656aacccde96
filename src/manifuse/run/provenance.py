"""Provenance: what a refinement was made of and when, and what the columns of its main table were called."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Self

from manifuse.errors import InputError
from manifuse.tables.column_names import ColumnNames
from manifuse.tables.labels import ClassLabels
from manifuse.tables.observations import Observations
from manifuse.tables.paths import files_in, reading
from manifuse.tables.problem_files import Tables
from manifuse.tables.score_tables import LaterTable
from manifuse.tables.user_tables import Labels

#: Columns that a file with this ending does not have under other names.
OWN_NAMES = {".npz": ("id", "score"), ".h5ad": ("id",)}

#: The version of manifuse that runs; looking it up reads files.
VERSION = version("manifuse")

#: Versions of what computes, with which a run gives the same result again.
LIBRARIES = {
    "Python": python_version(),
    **{name: version(name.lower()) for name in ("NumPy", "SciPy", "scikit-learn")},
}


@dataclass(frozen=True)
class InputFile:
    """A file that was read.

    Attributes
    ----------
    name : str
        Without its folder.
    size : int
        In bytes.
    sha256 : str
        Its checksum, in hexadecimal digits.
    """

    name: str
    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read a file once more, for its checksum.

        Raises
        ------
        InputError
            If it cannot be read any more.
        """
        with reading(path), path.open("rb") as file:
            return cls(path.name, path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


@dataclass(frozen=True)
class InputTable:
    """A table that was given.

    Attributes
    ----------
    role : str
        main, reference, labels or pairs.
    name : str
    rows : int or None
        Of labels, rows or ordered pairs; None of a file of pairs.
    files : tuple of InputFile
        Empty if it was in no file.
    """

    role: str
    name: str
    rows: int | None
    files: tuple[InputFile, ...] = ()


@dataclass(frozen=True)
class Provenance:
    """The tables behind a refinement, without ids and rows.

    Attributes
    ----------
    tables : tuple of InputTable
    classes : str or None
        The expression for the columns of classes that was given.
    has_numbers : bool
        Whether the labels or, without any, the main table named classes by numbers.
    version : str
        Of manifuse.
    date : str
        The day in UTC, as ``2026-11-24``.
    libraries : mapping of str to str
        Versions of Python and of the libraries that compute.
    """

    tables: tuple[InputTable, ...] = ()
    classes: str | None = None
    has_numbers: bool = False
    version: str = VERSION
    date: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())
    libraries: Mapping[str, str] = field(default_factory=LIBRARIES.copy)

    @classmethod
    def of(cls, main: Observations, references: Sequence[Observations], labels: Labels | None) -> Self:
        """Return the provenance of tables that were in no files."""
        others = (InputTable("reference", each.name, len(each)) for each in references)
        taught = () if labels is None else (InputTable("labels", "labels", len(labels)),)
        tables = (InputTable("main", main.name, len(main)), *others, *taught)
        named = labels if isinstance(labels, ClassLabels) else main.classes
        return cls(tables, has_numbers=named is not None and named.are_numbers)

    @classmethod
    def of_files(cls, tables: Tables) -> Self:
        """Return the provenance of tables in files."""
        files, expression = tables.files, tables.files.columns.classes
        counted = None if tables.labels is None else len(tables.labels)
        made = [InputTable("main", tables.main.name, len(tables.main), _files_of(files.main))]
        for table, given in zip(tables.references, files.references, strict=True):
            made.append(InputTable("reference", table.name, len(table), _files_of(given)))
        for role, path, rows in (("labels", files.labels, counted), ("pairs", files.pairs, None)):
            if path is not None:
                made.append(InputTable(role, path.stem, rows, _files_of(str(path))))
        pattern = expression if isinstance(expression, str) else None
        return cls(tuple(made), pattern, isinstance(tables.labels, ClassLabels) and tables.labels.are_numbers)

    @property
    def main_rows(self) -> int:
        """Rows of the main table, of which perhaps a sample was fitted; 0 if it is not known."""
        return next((table.rows or 0 for table in self.tables if table.role == "main"), 0)

    def table_of_later(
        self,
        given: str,
        main: Observations,
        *,
        id: Sequence[str] = (),  # noqa: A002
        score: Sequence[str] = (),
        drop: Sequence[str] = (),
        features: str | None = None,
        classes: str | None = None,
    ) -> LaterTable:
        """Return a table of later rows, called as is given, or else as the ``main`` table that was fitted."""
        if classes is not None and main.classes is None:
            raise InputError("`classes` came, but the refinement is of scores; leave it out.")
        # With a main table of scores, the pattern is of references.
        as_main: str | dict[str, str] | None = None
        if main.classes is not None:
            as_main = self.classes or dict(zip(main.called.classes, main.classes.names, strict=True))
        own = OWN_NAMES.get(Path(given.partition("::")[0]).suffix.lower(), ())
        called = {"id": main.called.id} | ({"score": main.called.score} if main.classes is None else {})
        fitted = {role: (name,) for role, name in called.items() if name != role and role not in own}
        columns = ColumnNames(
            tuple(id) or fitted.get("id", ()),
            tuple(score) or fitted.get("score", ()),
            drop=tuple(drop) or main.called.drop,
            classes=as_main if classes is None else classes,
            all_there=True,
        )
        return LaterTable(given, features, () if main.table is None else main.feature_names, columns, tuple(drop))


def _files_of(given: str) -> tuple[InputFile, ...]:
    """Every file of a table, those of a folder by their names; what follows ``::`` may name a part of the first."""
    parts = map(Path, files_in(given))
    paths = [path for part in parts for path in (sorted(part.iterdir()) if part.is_dir() else [part])]
    return tuple(InputFile.of(path) for path in paths if path.is_file())
