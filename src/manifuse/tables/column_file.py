"""Files of named columns. Those of Parquet and Arrow are read when they are needed, all rows or a window of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.files import shorten
from manifuse.tables.column_checks import demand_numbers, first_text, plain_column
from manifuse.tables.column_names import ColumnNames
from manifuse.tables.id_checks import CHARACTER, LONGEST, demand_narrow, demand_visible
from manifuse.tables.paths import demand_file, demand_memory, reading

#: Numbers that are read at once on their way into an array, or one column if that is longer; reading them takes memory
#: for five times as many.
PART, COPIES = 1 << 20, 5

#: Bytes that one entry takes in a column that is not numeric: as it was read, as an object, and as text.
ENTRY = 200

#: Rows of a text column that are looked at before all of it is read, and at how many places.
GLIMPSE, GLIMPSES = 64, 8

#: How often ids are in memory at once while tables are paired.
IDS = 3

#: The ending of files in a folder that are parts of one table.
OF_PARTS = ".parquet"


@dataclass(frozen=True, eq=False)
class ColumnFile:
    """A file of named columns, or a window of its rows.

    Columns of Parquet and Arrow are read when they are taken; text is read whole.

    Attributes
    ----------
    path : Path
    types : mapping
        The polars types of the columns, by their names.
    rows : int
    read : callable
        Takes names of columns, a first row and a number of rows; returns a list of polars series.
    is_read : bool
        Whether all columns are in memory.
    theirs : mapping of str to str
        What the file calls each column.
    text : tuple of str
        Columns whose values stay text.
    dropped : list of str
        Columns that are there and were left out.
    first : int
        First row of the window.
    """

    path: Path
    types: Mapping[str, Any]
    rows: int
    read: Callable[[Sequence[str], int, int], list[Any]]
    is_read: bool
    theirs: Mapping[str, str]
    text: tuple[str, ...]
    dropped: Sequence[str] = ()
    first: int = 0

    def look(self, names: Sequence[str], rows: int | None) -> NDArray[Any]:
        """Read columns of numbers as `take_matrix` does, in the first ``rows`` or in all."""
        shown = self.rows if rows is None else min(rows, self.rows)
        return self.window(0, shown).take_matrix(names)

    def window(self, first: int, count: int) -> Self:
        """Return ``count`` rows from ``first`` on as a file."""
        return replace(self, first=self.first + first, rows=count)

    def take(self, names: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Take columns, each as an array; ids stay text.

        Raises
        ------
        InputError
            If they cannot be read, would not fit into memory, or hold ids that are refused.
        """
        self._demand_memory(sum(8 if self.types[name].is_numeric() else ENTRY for name in names))
        with reading(self.path):
            for name, column in self._glimpses([name for name in names if name in self.text]):
                self._demand_narrow(name, column)
            columns = {name: self._array_of(name, column) for name, column in self._plain(names)}
        for name in self.text:
            # A label may be blank.
            if name in columns and name != "label":
                demand_visible(f"Column {self.theirs[name]!r} of {self.path}", columns[name])
        return columns

    def take_matrix(self, names: Sequence[str], rows: NDArray[Any] | None = None) -> NDArray[Any]:
        """Take columns of numbers as one array (n, d), or some ``rows`` of it, in single precision if all columns are.

        Only a few columns at a time are in memory beside the array.

        Raises
        ------
        InputError
            If they cannot be read, would not fit into memory, or hold anything but numbers.
        """
        is_single = all(str(self.types[name]) == "Float32" for name in names)
        dtype = np.dtype(np.float32 if is_single else np.float64)
        width = min(len(names), max(1, PART // max(1, self.rows)))
        count = self.rows if rows is None else len(rows)
        self._demand_memory(dtype.itemsize * COPIES * width, dtype.itemsize * len(names) * count)
        with reading(self.path):
            for name, column in self._glimpses(names):
                if (column.str.len_chars().max() or 0) > LONGEST:
                    demand_numbers(self.path, self.theirs[name], column.to_numpy(), is_feature=True)
        matrix = np.empty((count, len(names)), dtype)
        for first in range(0, len(names), width):
            with reading(self.path):
                part = enumerate(self._plain(names[first : first + width]), first)
                for index, (name, column) in part:
                    if not column.dtype.is_numeric():
                        # Only a refusal may look at the others, because that takes them out of this part.
                        others = partial(self._texts, part, names[first + width :])
                        text = first_text(column).to_numpy()
                        demand_numbers(self.path, self.theirs[name], text, is_feature=True, others=others)
                    values = column.to_numpy()
                    matrix[:, index] = values if rows is None else values[rows]
        return matrix

    def _texts(self, part: Iterable[tuple[int, tuple[str, Any]]], names: Sequence[str]) -> list[str]:
        """What the file calls the columns that begin with text, among those left in a part and further ``names``."""
        begins = map(self._as_plain, self.read(names, self.first, min(GLIMPSE, self.rows)))
        later = [*(each for _, each in part), *zip(names, begins, strict=True)]
        return [
            self.theirs[name] for name, column in later if len(first_text(column)) and not column.dtype.is_numeric()
        ]

    def _glimpses(self, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Text columns in a few rows here and there: whole ones could take memory that a small file does not show."""
        texts = [name for name in names if not self.is_read and str(self.types[name]) == "String"]
        count = min(GLIMPSE, self.rows)
        for first in sorted({*np.linspace(0, self.rows - count, GLIMPSES if texts else 0, dtype=int).tolist()}):
            yield from zip(texts, self.read(texts, self.first + first, count), strict=True)

    def _plain(self, names: Sequence[str]) -> Iterator[tuple[str, Any]]:
        columns = self.read(names, self.first, self.rows)
        if columns and len(columns[0]) != self.rows:
            raise ValueError(f"{len(columns[0])} rows came where the file promised {self.rows}")
        return ((name, self._as_plain(column)) for name, column in zip(names, columns, strict=True))

    def _as_plain(self, column: Any) -> Any:
        return plain_column(column, stays_text=column.name in self.text)

    def _array_of(self, name: str, column: Any) -> NDArray[Any]:
        """Return a column as an array; ids without gaps become strings of one width, which take less memory."""
        if str(column.dtype) != "String" or name not in self.text:
            return np.asarray(column.to_numpy())
        longest = self._demand_narrow(name, column)
        demand_memory(self.path, float(len(column)) * IDS * CHARACTER * longest)
        array: NDArray[Any] = column.to_numpy()
        # NumPy drops NUL characters at the end.
        has_gaps = column.null_count() or column.str.contains("\0", literal=True).any()
        return array if has_gaps else array.astype(np.str_)

    def _demand_narrow(self, name: str, column: Any) -> int:
        """Refuse ids that are too long; return the length of the longest."""
        longest = int(column.str.len_chars().max() or 0)
        what = f"Column {self.theirs[name]!r} of {self.path}"
        demand_narrow(what, len(column), longest, lambda: column.unique().str.len_chars().sum())
        return longest

    def _demand_memory(self, bytes_of_row: float, more: float = 0.0) -> None:
        if not self.is_read:
            demand_memory(self.path, float(self.rows) * bytes_of_row + more)


@dataclass(frozen=True, eq=False)
class FileFeatures:
    """Features in columns of a file; rows are taken as of an array.

    Attributes
    ----------
    file : ColumnFile
    names : tuple of str
        Of the columns.
    """

    file: ColumnFile
    names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.file.rows, len(self.names)

    def __getitem__(self, rows: NDArray[Any] | slice) -> NDArray[Any]:
        """Read the features of some rows, (q, d); of a slice of rows, without the others."""
        if isinstance(rows, slice):
            first, stop, _ = rows.indices(self.file.rows)
            return self.file.window(first, stop - first).take_matrix(self.names)
        return self.file.take_matrix(self.names, rows)


def open_by_column(path: Path, form: str, columns: ColumnNames, polars: ModuleType) -> ColumnFile:
    """Open a file of Parquet or Arrow, which are ``form`` in polars, without reading its columns."""
    return file_of(path, getattr(polars, f"scan_{form}")(path, glob=False), columns, polars, is_read=False)


def file_of(path: Path, scan: Any, columns: ColumnNames, polars: ModuleType, *, is_read: bool) -> ColumnFile:
    """Make a file of a lazy frame of all its columns."""
    there, rows = scan.collect_schema(), scan.select(polars.len()).collect().item()
    ours = columns.ours(path, there)
    # By position, because polars takes names such as ^x$ for patterns.
    positions = {ours[name]: position for position, name in enumerate(there) if name in ours}

    def read(names: Sequence[str], first: int, count: int) -> list[Any]:
        frame = scan.slice(first, count).select(polars.nth([positions[name] for name in names])).collect()
        return [column.alias(name) for name, column in zip(names, frame.get_columns(), strict=True)]

    types, theirs = {ours[name]: there[name] for name in ours}, {ours[name]: name for name in ours}
    left = [name for name in there if name not in ours]
    return ColumnFile(path, types, rows, read, is_read, theirs, columns.text, left)


def open_folder(folder: Path, columns: ColumnNames, polars: ModuleType) -> ColumnFile:
    """Open a folder of Parquet files with the same columns as one file, in the order of their names.

    Raises
    ------
    InputError
        If there is none, one cannot be read, or one has other columns.
    """
    with reading(folder, "a folder of Parquet files"):
        there = sorted(each for each in folder.iterdir() if each.name[0] not in "._")
    inner = next((each for each in there if each.is_dir()), None)
    if inner is not None:
        raise InputError(f"{folder} has the folder {inner.name} in it, but a folder of files was expected; move them.")
    found = [each for each in there if each.suffix.lower() == OF_PARTS]
    if not found:
        raise InputError(f"{folder} is a folder without files that end in {OF_PARTS}; give a file, or such a folder.")
    parts = []
    for path in found:
        demand_file(path)
        with reading(path):
            parts.append(open_by_column(path, "parquet", columns, polars))
    # A part without rows may have other types, because nothing shows these.
    parts = [part for part in parts if part.rows] or parts[:1]
    for part in parts[1:]:
        _demand_alike(part, parts[0])
    starts = np.cumsum([0, *(part.rows for part in parts)])

    def read(names: Sequence[str], first: int, count: int) -> list[Any]:
        frames = []
        for part, start, end in zip(parts, starts, starts[1:], strict=False):
            begin, stop = max(first, int(start)), min(first + count, int(end))
            if begin < stop:
                with reading(part.path):
                    frames.append(polars.DataFrame(part.read(names, begin - int(start), stop - begin)))
        frames = frames or [polars.DataFrame(parts[0].read(names, 0, 0))]
        return list(polars.concat(frames, how="vertical").get_columns())

    return replace(parts[0], path=folder, rows=int(starts[-1]), read=read)


def _demand_alike(part: ColumnFile, other: ColumnFile) -> None:
    """Refuse a part with other columns, or other types of columns, than the first part."""
    lacking, further = sorted(other.types.keys() - part.types.keys()), sorted(part.types.keys() - other.types.keys())
    changed = [name for name, kind in part.types.items() if other.types.get(name, kind) != kind]
    if lacking or further:
        what = f"lacks {shorten(', '.join(lacking))}" if lacking else f"has also {shorten(', '.join(further))}"
        raise InputError(f"{part.path} {what}, unlike {other.path}; give parts with the same columns.")
    if changed:
        name = changed[0]
        raise InputError(
            f"Column {name!r} is {part.types[name]} in {part.path}, but {other.types[name]} in {other.path}; give "
            "parts with the same types."
        )
