"""Formats of tables that polars reads: CSV, Parquet, Arrow and JSON lines."""

import csv
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from manifuse.errors import InputError
from manifuse.grid import many
from manifuse.tables.column_checks import with_decimal_points
from manifuse.tables.column_file import ENTRY, ColumnFile, file_of, open_by_column, open_folder
from manifuse.tables.column_names import AS_USUAL, ColumnNames, warn_of_unused
from manifuse.tables.id_checks import demand_exact
from manifuse.tables.paths import demand_file, demand_memory, reading

#: Endings with the names of the formats in polars, and the formats of which it can read single columns.
FORMATS = {".csv": "csv", ".tsv": "csv", ".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".jsonl": "ndjson"}
BY_COLUMN = ("parquet", "ipc")

#: The line of the first row of a file of text.
LINES = {"csv": ("line", 2), "ndjson": ("line", 1)}

#: Memory that reading text takes: the text in file sizes, and the bytes of a number, in its column and in the array.
GROWTH, NUMBER = 2, 16

#: So many cells may be missing.
FEW_CELLS = 1 << 24

#: Bytes of a file in which line feeds are counted at once.
BLOCK = 1 << 20

#: Most bytes in the header of a CSV file, and separators that may be found there.
HEADER = 1 << 24
SEPARATORS = (",", ";", "\t", "|")


def open_columns(path: Path, columns: ColumnNames = AS_USUAL) -> ColumnFile:
    """Find out which columns a file has, by our names.

    Raises
    ------
    InputError
        If the file has another ending, cannot be read, or is text that would not fit into memory.
    """
    polars, form = import_module("polars"), FORMATS.get(path.suffix.lower())
    if os.path.isdir(path):
        file = open_folder(path, columns, polars)
    elif form is None:
        raise InputError(
            f"{path} ends in {path.suffix!r}, but one of {', '.join(FORMATS)} was expected (or .npz or .h5ad for "
            "scores); save it in one of these formats (text with commas or tabs may be named .csv or .tsv)."
        )
    else:
        demand_file(path)
        with reading(path):
            read = open_by_column if form in BY_COLUMN else _whole
            file = read(path, form, columns, polars)
    for role, named in columns.unused([*file.theirs.values(), *file.dropped]):
        warn_of_unused(path, role, named)
    return file


def _whole(path: Path, form: str, columns: ColumnNames, polars: ModuleType) -> ColumnFile:
    demand_memory(path, GROWTH * path.stat().st_size)
    frame = _csv(path, columns, polars) if form == "csv" else _json_lines(path, polars)
    return file_of(path, frame.lazy(), columns, polars, is_read=True)


def _csv(path: Path, columns: ColumnNames, polars: ModuleType) -> Any:
    separator, there = _header_of(path, columns)
    ours = columns.ours(path, there)
    text = {_doubled(name): polars.String for name in ours if ours[name] in columns.text}
    _demand_cells(path, len(there), separator)
    read = partial(polars.read_csv, separator=separator, schema_overrides=text, infer_schema_length=None)
    try:
        frame = _opened(path, read).rename({_doubled(name): name for name in there if '"' in name}, strict=False)
    except Exception:
        _demand_even(path, separator, len(there))
        raise
    frame = _without_blank_end(frame)
    _demand_exact_ids(path, frame, [name for name in ours if ours[name] in columns.text])
    numbers = [name for name in ours if ours[name] not in columns.text]
    return frame if separator == "," else with_decimal_points(path, frame, numbers)


def _json_lines(path: Path, polars: ModuleType) -> Any:
    there = _opened(path, lambda file: polars.scan_ndjson(file, infer_schema_length=None).collect_schema())
    _demand_cells(path, len(there), ":")
    return _opened(path, partial(polars.read_ndjson, schema=there))


def _demand_even(path: Path, separator: str, width: int) -> None:
    """Refuse CSV that cannot be read because a line has more cells than the header; the message names the line."""
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file, suppress(csv.Error):
        for number, cells in enumerate(csv.reader(file, delimiter=separator), 1):
            if len(cells) > width:
                raise InputError(
                    f"Line {number} of {path} has {many(len(cells), 'cell')}, but the header has {width}; quote cells "
                    f"that hold {separator!r}, or correct the line."
                )


def _without_blank_end(frame: Any) -> Any:
    """Leave out the last lines if they hold nothing, as those that spreadsheets write below a table."""
    rows = frame.height
    while rows and all(cell is None for cell in frame.row(rows - 1)):
        rows -= 1
    return frame.head(rows)


def _doubled(name: str) -> str:
    """The name of a column as polars reads it: quotes within quotes stay doubled, as CSV has them."""
    return name.replace('"', '""')


def _demand_cells(path: Path, columns: int, sign: str) -> None:
    """Refuse text whose columns do not fit into memory, or take much more of it than the cells that are there.

    ``sign`` is there once for each cell, but for one of a row at most.
    """
    rows, signs = 0, 0
    with path.open("rb") as file:
        for block in iter(partial(file.read, BLOCK), b""):
            rows, signs = rows + block.count(b"\n"), signs + block.count(sign.encode())
    if rows * columns > FEW_CELLS and rows * columns > 2 * (rows + signs):
        raise InputError(
            f"{path} has {columns:,} columns, but {(rows + signs) / rows:.1f} cells in a row on average; give each "
            "row a cell for every column."
        )
    demand_memory(path, GROWTH * path.stat().st_size + float(rows) * (NUMBER * columns + ENTRY))


def _demand_exact_ids(path: Path, frame: Any, names: Sequence[str]) -> None:
    """Refuse ids that a program wrote as floats, if they may be other ids, rounded."""
    for column in frame.select(names):
        if column.str.contains(r"^-?(\d+\.0+|\d(\.\d+)?e\+\d+)$").all():
            numbers = column.cast(import_module("polars").Float64).to_numpy()
            demand_exact(f"Column {column.name!r} of {path}", numbers.tolist(), numbers.dtype)


def _separated(header: str, usual: str, known: set[str]) -> tuple[str, list[str]]:
    """Return the separator that finds a column that we know, else the most columns; and all columns that it finds."""
    found: dict[str, list[str]] = {}
    for sign in (usual, *SEPARATORS):
        with suppress(csv.Error):  # Fields are too long if this is not their separator.
            found[sign] = next(csv.reader([header], delimiter=sign), [])
    return max(found.items(), key=lambda each: (not known.isdisjoint(each[1]), len(each[1])))


def counting_in(path: Path) -> tuple[str, int]:
    """What a row of a file is called in messages, and the number of the first: lines of text, else rows from 0."""
    return LINES.get(FORMATS.get(path.suffix.lower(), ""), ("row", 0))


def separator_of(ending: str) -> str:
    """Separator of a text table with this ending."""
    return "\t" if ending.lower() == ".tsv" else ","


def _opened(path: Path, read: Callable[[Any], Any]) -> Any:
    # An opened file, because polars takes brackets and stars in a name for a pattern.
    with path.open("rb") as file:
        return read(file)


def _header_of(path: Path, columns: ColumnNames) -> tuple[str, list[str]]:
    """Return the separator and the column names of a CSV file.

    It is the usual separator, unless only another one finds columns that we know. The first line is refused if it has
    another encoding, is a hint to spreadsheets, or has names that repeat or are missing.
    """
    with path.open("rb") as file:
        line, second = file.readline(HEADER), file.readline(HEADER)
    if len(line) == HEADER and not line.endswith(b"\n"):
        raise InputError(
            f"The first line of {path} has more than {HEADER >> 20} MiB, which is too long for a header; check that "
            "its lines end in line feeds, or save the table as Parquet."
        )
    if line.lower().startswith(b"sep="):
        raise InputError(f"{path} begins with a hint to spreadsheets, not with a header; delete its first line.")
    try:
        # Text in UTF-16 or UTF-32 has zero bytes, which no header has; the byte 255 is never part of UTF-8.
        header = line.replace(b"\0", b"\xff").decode("utf-8-sig").rstrip("\r\n")
        if "\r" in header:
            raise InputError(f"{path} has lines that end in a carriage return alone; save it with line feeds.")
        usual = separator_of(path.suffix)
        names = next(csv.reader([header], delimiter=usual), [])
    except UnicodeDecodeError:
        raise InputError(f"The first line of {path} is not text in UTF-8; save the table as CSV in UTF-8.") from None
    except csv.Error as error:
        raise InputError(f"The first line of {path} is not a header ({error}); save the table as CSV.") from None
    separator, known = usual, {*columns.id, *columns.score, *columns.label, *columns.roles, *columns.text}
    if known.isdisjoint(names):
        separator, names = _separated(header, usual, known)
    cells = second.count(usual.encode()) + 1
    if len(names) == 1 < cells:
        said = f"Line 1 of {path} has one cell, and line 2 has {cells}"
        raise InputError(f"{said}; if a title stands above the header, delete it.")
    if names.count("") > 1:
        raise InputError(f"{path} has {names.count('')} columns without a name; name them, or leave them out.")
    counts = Counter(names)
    repeated = next((name for name in names if counts[name] > 1), None)
    if repeated is not None:
        raise InputError(f"{path} has two columns named {repeated!r}; rename one of them.")
    return separator, names
