"""Tables as they are written: CSV, Parquet, Arrow, JSON lines and NumPy archives."""

import errno
import io
import re
from collections.abc import Mapping
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError, warn
from manifuse.files import Writer, shorten, unfinished, write_together, writing
from manifuse.tables.formats import FORMATS, separator_of

#: Endings under which tables are written; tables with each of them can be read as well.
WRITTEN = (*FORMATS, ".npz")

#: What a spreadsheet takes for a formula, other than a number with a sign.
FORMULA = re.compile(r"(?![+-]?\d+(\.\d*)?$)[=+@-]")


def check_output(path: Path) -> None:
    """Refuse an output file whose ending names no format; `check_paths` checks the rest of its path."""
    if path.suffix.lower() not in WRITTEN:
        raise InputError(
            f"{path} ends in {path.suffix!r}, but one of {', '.join(WRITTEN)} was expected; name the output so."
        )


class TableWriter(ExitStack):
    """Writes a table part by part. Parquet files are written in constant memory, all others at the end.

    No file appears before `finish`. Leaving the ``with`` block removes unfinished files.

    Parameters
    ----------
    path : Path
    escape : bool
        Whether CSV has an apostrophe before ids and names of classes that a spreadsheet would run as formulas.
    classes : mapping of str to str, optional
        The name of each class by that of its column.

    Attributes
    ----------
    rows : int
        Rows added so far.
    """

    def __init__(self, path: Path, *, escape: bool = False, classes: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._path = path
        self._escape, self._classes = escape, classes
        self._columns: list[Mapping[str, NDArray[Any]]] = []
        self._parts: list[Path] = []
        self.rows = 0

    def add(self, columns: Mapping[str, NDArray[Any]]) -> None:
        """Add rows; the first column has the ids.

        Raises
        ------
        InputError
            If the disk is full.
        """
        self.rows += len(next(iter(columns.values())))
        if self._path.suffix.lower() != ".parquet":
            self._columns.append(columns)
            return
        with writing(self._path):
            folder = self._parts[0].parent if self._parts else self.enter_context(unfinished(self._path))
            self._parts.append(folder / f"{len(self._parts)}.parquet")
            self._parts[-1].write_bytes(table_bytes(".parquet", columns))

    def finish(self, beside: Mapping[Path, Writer] | None = None) -> None:
        """Let the table appear, and other files beside it; either all of them are written, or none.

        Warns
        -----
        ManifuseWarning
            If a spreadsheet would run ids or names of classes as formulas.
        """
        write_together({**(beside or {}), self._path: self._join if self._parts else self._writer_of_all()})

    def _writer_of_all(self) -> Writer:
        """Return a function that writes all rows that were added."""
        ending = self._path.suffix.lower()
        columns = {name: np.concatenate([part[name] for part in self._columns]) for name in self._columns[0]}
        if FORMATS.get(ending) == "csv":
            columns |= self._texts(columns)
        return lambda file: file.write_bytes(table_bytes(ending, columns, self._classes))

    def _texts(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return columns of text as a spreadsheet may open them; warn of formulas, or escape them."""
        texts = {name: list(map(str, each.tolist())) for name, each in columns.items() if each.dtype.kind in "OU"}
        risky = next((each for column in texts.values() for each in column if FORMULA.match(each)), None)
        if risky is None:
            return {}
        if not self._escape:
            warn(
                "formulas",
                f"{self._path} has text such as {risky!r}, which a spreadsheet would run as a formula; if one is to "
                "open it, write Parquet, or set `escape_formulas`.",
            )
            return {}
        escaped = {name: [f"'{each}" if FORMULA.match(each) else each for each in texts[name]] for name in texts}
        ids = escaped.get(next(iter(columns)), [])
        if len(set(ids)) < len(ids):
            raise InputError(f"{self._path} would have equal ids with `escape_formulas`; write Parquet.")
        return {name: np.array(column) for name, column in escaped.items()}

    def _join(self, file: Path) -> None:
        polars = import_module("polars")
        try:
            polars.scan_parquet(self._parts, glob=False).sink_parquet(file, maintain_order=True)
            # On a full disk some versions of polars write a part of the file and raise no error.
            rows = polars.scan_parquet(file, glob=False).select(polars.len()).collect().item()
        except polars.exceptions.PolarsError as error:
            raise OSError(errno.EIO, shorten(error)) from None
        if rows != self.rows:
            raise OSError(errno.EIO, f"{rows} rows are there after {self.rows} were written")


def table_bytes(
    ending: str, columns: Mapping[str, NDArray[Any]], classes: Mapping[str, str] | None = None
) -> bytes | memoryview:
    """Return the content of a file with this ending that holds the columns.

    An archive has names of its own: the ids are ``id``, and the probabilities of ``classes`` one array, ``score``.

    Raises
    ------
    OSError
        If the format cannot hold a column.
    """
    content = io.BytesIO()
    if ending == ".npz":
        # An archive stores text without pickling only as strings of fixed width.
        plain = {name: each.astype(np.str_) if each.dtype.kind == "O" else each for name, each in columns.items()}
        plain = {"id": plain.pop(next(iter(plain)))} | plain
        if classes:
            probabilities = np.column_stack([plain.pop(name) for name in classes])
            plain |= {"score": probabilities, "classes": np.array(list(classes.values()))}
        np.savez(content, **plain)  # type: ignore[arg-type]
        return content.getbuffer()
    polars = import_module("polars")
    # In memory, because on a full disk some versions of polars write a part of the file and raise no error.
    try:
        options = {"separator": separator_of(ending)} if FORMATS[ending] == "csv" else {}
        getattr(polars.DataFrame(dict(columns)), f"write_{FORMATS[ending]}")(content, **options)
    except polars.exceptions.PolarsError as error:
        raise OSError(errno.EIO, shorten(error)) from None
    return content.getbuffer()
