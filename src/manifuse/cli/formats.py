"""Formats of tables that polars reads: CSV, Parquet, Arrow and JSON lines."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.cli.column_checks import (
    AS_USUAL,
    TEXT_COLUMNS,
    ColumnNames,
    Columns,
    demand_numbers,
    demand_visible,
    plain_column,
)
from manifuse.cli.paths import demand_file
from manifuse.errors import InputError, require
from manifuse.files import check_size, demand_memory, reading

#: Endings with the names of the formats in polars, and the formats of which it can read single columns.
FORMATS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".jsonl": "ndjson"}
BY_COLUMN = ("parquet", "ipc")

#: Memory that reading text takes, in file sizes: the text, its columns, the array, and some to spare.
GROWTH = 4

#: Numbers that are read at once on their way into an array, or one column if that is longer; reading them takes memory
#: for five times as many.
PART, COPIES = 1 << 20, 5

#: Bytes that one entry takes in a column that is not numeric: as it was read, as an object, and as text.
ENTRY = 200

#: Most bytes in the header of a CSV file, and separators that may be found there.
HEADER = 1 << 20
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True, eq=False)
class ColumnFile:
    """A file of named columns; each can be taken once.

    Columns of Parquet and Arrow are read when they are taken. Text is read whole, and a column that is taken leaves
    memory.

    Attributes
    ----------
    path : Path
    types : mapping
        The polars types of the columns, by their names.
    rows : int
    read : callable
        Returns the columns of these names as a list of polars series.
    is_read : bool
        Whether all columns are in memory.
    dropped : frozenset of str
        Columns that are there and were left out.
    """

    path: Path
    types: Mapping[str, Any]
    rows: int
    read: Callable[[Sequence[str]], list[Any]]
    is_read: bool
    dropped: frozenset[str] = frozenset()

    def take(self, names: Sequence[str]) -> Columns:
        """Take columns, each as an array; ids stay text.

        Raises
        ------
        InputError
            If they cannot be read, would not fit into memory, or hold ids that are refused.
        """
        self._demand_memory(sum(8 if self.types[name].is_numeric() else ENTRY for name in names))
        with reading(self.path):
            columns = {name: column.to_numpy() for name, column in self._plain(names)}
        for name in TEXT_COLUMNS:
            if name in columns:
                demand_visible(self.path, name, columns[name])
        return columns

    def take_matrix(self, names: Sequence[str]) -> NDArray[Any]:
        """Take columns of numbers as one array (n, d), in single precision if all columns are.

        Only a few columns at a time are in memory beside the array.

        Raises
        ------
        InputError
            If they cannot be read, would not fit into memory, or hold anything but numbers.
        """
        is_single = all(str(self.types[name]) == "Float32" for name in names)
        dtype = np.dtype(np.float32 if is_single else np.float64)
        width = min(len(names), max(1, PART // max(1, self.rows)))
        self._demand_memory(dtype.itemsize * (len(names) + COPIES * width))
        matrix = np.empty((self.rows, len(names)), dtype)
        for first in range(0, len(names), width):
            with reading(self.path):
                for index, (name, column) in enumerate(self._plain(names[first : first + width]), first):
                    if not column.dtype.is_numeric():
                        demand_numbers(self.path, name, column.to_numpy())
                    matrix[:, index] = column.to_numpy()
        return matrix

    def _plain(self, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        columns = self.read(names)[::-1]
        if columns and len(columns[0]) != self.rows:
            raise ValueError(f"{len(columns[0])} rows came where the file promised {self.rows}")
        # A column that was taken leaves the list, and memory.
        return ((name, plain_column(columns.pop())) for name in names)

    def _demand_memory(self, bytes_of_row: float) -> None:
        if not self.is_read:
            demand_memory(self.path, float(self.rows) * bytes_of_row)


def open_columns(path: Path, columns: ColumnNames = AS_USUAL) -> ColumnFile:
    """Find out which columns a file has, by our names.

    Raises
    ------
    InputError
        If the file has another ending, cannot be read, or is text that would not fit into memory.
    """
    polars = require("polars", extra="tables", purpose=f"Reading {path}")
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        raise InputError(
            f"{path} ends in {path.suffix!r}, but one of {', '.join(FORMATS)} was expected (or .npz or .h5ad for "
            "scores); save it in one of these formats."
        )
    demand_file(path)
    with reading(path):
        read = _by_column if form in BY_COLUMN else _whole
        return read(path, form, columns, polars)


def read_columns(path: Path, columns: ColumnNames = AS_USUAL) -> Columns:
    """Read every column of a table, by our names."""
    file = open_columns(path, columns)
    return file.take(list(file.types))


def _by_column(path: Path, form: str, columns: ColumnNames, polars: ModuleType) -> ColumnFile:
    there = _opened(path, getattr(polars, f"read_{form}_schema"))
    ours = columns.ours(path, there)
    rows = _opened(path, lambda file: getattr(polars, f"scan_{form}")(file).select(polars.len()).collect().item())
    # By position, because polars takes names such as ^x$ for patterns.
    positions = {ours[name]: position for position, name in enumerate(there) if name in ours}

    def read(names: Sequence[str]) -> list[Any]:
        chosen = [positions[name] for name in names]
        frame = _opened(path, lambda file: getattr(polars, f"read_{form}")(file, columns=chosen))
        found = {ours[column.name]: column for column in frame.get_columns()}
        return [found[name].alias(name) for name in names]

    types = {ours[name]: there[name] for name in ours}
    return ColumnFile(path, types, rows, read, is_read=False, dropped=frozenset(there) - ours.keys())


def _whole(path: Path, form: str, columns: ColumnNames, polars: ModuleType) -> ColumnFile:
    check_size(path, growth=GROWTH)
    read = partial(polars.read_ndjson, infer_schema_length=None)
    if form == "csv":
        separator = separator_of(path.suffix)
        header = columns.ours(path, _header_of(path, separator))
        text = {name: polars.String for name, ours in header.items() if ours in TEXT_COLUMNS}
        read = partial(polars.read_csv, separator=separator, schema_overrides=text, infer_schema_length=None)
    frame = _opened(path, read)
    ours = columns.ours(path, frame.columns)
    found = {ours[each.name]: each.alias(ours[each.name]) for each in frame.get_columns() if each.name in ours}
    types = {name: each.dtype for name, each in found.items()}
    dropped = frozenset(frame.columns) - ours.keys()

    def take(names: Sequence[str]) -> list[Any]:
        return [found.pop(name) for name in names]

    return ColumnFile(path, types, frame.height, take, is_read=True, dropped=dropped)


def separator_of(ending: str) -> str:
    """Separator of a text table with this ending."""
    return "\t" if ending.lower() == ".tsv" else ","


def _opened(path: Path, read: Callable[[Any], Any]) -> Any:
    # An opened file, because polars takes brackets and stars in a name for a pattern.
    with path.open("rb") as file:
        return read(file)


def _header_of(path: Path, separator: str) -> list[str]:
    """Return the column names of a CSV file.

    Its first line is refused if it has another encoding or separator, or names that repeat or are missing.
    """
    with path.open("rb") as file:
        line = file.readline(HEADER)
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{path} is text in UTF-16, but UTF-8 was expected; save it as UTF-8.")
    try:
        header = line.decode("utf-8-sig").rstrip("\r\n")
        if "\r" in header:
            raise InputError(f"{path} has lines that end in a carriage return alone; save it with line feeds.")
        names = next(csv.reader([header], delimiter=separator), [])
    except (UnicodeDecodeError, csv.Error):
        raise InputError(
            f"The first line of {path} is not a header in UTF-8; save the table as CSV in UTF-8."
        ) from None
    for sign, word in SEPARATORS.items():
        if len(names) == 1 and sign != separator and sign in header:
            wanted = SEPARATORS[separator]
            raise InputError(f"{path} is separated by {word}, but {wanted} were expected; save it with {wanted}.")
    if len(names) > 1 and "" in names:
        raise InputError(
            f"Column {names.index('') + 1} of {path} has no name; name it, or leave it out (often a row index)."
        )
    counts = Counter(names)
    repeated = next((name for name in names if counts[name] > 1), None)
    if repeated is not None:
        raise InputError(f"{path} has two columns named {repeated!r}; rename or drop one of them.")
    return names
