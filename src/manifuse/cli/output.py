"""Tables as they are written: CSV, Parquet, Arrow, JSON lines and NumPy archives."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.cli.formats import FORMATS
from manifuse.errors import InputError, require
from manifuse.files import check_writable, shorten, write_together

#: Endings under which tables are written; each is read as well.
WRITTEN = (*FORMATS, ".npz")


def check_output(path: Path) -> None:
    """Refuse an output file that could not be written, before any work is done."""
    if path.suffix.lower() not in WRITTEN:
        raise InputError(f"{path} ends in {path.suffix!r}, but .csv, .parquet, .arrow, .jsonl or .npz was expected.")
    check_writable(path)


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
    # Through memory, for when a disk is full some versions of polars write a part of a file and say nothing.
    content = io.BytesIO()
    try:
        getattr(frame, f"write_{FORMATS[suffix]}")(content)
    except polars.exceptions.PolarsError as error:
        # Such as for a column that a format cannot hold.
        raise OSError(errno.EIO, shorten(error)) from None
    path.write_bytes(content.getbuffer())


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Text as fixed-width strings, which an archive holds without pickling."""
    return values.astype(np.str_) if values.dtype.kind == "O" else values
