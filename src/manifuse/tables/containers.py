"""Arrays and columns of every library, read as NumPy arrays and given back. No other file knows the libraries."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import pairwise
from numbers import Number
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import NarwhalsError
from numpy.typing import NDArray
from scipy.sparse import issparse

from manifuse.errors import InputError
from manifuse.grid import many
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import is_missing, locate, repeated
from manifuse.tables.id_checks import LONGEST, demand_exact, demand_narrow, demand_visible
from manifuse.tables.row_names import name_rows


def is_torch(values: Any) -> bool:
    """Whether ``values`` is a torch tensor. This does not import torch."""
    return type(values).__module__.partition(".")[0] == "torch"


def device_of(values: Any) -> str | None:
    """Return the torch device of ``values``, or None if they are in this machine's memory."""
    return str(values.device) if is_torch(values) and values.device.type != "cpu" else None


def all_numbers(values: Any, *, what: str) -> bool:
    """Whether all values (n,) are numbers, truth values among them."""
    return all(isinstance(each, Number) for each in to_numpy(values, what=what).tolist())


def to_numpy(values: Any, *, what: str) -> NDArray[Any]:
    """Read an array, series, data frame, tensor or sequence as a NumPy array; masked entries become None.

    Raises
    ------
    InputError
        If it is none of these.
    """
    if issparse(values):
        raise InputError(f"{what} came as a sparse matrix, but an array or a table was expected; give its toarray().")
    if isinstance(values, Iterator):
        raise InputError(f"{what} came as {type(values).__name__}, but an array or a list was expected; make a list.")
    try:
        if is_torch(values):
            tensor = values.detach().cpu()
            # NumPy has no dtype for some of torch's short floats, such as bfloat16.
            short = tensor.is_floating_point() and tensor.dtype.itemsize < 4
            return np.asarray((tensor.double() if short else tensor).numpy())
        if isinstance(values, np.ma.MaskedArray):
            entries = np.ma.getdata(values).astype(object)
            entries[np.ma.getmaskarray(values)] = None
            return entries
        native = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(native, nw.LazyFrame):
            return np.asarray(native.collect().to_numpy())
        if isinstance(native, nw.DataFrame | nw.Series):
            return np.asarray(native.to_numpy())
        return np.asarray(values)
    except Exception as error:
        # Each library has errors of its own, and only that of the array that came is sure to be there.
        is_of_library = type(error).__module__.partition(".")[0] in ("polars", "pyarrow")
        if not (is_of_library or isinstance(error, NarwhalsError | ValueError | TypeError)):
            raise
        sentence = str(error).strip().partition("\n")[0].rstrip(".")
        raise InputError(f"{what} cannot be read as an array ({sentence}); give an array or a table.") from None


def columns_of(values: Any) -> tuple[str, ...] | None:
    """Return the column names of a data frame, numbers as text; None of anything else."""
    native = nw.from_native(values, pass_through=True)
    if not isinstance(native, nw.DataFrame | nw.LazyFrame):
        return None
    return tuple(map(str, native.collect_schema().names()))


def frame_of(columns: Mapping[str, Any], library: Any = None) -> Any:
    """Make a data frame of columns by name.

    Parameters
    ----------
    columns : mapping of str to sequence
    library : module, optional
        A library of data frames that narwhals knows, such as ``pandas``; ``polars`` by default.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        return nw.from_dict(columns, backend=import_module("polars") if library is None else library).to_native()
    except (NarwhalsError, TypeError, ValueError, AttributeError):
        raise InputError(
            f"{library!r} came where a library of data frames was expected; give pandas or polars."
        ) from None


#: What becomes of dates and of durations.
AS_NUMBERS = {"M": "to days since a first day", "m": "to days or hours"}


def to_floats(values: Any, *, what: str, dimensions: int, remedy: str = "reshape it") -> FloatArray:
    """Read numbers as an array with the given number of dimensions; missing values become NaN.

    ``remedy`` is what to do about another number of dimensions.

    A table of single or double precision, in memory or on disk, is returned as it is, without a copy. Everything else
    becomes an array of double precision.

    Raises
    ------
    InputError
        If there is text or a category among the numbers, or the number of dimensions differs.
    """
    array = to_numpy(values, what=what)
    # The numbers that categories are called by may have another order. The last is pandas' name outside of a series.
    if any(str(kind).partition("(")[0] in ("Categorical", "Enum", "category") for kind in _types_of(values)):
        raise InputError(f"{what} came as categories, but numbers were expected; give what each category means.")
    if array.ndim != dimensions:
        shape = "one number per row" if dimensions == 1 else "a table of rows by columns"
        raise InputError(f"{what} came with shape {array.shape}, but {shape} was expected; {remedy}.")
    entries = array.ravel().tolist() if array.dtype.kind == "O" else []
    # Text is no number, even if it looks like one: Python would read "1_000" as 1000.
    came = next((repr(str(entry)) for entry in entries if isinstance(entry, str | bytes | bytearray)), array.dtype)
    if array.dtype.kind not in "biufO" or isinstance(came, str):
        remedy = AS_NUMBERS.get(array.dtype.kind, "each category or class to a column of 0 and 1")
        raise InputError(f"{what} came as {came}, but numbers were expected; convert them, {remedy}.")
    try:
        if entries:
            numbers = [np.nan if is_missing(entry) else float(entry) for entry in entries]
            return np.array(numbers, dtype=np.float64).reshape(array.shape)
        return array if dimensions == 2 and array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} holds values that are not numbers ({error}); convert or drop them.") from None


def to_text(values: Any, *, what: str, most: float = LONGEST) -> NDArray[np.str_]:
    """Read ids as text: whole numbers in decimal digits, bytes as UTF-8, everything else by ``str``.

    Each has at most ``most`` characters.

    Raises
    ------
    InputError
        If an id is missing, is too long, is not valid text, or is a number that is not whole or may be rounded.
    """
    # Each library makes other text of times with a time zone.
    if any(getattr(kind, "tz", None) or getattr(kind, "time_zone", None) for kind in _types_of(values)):
        raise InputError(
            f"{what} holds times with a time zone, of which every library makes other text; write them as text."
        )
    # NumPy would make the text "nan" of a missing value among texts.
    listed = values if isinstance(values, (list, tuple)) else ()
    missing = [row for row, value in enumerate(listed) if is_missing(value)]
    array = to_numpy(values, what=what)
    if array.ndim != 1:
        raise InputError(f"{what} came with shape {array.shape}, but a list of ids, one id per row, was expected.")
    if array.dtype.kind in "iuU" and not missing:
        return _as_wide_as_needed(array.astype(np.str_, copy=False), what=what, most=most)
    if array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] == "ns":
        # Python's dates know no nanoseconds, and NumPy would make whole numbers of them.
        rounded = array.astype(f"{array.dtype.kind}8[us]")
        array = rounded if (np.isnat(array) | (array == rounded)).all() else array.astype(np.str_)
    values = array.tolist()
    if set(map(type, values)) == {str} and not missing:
        return _as_wide_as_needed(values, what=what, most=most)
    missing = missing or [row for row, value in enumerate(values) if is_missing(value)]
    if missing:
        raise InputError(f"{what} has no value in {name_rows(missing)}; give every row one, or leave the row out.")
    demand_exact(what, values, array.dtype)
    try:
        texts = [_text_of(value) for value in values]
    except (ValueError, OverflowError):
        raise InputError(
            f"{what} came with fractions, infinities or broken text, but whole numbers or text were expected; convert "
            "them."
        ) from None
    return _as_wide_as_needed(texts, what=what, most=most)


def to_keys(values: Any, *, what: str) -> NDArray[np.str_]:
    """Read ids as text and refuse repeated ones and those that look like others; see `to_text`.

    Raises
    ------
    InputError
        If an id occurs twice, is empty or has outer blanks, or `to_text` refuses one.
    """
    keys = to_text(values, what=what)
    demand_visible(what, keys)
    twice = repeated(keys)
    if len(twice):
        raise InputError(
            f"{what} has {many(len(twice), 'repeated value')} (first: {str(keys[twice[0]])!r}), "
            "but each row needs an id of its own; drop or rename the repeats."
        )
    return keys


def demand_one_order(what: str, *parts: Any) -> None:
    """Refuse series and data frames with the same index in different orders, because their rows go by position.

    Raises
    ------
    InputError
        If there are two.
    """
    natives = (nw.from_native(each, allow_series=True, pass_through=True) for each in parts)
    known = [nw.maybe_get_index(each) for each in natives if isinstance(each, nw.DataFrame | nw.Series)]
    indices = [each for each in known if each is not None]
    for one, other in pairwise(indices):
        if len(one) == len(other) and not one.equals(other) and set(one) == set(other):
            raise InputError(
                f"{what} came with the same index in different orders, but rows go by position; sort them alike."
            )


def rows_of(ids: Any, keys: NDArray[np.str_], *, name: str, is_sample: bool = False) -> IndexArray:
    """Return the places of ids among the ``keys`` of a table, which may be a sample of the rows that came.

    Raises
    ------
    InputError
        If the table does not have them all.
    """
    asked = to_text(ids, what="The list of ids")
    rows, known = locate(asked, keys)
    if not known.all():
        sampled = f" among the {len(keys):,} rows that were fitted" if is_sample else ""
        remedy = "these, or the row as `later` of `explain`" if is_sample else "its rows"
        raise InputError(f"{name} has no row with the id {str(asked[~known][0])!r}{sampled}; give ids of {remedy}.")
    return rows


def _types_of(values: Any) -> list[Any]:
    """Types of the columns of a data frame, or of an array or series, in its own library and in narwhals."""
    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame | nw.LazyFrame):
        return list(native.collect_schema().dtypes())
    return [getattr(each, "dtype", None) for each in (values, native)]


def _as_wide_as_needed(texts: list[str] | NDArray[np.str_], *, what: str, most: float) -> NDArray[np.str_]:
    """Make a new array of texts, as wide as the longest.

    Texts with half a character in them (a surrogate) are refused, because they cannot be written to a file.
    """
    # The lengths of an array are counted without making objects of its texts.
    lengths = np.strings.str_len(texts) if isinstance(texts, np.ndarray) else np.array([len(each) for each in texts])
    longest = int(lengths.max(initial=0))
    demand_narrow(what, len(texts), longest, lambda: sum(len(each) for each in {*texts}), most=most)
    array = np.array(texts, dtype=f"U{max(1, longest)}")
    codes = array.view(np.uint32)
    broken = np.flatnonzero((codes >= 0xD800) & (codes <= 0xDFFF))
    if len(broken):
        text = str(array[broken[0] // (array.dtype.itemsize // 4)])
        raise InputError(f"{what} holds {text!r}, which has half a character in it; write it as UTF-8.")
    return array


def _text_of(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if isinstance(value, float | np.floating):
        if not float(value).is_integer():
            raise ValueError("a fraction")
        return str(int(value))
    return str(value)
