"""Formats of tables: CSV, Parquet, Arrow and JSON lines, whose columns polars reads."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.cli.column_checks import TEXT_COLUMNS, Columns, demand_numbers, demand_visible, plain_column
from manifuse.cli.paths import demand_file, reading
from manifuse.errors import InputError, require
from manifuse.files import check_size, demand_memory

#: Endings, with what polars calls the format, and the formats of which it reads a column without the others.
FORMATS = {".csv": "csv", ".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".jsonl": "ndjson"}
BY_COLUMN = ("parquet", "ipc")

#: Memory that reading text takes, in sizes of its file: what was read, as columns, as an array, and to spare.
GROWTH = 4

#: Numbers that are read at once on their way into an array, or a column if that is longer; while they are read, five
#: times as many are held.
PART, HELD = 1 << 20, 5

#: Bytes that an entry of a column takes that holds no numbers: as it was read, as an object, and as text.
ENTRY = 200

#: Bytes in which the header of a CSV file ends, and what may stand between its names where commas should.
HEADER = 1 << 20
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True, eq=False)
class ColumnFile:
    """A file of named columns, each to be taken once.

    Of Parquet and Arrow nothing is read before it is taken; text is read whole, and gives its columns away.

    Attributes
    ----------
    path : Path
    types : mapping
        From the names of the columns to what polars says they hold.
    rows : int
    frame_of : callable
        Gives a data frame that has the columns of these names.
    is_read : bool
        Whether all columns are in memory.
    """

    path: Path
    types: Mapping[str, Any]
    rows: int
    frame_of: Callable[[Sequence[str]], Any]
    is_read: bool

    def take(self, names: Sequence[str]) -> Columns:
        """Take columns, each as an array of its own; ids stay the text they are.

        Raises
        ------
        InputError
            If they cannot be read, would not fit into memory, or are ids with blanks about them.
        """
        self._demand_memory(sum(8 if self.types[name].is_numeric() else ENTRY for name in names))
        with _reading(self.path):
            columns = {name: column.to_numpy() for name, column in self._plain(names)}
        for name in TEXT_COLUMNS:
            if name in columns:
                demand_visible(self.path, name, columns[name])
        return columns

    def take_matrix(self, names: Sequence[str]) -> NDArray[Any]:
        """Take columns of numbers as one array (n, d), of single precision where all of them are.

        Beside the array, never more than a few columns are in memory.

        Raises
        ------
        InputError
            If they cannot be read, would not fit into memory, or hold something else than numbers.
        """
        is_single = all(str(self.types[name]) == "Float32" for name in names)
        dtype = np.dtype(np.float32 if is_single else np.float64)
        width = min(len(names), max(1, PART // max(1, self.rows)))
        self._demand_memory(dtype.itemsize * (len(names) + HELD * width))
        matrix = np.empty((self.rows, len(names)), dtype)
        for first in range(0, len(names), width):
            with _reading(self.path):
                for place, (name, column) in enumerate(self._plain(names[first : first + width]), first):
                    if not column.dtype.is_numeric():
                        demand_numbers(self.path, {name: column.to_numpy()})
                    # Piece by piece, for polars would copy them into one before.
                    row = 0
                    for piece in column.get_chunks():
                        matrix[row : row + len(piece), place] = piece.to_numpy()
                        row += len(piece)
        return matrix

    def _plain(self, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        frame = self.frame_of(names)
        if frame.height != self.rows:
            raise ValueError(f"{frame.height} rows came where {self.rows} were promised")
        return ((name, plain_column(frame.drop_in_place(name))) for name in names)

    def _demand_memory(self, bytes_of_row: float) -> None:
        if not self.is_read:
            demand_memory(self.path, float(self.rows) * bytes_of_row)


def open_columns(path: Path) -> ColumnFile:
    """Look what columns a file has.

    Raises
    ------
    InputError
        If it has another ending, cannot be read, or is text that would not fit into memory.
    """
    polars = require("polars", extra="tables", purpose=f"Reading {path}")
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        raise InputError(
            f"{path} ends in {path.suffix!r}, but one of {', '.join(FORMATS)} was expected (or .npz for scores)."
        )
    demand_file(path)
    if form not in BY_COLUMN:
        check_size(path, growth=GROWTH)
    with _reading(path):
        return _by_column(path, form, polars) if form in BY_COLUMN else _whole(path, form, polars)


def read_columns(path: Path) -> Columns:
    """Read every column of a table."""
    file = open_columns(path)
    return file.take(list(file.types))


def _by_column(path: Path, form: str, polars: ModuleType) -> ColumnFile:
    types = _opened(path, getattr(polars, f"read_{form}_schema"))
    rows = _opened(path, lambda file: getattr(polars, f"scan_{form}")(file).select(polars.len()).collect().item())
    # By their places, for polars takes names such as ^x$ for patterns.
    places = {name: place for place, name in enumerate(types)}

    def frame_of(names: Sequence[str]) -> Any:
        chosen = [places[name] for name in names]
        return _opened(path, lambda file: getattr(polars, f"read_{form}")(file, columns=chosen))

    return ColumnFile(path, types, rows, frame_of, is_read=False)


def _whole(path: Path, form: str, polars: ModuleType) -> ColumnFile:
    if form == "csv":
        _check_header(path)
        text = dict.fromkeys(TEXT_COLUMNS, polars.String)
        frame = _opened(path, lambda file: polars.read_csv(file, schema_overrides=text, infer_schema_length=None))
    else:
        frame = _opened(path, lambda file: polars.read_ndjson(file, infer_schema_length=None))
    return ColumnFile(path, frame.schema, frame.height, lambda _: frame, is_read=True)


def _opened(path: Path, read: Callable[[Any], Any]) -> Any:
    # An opened file, for polars takes brackets and stars in a name for a pattern.
    with path.open("rb") as file:
        return read(file)


def _reading(path: Path) -> AbstractContextManager[None]:
    return reading(path, path.suffix[1:], is_text=True)


def _check_header(path: Path) -> None:
    """Refuse a CSV file by its first line: another encoding or separator, or names that repeat or are missing."""
    with path.open("rb") as file:
        line = file.readline(HEADER)
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(f"{path} is text in UTF-16, but UTF-8 was expected; save it as UTF-8.")
    try:
        header = line.decode("utf-8-sig").rstrip("\r\n")
        names = next(csv.reader([header]), [])
    except (UnicodeDecodeError, csv.Error):
        raise InputError(f"The header of {path} is no line of UTF-8; save the table as CSV in UTF-8.") from None
    if "\r" in header:
        raise InputError(f"{path} has lines that end in a carriage return alone; save it with line feeds.")
    for sign, word in SEPARATORS.items():
        if len(names) == 1 and sign in header:
            raise InputError(f"{path} is separated by {word}, but commas were expected; save it so.")
    if len(names) > 1 and "" in names:
        raise InputError(
            f"Column {names.index('') + 1} of {path} has no name; name it, or leave it out (often a row index)."
        )
    repeated = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if repeated is not None:
        raise InputError(f"{path} has two columns named {repeated!r}; rename or drop one of them.")
