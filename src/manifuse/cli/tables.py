"""Tables in and out of files: CSV, Parquet, Arrow, JSON lines, NumPy archives, and annotated data to read."""

from __future__ import annotations

import codecs
import csv
import errno
import io
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from os.path import realpath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from manifuse.diffusion.containers import to_text
from manifuse.diffusion.observations import Observations
from manifuse.errors import InputError, require
from manifuse.files import check_name, check_size, check_writable, demand_memory, read_archive, shorten, write_together

Columns = dict[str, NDArray[Any]]

#: Endings under which tables are written; each is read as well.
WRITTEN = (".csv", ".parquet", ".arrow", ".feather", ".jsonl", ".npz")

#: Columns that stay the text they are, so that ids keep their zeros.
TEXT_COLUMNS = ("id", "better", "worse", "main", "reference", "table")

#: Memory that reading a table takes, in sizes of its file: what was read, as columns, as an array, and to spare.
GROWTH = 4

#: Bytes in which the header of a CSV file ends, and what may stand between its names where commas should.
HEADER = 1 << 20
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}

#: How dates are written in text, ISO 8601, and how many of each unit of time make a day.
DATES = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f")
PER_DAY = {"ns": 86_400e9, "us": 86_400e6, "ms": 86_400e3}


@dataclass(frozen=True, eq=False)
class Table:
    """One table of scores as it stood in a file.

    Attributes
    ----------
    name : str
        The file's name without its ending.
    ids : (n,) array
    scores : (n,) array
    features : (n, d) array or None
    """

    name: str
    ids: NDArray[Any]
    scores: NDArray[Any]
    features: NDArray[Any] | None


def read_table(given: str, *, features: str | None = None) -> Table:
    """Read a table of ids, scores and features.

    Parameters
    ----------
    given : str
        A file with columns ``id`` and ``score``, every other column a feature; or an archive (``.npz``) of
        arrays ``ids``, ``scores`` and ``features``. ``FILE::FEATURES.npy`` takes the features from a file
        of their own, in the same row order. Of annotated data (``.h5ad``), ids are the ``obs_names``, the score
        a column of ``obs``, features an entry of ``obsm``, which ``FILE::ENTRY`` names where there are several.
    features : str, optional
        A regular expression that the names of feature columns match from the start.

    Raises
    ------
    InputError
        If the file cannot be read as that.
    """
    file, _, features_file = given.partition("::")
    path = Path(file)
    if path.suffix.lower() == ".h5ad":
        if features is not None:
            raise InputError(f"--features chooses among columns, but {path} has entries; write {path}::ENTRY.")
        return read_annotated(path, features_file)
    if path.suffix.lower() == ".npz":
        if features is not None:
            raise InputError(f"--features chooses among columns, but {path} is an archive; leave it out.")
        _demand_file(path)
        columns = read_archive(path)
        _demand(path, columns, "ids", "scores")
        table = columns.get("features")
        ids, scores = to_text(columns["ids"], what=f"The id column of {path}"), columns["scores"]
        _demand_visible(path, "ids", ids)
    else:
        columns = read_columns(path)
        _demand(path, columns, "id", "score")
        ids, scores = columns.pop("id"), columns.pop("score")
        demand_numbers(path, {"score": scores})
        table = None if features_file else _feature_table(path, columns, features)
    if features_file:
        table = read_features(Path(features_file))
    return Table(path.stem, ids, scores, table)


def read_annotated(path: Path, entry: str) -> Table:
    """Read annotated data: ids are the ``obs_names``, scores the column ``score`` of ``obs``.

    Parameters
    ----------
    path : Path
    entry : str
        Of ``obsm``, that holds the features; may be empty where there are none, or only one.

    Raises
    ------
    InputError
        If the file cannot be read as that.
    """
    anndata = require("anndata", extra="anndata", purpose=f"Reading {path}")
    h5py = require("h5py", extra="anndata", purpose=f"Reading {path}")
    _demand_file(path)
    try:
        with h5py.File(path, "r") as file:
            demand_memory(path, _annotated_size(file, h5py))
        # Backed: the matrix, which nobody asks for here, stays in the file.
        cells = anndata.read_h5ad(path, backed="r")
    except InputError:
        raise
    except Exception as error:
        # The reader promises nothing of what a damaged file makes it raise.
        raise InputError(f"{path} cannot be read as annotated data ({shorten(error)}); check what it is.") from None
    with closing(cells.file):
        columns = {str(name): cells.obs[name].to_numpy() for name in cells.obs.columns}
        _demand(path, columns, "score")
        demand_numbers(path, {"score": columns["score"]})
        _demand_visible(path, "obs_names", cells.obs_names.to_numpy())
        entries = list(cells.obsm)
        if entry not in entries and (entry or len(entries) > 1):
            there = ", ".join(entries) or "none"
            raise InputError(f"{path} has in obsm: {there}; name the one that holds the features as {path}::ENTRY.")
        table = cells.obsm[entry or entries[0]] if entries else None
        is_sparse = issparse(table)
        if table is not None:
            table = np.asarray(table.toarray() if is_sparse else table)
        return Table(path.stem, cells.obs_names.to_numpy(), columns["score"], table)


def _annotated_size(file: Any, h5py: Any) -> float:
    """Bytes that all but the matrix come to in memory, by the shapes that the file names; sparse entries in full."""
    sizes: list[float] = []

    def add(name: str, entry: Any) -> None:
        if name.partition("/")[0] in ("X", "raw"):
            return
        if isinstance(entry, h5py.Dataset):
            sizes.append(float(entry.size or 0) * entry.dtype.itemsize)
        elif name.startswith("obsm/") and "shape" in entry.attrs:
            sizes.append(8.0 * float(np.prod(entry.attrs["shape"], dtype=np.float64)))

    file.visititems(add)
    return sum(sizes)


def observe(table: Table, *, drop: bool) -> Observations:
    """Check a table; rows with values that are not finite are dropped or refused."""
    return Observations(
        table.scores, table.features, ids=table.ids, name=table.name, invalid="drop" if drop else "refuse"
    )


def read_columns(path: Path) -> Columns:
    """Read every column of a table; ids stay the text they are."""
    polars = require("polars", extra="tables", purpose=f"Reading {path}")
    text = dict.fromkeys(TEXT_COLUMNS, polars.String)
    readers: dict[str, Callable[[Any], Any]] = {
        ".csv": lambda file: polars.read_csv(file, schema_overrides=text, infer_schema_length=None),
        ".parquet": polars.read_parquet,
        ".arrow": polars.read_ipc,
        ".feather": polars.read_ipc,
        ".jsonl": lambda file: polars.read_ndjson(file, infer_schema_length=None),
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(
            f"{path} ends in {path.suffix!r}, but one of {', '.join(readers)} was expected (or .npz for scores)."
        )
    _demand_file(path)
    check_size(path, growth=GROWTH)
    try:
        if path.suffix.lower() == ".csv":
            _check_header(path)
        # An opened file, for polars takes brackets and stars in a name for a pattern.
        with path.open("rb") as file:
            frame = reader(file)
        columns = {name: _plain_column(frame[name], polars).to_numpy() for name in frame.columns}
    except InputError:
        raise
    # What a damaged file makes the reader raise is not promised; a panic of it is not even an Exception.
    except (Exception, polars.exceptions.PanicException) as error:
        remedy = "save it as UTF-8" if "utf-8" in str(error) else "check what it is"
        raise InputError(f"{path} cannot be read as {path.suffix[1:]} ({shorten(error)}); {remedy}.") from None
    for name in TEXT_COLUMNS:
        if name in columns:
            _demand_visible(path, name, columns[name])
    return columns


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


def _plain_column(column: Any, polars: Any) -> Any:
    """Numbers of every kind as NumPy has them, dates and times as days, ids as text or whole numbers."""
    # NumPy has no whole numbers as long as these.
    is_long = str(column.dtype) in ("Int128", "UInt128")
    if column.name in TEXT_COLUMNS:
        if column.dtype.is_nested():
            raise ValueError(f"column {column.name!r} holds {column.dtype}, not ids")
        return column.cast(polars.String) if is_long or column.dtype == polars.Binary else column
    if column.dtype == polars.String:
        numbers = column.str.strip_chars().cast(polars.Float64, strict=False)
        if numbers.null_count() == column.null_count():
            return numbers
        dates = (column.str.to_date("%Y-%m-%d", strict=False), *(_times(column, pattern) for pattern in DATES))
        return next((_days(date, polars) for date in dates if date.null_count() == column.null_count()), column)
    if column.dtype.is_temporal():
        return _days(column, polars)
    return column.cast(polars.Float64) if is_long or column.dtype in (polars.Decimal, polars.Boolean) else column


def _times(column: Any, pattern: str) -> Any:
    return column.str.to_datetime(pattern, time_unit="us", strict=False)


def _days(column: Any, polars: Any) -> Any:
    """Dates as days since 1970, times and durations as days."""
    numbers = column.to_physical().cast(polars.Float64)
    # Times of day count nanoseconds.
    return numbers if column.dtype == polars.Date else numbers / PER_DAY[getattr(column.dtype, "time_unit", "ns")]


def read_features(path: Path) -> NDArray[Any]:
    """Read a feature matrix from a ``.npy`` file."""
    if path.suffix.lower() != ".npy":
        raise InputError(f"{path} ends in {path.suffix!r}, but features of their own come as .npy; save them so.")
    _demand_file(path)
    check_size(path)
    try:
        with path.open("rb") as file:
            return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
    except Exception as error:
        # The reader promises nothing of what a damaged file makes it raise.
        raise InputError(f"{path} cannot be read as a NumPy array ({shorten(error)}); check what it is.") from None


def check_output(path: Path) -> None:
    """Refuse an output file that could not be written, before any work is done."""
    if path.suffix.lower() not in WRITTEN:
        raise InputError(f"{path} ends in {path.suffix!r}, but .csv, .parquet, .arrow, .jsonl or .npz was expected.")
    check_writable(path)


def check_paths(*, read: Iterable[Path | str | None], written: Iterable[Path | None]) -> None:
    """Refuse to write over what is read, or two results into one file, before any work is done.

    Parameters
    ----------
    read : iterable of path-like or None
        Tables as `read_table` takes them, features in files of their own included, and other files.
    written : iterable of Path or None

    Raises
    ------
    InputError
        If a file is in both, or is written twice; or one could not be written, or a name is no text.
    """
    parts = [part for given in read if given is not None for part in str(given).split("::", 1) if part]
    for part in parts:
        check_name(Path(part))
    taken = {realpath(part) for part in parts}
    for path in written:
        if path is None:
            continue
        check_writable(path)
        if realpath(path) in taken:
            raise InputError(f"{path} would be written over what is read, or twice; give it a name of its own.")
        taken.add(realpath(path))


def write_table(path: Path, columns: Mapping[str, NDArray[Any]], *, beside: Mapping[Path, str] | None = None) -> None:
    """Write a table whole or not at all, and texts beside it, which are there as soon as it is."""
    texts: dict[Path, Callable[[Path], None]] = {
        other: lambda temporary, text=text: _write_text(temporary, text)  # type: ignore[misc]
        for other, text in (beside or {}).items()
    }
    write_together({**texts, path: lambda temporary: _write(temporary, path.suffix.lower(), columns)})


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write(path: Path, suffix: str, columns: Mapping[str, NDArray[Any]]) -> None:
    if suffix == ".npz":
        # An opened file, for savez appends .npz to names that do not end in just that.
        with path.open("wb") as file:
            np.savez(file, **{name: _plain(values) for name, values in columns.items()})  # type: ignore[arg-type]
        return
    polars = require("polars", extra="tables", purpose=f"Writing {path}")
    frame = polars.DataFrame(dict(columns))
    writers = {
        ".csv": frame.write_csv,
        ".parquet": frame.write_parquet,
        ".arrow": frame.write_ipc,
        ".feather": frame.write_ipc,
        ".jsonl": frame.write_ndjson,
    }
    # Through memory, for when a disk is full some versions of polars write a part of a file and say nothing.
    content = io.BytesIO()
    try:
        writers[suffix](content)
    except polars.exceptions.PolarsError as error:
        # Such as for a column that a format cannot hold.
        raise OSError(errno.EIO, shorten(error)) from None
    path.write_bytes(content.getbuffer())


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Text as fixed-width strings, which an archive holds without pickling."""
    return values.astype(np.str_) if values.dtype.kind == "O" else values


def _feature_table(path: Path, columns: Columns, pattern: str | None) -> NDArray[Any] | None:
    if pattern is not None:
        try:
            chosen = re.compile(pattern.encode().decode())
        except (re.error, UnicodeEncodeError) as error:
            raise InputError(f"--features {pattern!r} is no regular expression ({error}); mend it.") from None
        columns = {name: values for name, values in columns.items() if chosen.match(name)}
        if not columns:
            raise InputError(f"No column of {path} matches --features {pattern!r}; choose another expression.")
    demand_numbers(path, columns)
    return np.column_stack([values.astype(np.float64) for values in columns.values()]) if columns else None


def demand_numbers(path: Path, columns: Columns) -> None:
    """Refuse columns of something else than numbers.

    Raises
    ------
    InputError
        If there is one; the sentence names its first entry that is no number.
    """
    for name, values in columns.items():
        if values.dtype.kind not in "biuf" and not _is_missing(values):
            known = [value for value in values.tolist() if value is not None]
            sample = next((value for value in known if not _is_number(value)), known[0])
            shown = " ".join(reprlib.repr(sample).split())  # arrays in a column print over several lines
            remedy = (
                ""
                if name in ("score", "label")
                else (", encode categories as columns of 0 and 1, or choose the feature columns with --features")
            )
            raise InputError(f"Column {name!r} of {path} holds {shown} where numbers were expected; mend it{remedy}.")


def _demand_visible(path: Path, name: str, ids: NDArray[Any]) -> None:
    """Refuse ids that look like others and are not equal to them: with blanks about them, or nothing to be seen."""
    strange = next((i for i in ids.tolist() if isinstance(i, str) and (not i or i != i.strip() or "\0" in i)), None)
    if strange is not None:
        raise InputError(
            f"Column {name!r} of {path} holds {reprlib.repr(strange)}, but ids without blanks about them were "
            "expected; take the blanks off."
        )


def _is_missing(values: NDArray[Any]) -> bool:
    return all(value is None for value in values.tolist())


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _demand(path: Path, columns: Columns, *names: str) -> None:
    for name in names:
        if name not in columns:
            there = shorten(", ".join(columns)) or "none"
            raise InputError(f"{path} has no {name!r} (it has: {there}); rename the column that holds it.")


def _demand_file(path: Path) -> None:
    check_name(path)
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise InputError(f"{path} cannot be looked at ({error.strerror}); check the name.") from None
    if size is None:
        raise InputError(f"{path} is not there; check the name.")
    if size == 0:
        raise InputError(f"{path} is empty; a table needs a header and at least three rows.")
