"""Columns of a table: which values are numbers or ids, and which are refused."""

import re
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.files import shorten
from manifuse.grid import told_apart
from manifuse.kernels.keys import NOT_AVAILABLE
from manifuse.tables.class_columns import expression_of
from manifuse.tables.id_checks import LONGEST, exact_below

#: What to do with scores that name a class.
OF_CLASSES = ", or, if it names classes, give a column of 0 and 1 for each, and name these with `classes`"

#: What to do with values of which a limit is known.
OF_LIMITS = "write the limit as a number (errors that labels report are then too small)"

#: What other programs write for a missing value.
MISSING = ("na", "n/a", "n.a.", "k.a.", "nan", "null", "none", "-", "?", ".")

#: A limit in place of a value, below or above which the value is.
LIMIT = re.compile(r"\s*[<>\u2264\u2265]=?\s*[+-]?[\d.]+(e[+-]?\d+)?\s*", re.IGNORECASE)

#: Numbers that may have a decimal comma, and those of which the comma may also stand between thousands.
NUMBER, THOUSANDS = r"^[+-]?\d+(,\d+)?([eE][+-]?\d+)?$", r"^[+-]?[1-9]\d{0,2},\d{3}$"

#: A number with the sign of a unit before or after it.
WITH_SIGN = re.compile(
    r"\s*[+-]?\s*(?:([$\u00a3\u20ac])\s*[+-]?[\d.,]+|[\d.,]+(?:e[+-]?\d+)?\s*([%$\u00a3\u20ac]))\s*", re.IGNORECASE
)

#: A number with a decimal comma, or with commas between thousands.
WITH_COMMA = re.compile(r"\s*[+-]?\d[\d,.]*,\d+(\.\d*)?(e[+-]?\d+)?\s*", re.IGNORECASE)

#: A date, year first as ISO 8601 writes it, or last; perhaps with a time.
DATE = re.compile(r"(\d{4}-\d\d-\d\d|\d\d?[./-]\d\d?[./-]\d{4})([T ].*)?")


def plain_column(column: Any, *, stays_text: bool) -> Any:
    """Convert numbers of every kind to those of NumPy, and dates, times and long or binary ids to text.

    Parameters
    ----------
    column : polars.Series
    stays_text : bool
        Whether its values are ids or names.

    Returns
    -------
    polars.Series
    """
    polars = import_module("polars")
    # NumPy has no integers of 128 bits.
    is_long = str(column.dtype) in ("Int128", "UInt128")
    if stays_text:
        if column.dtype.is_nested():
            raise ValueError(f"column {column.name!r} holds {column.dtype}, not ids")
        if getattr(column.dtype, "time_zone", None):
            # The same time is other text in each zone.
            raise ValueError(f"column {column.name!r} holds times with a time zone; write them as text")
        if column.dtype.is_float() and column.is_finite().all():
            # So that they are not written as 1e15.
            whole = column.cast(polars.Int64, strict=False)
            is_exact = (column.abs() < exact_below(column.head(0).to_numpy().dtype)).all()
            return whole if is_exact and (whole == column).all() else column
        # NumPy would make floats of integers with gaps.
        is_text = is_long or column.dtype == polars.Binary or (column.dtype.is_integer() and column.null_count())
        return column.cast(polars.String) if is_text else column
    # NumPy would make several columns of these.
    if isinstance(column.dtype, polars.Struct):
        return column.struct.json_encode()
    if isinstance(column.dtype, polars.Array):
        return column.arr.to_list()
    if column.dtype == polars.String:
        # Nothing longer is a number, a date or a name.
        column = column.str.head(LONGEST + 1).replace("", None)  # A blank cell may have quotes.
        numbers, words = _numbers_and_words(column)
        return column if len(words) else numbers
    if column.dtype == polars.Duration:
        return column.dt.to_string("polars")
    if column.dtype.is_temporal():
        return column.cast(polars.String)
    return column.cast(polars.Float64) if is_long or column.dtype in (polars.Decimal, polars.Boolean) else column


def demand_columns(
    path: Path,
    theirs: Mapping[str, str],
    *names: str,
    also: Mapping[str, Sequence[str]] | None = None,
    dropped: Collection[str] = (),
    or_classes: bool = True,
) -> None:
    """Refuse a table that lacks a column, or of which it is ``dropped``.

    Raises
    ------
    InputError
        If one of ``names`` is not in ``theirs``, which has what the file calls each column. It could ``also`` have
        other names. ``or_classes`` says whether classes may come in place of a score.
    """
    for name in names:
        if name in dropped and name not in theirs:
            raise InputError(
                f"`drop` {name} came, but {path} has its {name} in that column; keep it, or name another with "
                f"`{name}`."
            )
        if name not in theirs:
            known = shorten(told_apart(theirs.values())) or "none"
            remedy = f", or name it with `{name}`" if name in ("id", "score") else ""
            if name == "score" and or_classes:
                remedy += ", or name columns of class probabilities with `classes`"
            if name == "score" and "label" in theirs:
                remedy += "; if it holds labels, give it as `labels`"
            sought = " or ".join(repr(each) for each in dict.fromkeys((*(also or {}).get(name, ()), name)))
            raise InputError(f"{path} has no {sought} (it has: {known}); rename the column that holds it{remedy}.")


def choose_columns(path: Path, there: Sequence[str], pattern: str) -> list[str]:
    """Choose the columns whose names start with a match of ``--features``.

    Raises
    ------
    InputError
        If the pattern is not a regular expression, or no name matches.
    """
    chosen = expression_of(pattern, "features")
    names = [name for name in there if chosen.match(name)]
    if not names:
        known = shorten(told_apart(there))
        raise InputError(
            f"No column of {path} has a name that starts with a match of `features` {pattern!r} (it has: {known}); "
            "choose an expression that matches a column of every table, such as '.*'."
        )
    return names


def first_text(column: Any) -> Any:
    """Of a column of text, a series of the first entry that is no number; of others, the column.

    An entry that is no number with a decimal comma either comes first: because of it, no decimal comma was read.
    """
    if column.dtype != import_module("polars").String:
        return column
    _, words = _numbers_and_words(column)
    other = words.filter(~words.str.strip_chars().str.contains(NUMBER))
    return (other if len(other) else words).head(1)


def _numbers_and_words(column: Any) -> tuple[Any, Any]:
    """The numbers (n,) of a column of text, null where there is none, and the cells that neither are one nor NA."""
    cells = column.str.strip_chars()
    numbers = cells.cast(import_module("polars").Float64, strict=False)
    return numbers, column.filter(numbers.is_null() & column.is_not_null() & (cells != NOT_AVAILABLE))


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


def demand_numbers(
    path: Path,
    name: str,
    values: NDArray[Any],
    *,
    is_feature: bool = False,
    instead: str = "",
    others: Callable[[], Sequence[str]] = tuple,
) -> None:
    """Refuse a column that holds anything but numbers; ``name`` is what the file calls it.

    ``instead`` is a remedy for other text. ``others`` says which other columns hold text, too; it is asked if there is
    a refusal.

    Raises
    ------
    InputError
        If it does; the message shows the first entry that is not a number.
    """
    known = [] if values.dtype.kind in "biuf" else [value for value in values.tolist() if value is not None]
    if known:
        sample = next((value for value in known if not _is_number(value)), known[0])
        shown = " ".join(reprlib.repr(sample).split())  # arrays in a column print over several lines
        text, or_drop = sample if isinstance(sample, str) else "", ", or leave it out with `drop`"
        signed = WITH_SIGN.fullmatch(text)
        remedies = (
            (WITH_COMMA.fullmatch(text), " (numbers have a decimal point, and nothing between thousands)"),
            (is_feature and DATE.fullmatch(text), f", give dates as days since a first day{or_drop}"),
            (text.strip().lower() in MISSING, ", and leave cells of missing values empty"),
            (LIMIT.fullmatch(text), f", {OF_LIMITS}"),
            (signed, f", without the {signed and (signed[1] or signed[2])} sign"),
            (np.ndim(sample) > 0, ", and give each of its entries a column"),
            (instead, instead),
            (is_feature, f", encode categories as columns of 0 and 1{or_drop}"),
        )
        remedy = next((said for holds, said in remedies if holds), "")
        also = list(map(repr, others()))
        more = f" (so {'does' if len(also) == 1 else 'do'} {shorten(', '.join(also))})" if also else ""
        raise InputError(
            f"Column {name!r} of {path} holds {shown} where numbers were expected{more}; correct it{remedy}."
        )


def _is_number(value: Any) -> bool:
    if isinstance(value, str) and "_" in value:
        return False  # Python reads 1_000 as a number; no table should.
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
