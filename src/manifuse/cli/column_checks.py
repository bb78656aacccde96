"""Columns of a table: what stands in them as numbers or as ids, and what is refused."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.files import shorten

Columns = dict[str, NDArray[Any]]

#: Columns that stay the text they are, so that ids keep their zeros.
TEXT_COLUMNS = ("id", "better", "worse", "main", "reference", "table")

#: How dates are written in text, ISO 8601, and how many of each unit of time make a day.
DATES = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f")
PER_DAY = {"ns": 86_400e9, "us": 86_400e6, "ms": 86_400e3}


def plain_column(column: Any) -> Any:
    """Numbers of every kind as NumPy has them, dates and times as days, ids as text or whole numbers.

    Parameters
    ----------
    column : polars.Series

    Returns
    -------
    polars.Series
    """
    polars = import_module("polars")
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


def demand_columns(path: Path, there: Iterable[str], *names: str) -> None:
    """Refuse a table that lacks a column.

    Raises
    ------
    InputError
        If one of ``names`` is not among those that are there.
    """
    there = list(there)
    for name in names:
        if name not in there:
            known = shorten(", ".join(there)) or "none"
            raise InputError(f"{path} has no {name!r} (it has: {known}); rename the column that holds it.")


def choose_columns(path: Path, there: Iterable[str], pattern: str) -> list[str]:
    """Names of columns that match ``--features`` from the start.

    Raises
    ------
    InputError
        If it is no regular expression, or no name matches.
    """
    try:
        chosen = re.compile(pattern.encode().decode())
    except (re.error, UnicodeEncodeError) as error:
        raise InputError(f"--features {pattern!r} is no regular expression ({error}); mend it.") from None
    names = [name for name in there if chosen.match(name)]
    if not names:
        raise InputError(f"No column of {path} matches --features {pattern!r}; choose another expression.")
    return names


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


def demand_visible(path: Path, name: str, ids: NDArray[Any]) -> None:
    """Refuse ids that look like others and are not equal to them: with blanks about them, or nothing to be seen.

    Raises
    ------
    InputError
        If there is one; the sentence names it.
    """
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
