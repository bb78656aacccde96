"""Decimal commas in CSV, which are read as such where they can be nothing else."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from manifuse.errors import InputError
from manifuse.kernels.keys import NOT_AVAILABLE

#: Numbers that may have a decimal comma, and those of which the comma may also stand between thousands.
NUMBER, THOUSANDS = r"^[+-]?\d+(,\d+)?([eE][+-]?\d+)?$", r"^[+-]?[1-9]\d{0,2},\d{3}$"


def with_decimal_points(path: Path, frame: Any, names: Iterable[str]) -> Any:
    """Return a table whose cells no comma separates, with numbers in place of text that has decimal commas.

    Parameters
    ----------
    path : Path
        For messages.
    frame : polars.DataFrame
    names : iterable of str
        Columns that should be numbers.

    Raises
    ------
    InputError
        If there are decimal commas in one column and decimal points in another.
    """
    polars, found, certain = import_module("polars"), [], None
    columns = [frame[name] for name in names]
    for column in columns:
        if column.dtype == polars.String:
            cells = column.str.strip_chars().replace(["", NOT_AVAILABLE], None)
            commas = cells.filter(cells.str.contains(",", literal=True))
            if len(commas) and (cells.is_null() | cells.str.contains(NUMBER)).all():
                found.append(cells)
                decimal = commas.filter(~commas.str.contains(THOUSANDS))
                certain = decimal if certain is None and len(decimal) else certain
    if certain is None:
        return frame
    pointed = next((each for each in columns if each.dtype.is_float() and each.count()), None)
    if pointed is not None:
        raise InputError(
            f"{path} has decimal commas in the column {certain.name!r} ({certain[0]!r}), but points in numbers of "
            f"{pointed.name!r}; write all numbers alike, and nothing between thousands."
        )
    return frame.with_columns(each.str.replace(",", ".", literal=True).cast(polars.Float64) for each in found)
