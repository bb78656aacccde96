"""The one place that knows which library an array or a column came from."""

from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray


def is_torch(values: Any) -> bool:
    """Whether ``values`` is a torch tensor, found without importing torch."""
    return type(values).__module__.partition(".")[0] == "torch"


def to_numpy(values: Any) -> NDArray[Any]:
    """Any array, series, data frame, tensor or sequence as a NumPy array."""
    if is_torch(values):
        return np.asarray(values.detach().cpu().numpy())
    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        return native.collect().to_numpy()
    if isinstance(native, nw.DataFrame | nw.Series):
        return np.asarray(native.to_numpy())
    return np.asarray(values)


def to_floats(values: Any, *, what: str, dimensions: int) -> FloatArray:
    """Numbers as a float64 array with the given number of dimensions.

    Raises
    ------
    InputError
        If there is text among the numbers or the shape is another.
    """
    array = to_numpy(values)
    if array.ndim != dimensions:
        shape = "one number per row" if dimensions == 1 else "a table of rows by columns"
        raise InputError(f"{what} came with shape {array.shape}, but {shape} was expected; reshape it.")
    if array.dtype.kind not in "biufO":
        raise InputError(f"{what} came as {array.dtype}, but numbers were expected; convert or drop that column.")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} holds values that are not numbers ({error}); convert or drop them.") from None


def to_keys(values: Any, *, what: str) -> NDArray[np.str_]:
    """Ids as text: integers in decimal digits, anything else by ``str``.

    Raises
    ------
    InputError
        If an id is missing, is a number that is not whole, or occurs twice.
    """
    array = to_numpy(values)
    if array.ndim != 1:
        raise InputError(f"{what} came with shape {array.shape}, but one id per row was expected; flatten them.")
    missing = [row for row, value in enumerate(array.tolist()) if value is None or value != value]
    if missing:
        raise InputError(f"{what} has no value in {name_rows(missing)}; give every row an id.")
    if array.dtype.kind == "f":
        if not np.all(np.isfinite(array) & (array == np.round(array))):
            raise InputError(f"{what} holds fractions or infinities, but ids must be whole or text; convert them.")
        array = array.astype(np.int64)
    keys = np.array([str(value) for value in array.tolist()], dtype=np.str_)
    unique, first, counts = np.unique(keys, return_index=True, return_counts=True)
    if len(unique) < len(keys):
        repeated = unique[counts > 1]
        raise InputError(
            f"{what} has {len(repeated)} repeated values (first: {str(keys[first[counts > 1].min()])!r}), "
            "but each row needs an id of its own; drop or rename the repeats."
        )
    return keys


def restorer(values: Any) -> Callable[[FloatArray, IndexArray], Any]:
    """Return the function that gives results in the library that ``values`` came from.

    The function takes the numbers and the rows of ``values`` that they stand for, and keeps the dtype
    (where it is floating), the device, the name and the index.
    """
    if is_torch(values):

        def as_tensor(numbers: FloatArray, rows: IndexArray) -> Any:
            del rows
            return values.new_tensor(numbers, dtype=values.dtype if values.is_floating_point() else None)

        return as_tensor
    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):

        def as_series(numbers: FloatArray, rows: IndexArray) -> Any:
            series = nw.new_series(native.name, numbers, backend=native.implementation)
            index = nw.maybe_get_index(native)
            if index is not None:
                series = nw.maybe_set_index(series, index=index[rows])
            return series.to_native()

        return as_series
    dtype = getattr(values, "dtype", None)
    kept = dtype if isinstance(dtype, np.dtype) and dtype.kind == "f" else np.dtype(np.float64)
    return lambda numbers, rows: numbers.astype(kept)


def name_rows(rows: list[int], *, most: int = 5) -> str:
    """Name rows for a sentence: ``rows 3, 7 and 9``, or the first few and how many more."""
    shown = ", ".join(str(row) for row in rows[:most])
    rest = len(rows) - most
    return f"row{'s' if len(rows) > 1 else ''} {shown}" + (f" and {rest} more" if rest > 0 else "")
