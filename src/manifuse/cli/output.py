"""Tables as they are written: CSV, Parquet, Arrow, JSON lines and NumPy archives."""

from __future__ import annotations

import errno
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.cli.formats import FORMATS, separator_of
from manifuse.errors import InputError, require
from manifuse.files import Writer, shorten, write_together

#: Endings under which tables are written; tables with each of them can be read as well.
WRITTEN = (*FORMATS, ".npz")


def check_output(path: Path) -> None:
    """Refuse an output file whose ending names no format; `check_paths` checks the rest of its path."""
    if path.suffix.lower() not in WRITTEN:
        raise InputError(
            f"{path} ends in {path.suffix!r}, but one of {', '.join(WRITTEN)} was expected; name the output so."
        )


def refined_columns(
    ids: NDArray[Any], original: NDArray[Any], refined: Any, support: NDArray[Any], errors: NDArray[Any] | None
) -> dict[str, NDArray[Any]]:
    """Return the columns of a refined table; there is no column of standard errors if no label taught."""
    columns = {"id": ids, "score": refined, "original": original, "support": support}
    return columns if errors is None else {**columns, "error": errors}


def write_table(path: Path, columns: Mapping[str, NDArray[Any]], beside: Mapping[Path, Writer] | None = None) -> None:
    """Write a table, and other files beside it; either all of these files are written, or none."""
    others = dict(beside or {})
    write_together({**others, path: lambda file: file.write_bytes(table_bytes(path.suffix.lower(), columns))})


def table_bytes(ending: str, columns: Mapping[str, NDArray[Any]]) -> bytes | memoryview:
    """Return the content of a file with this ending that holds the columns.

    Raises
    ------
    OSError
        If the format cannot hold a column.
    """
    content = io.BytesIO()
    if ending == ".npz":
        # An archive stores text without pickling only as strings of fixed width.
        plain = {name: each.astype(np.str_) if each.dtype.kind == "O" else each for name, each in columns.items()}
        np.savez(content, **plain)  # type: ignore[arg-type]
        return content.getbuffer()
    polars = require("polars", extra="tables", purpose=f"Writing a table that ends in {ending}")
    # In memory, because on a full disk some versions of polars write a part of the file and raise no error.
    try:
        options = {"separator": separator_of(ending)} if FORMATS[ending] == "csv" else {}
        getattr(polars.DataFrame(dict(columns)), f"write_{FORMATS[ending]}")(content, **options)
    except polars.exceptions.PolarsError as error:
        raise OSError(errno.EIO, shorten(error)) from None
    return content.getbuffer()
