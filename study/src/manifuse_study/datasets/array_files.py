"""Arrays in the files of a data set: read without executing anything in the files, and checked."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.archives import read_archive


def read_arrays(path: Path, names: Iterable[str] = ()) -> dict[str, NDArray[Any]]:
    """Read every array of a NumPy archive (``.npz``) or of a MATLAB file up to version 7 (``.mat``).

    Parameters
    ----------
    path : Path
    names : iterable of str
        Arrays that must be there.

    Returns
    -------
    dict of str to array
        MATLAB's cell arrays become arrays of objects.

    Raises
    ------
    InputError
        If the file is damaged, has another format, or lacks one of the arrays.
    """
    arrays = read_archive(path) if path.suffix == ".npz" else _read_matlab(path)
    missing = [name for name in names if name not in arrays]
    if missing:
        there = ", ".join(sorted(arrays)) or "none"
        raise InputError(f"{path} has no array {missing[0]!r} (it has: {there}); put the right file in its place.")
    return arrays


def read_text_table(path: Path) -> FloatArray:
    """Read a text file with one row per line, its numbers separated by blanks or tabs.

    Raises
    ------
    InputError
        If the file is empty or contains something else.
    """
    try:
        # For a file without numbers, loadtxt would only warn.
        with warnings.catch_warnings(action="error"):
            return np.loadtxt(path, dtype=np.float64, comments=None, ndmin=2)
    except (OSError, ValueError, UserWarning) as error:
        raise InputError(f"{path} cannot be read as a table of numbers ({error}); check what it is.") from None


def table(
    path: Path,
    name: str,
    values: NDArray[Any],
    *,
    rows: int | None = None,
    width: int | None = None,
    surplus: int = 0,
) -> FloatArray:
    """Check a table of numbers, and return it in double precision.

    Parameters
    ----------
    path : Path
    name : str
        For messages.
    values : array
    rows, width : int, optional
        Its expected numbers of rows and of columns; any by default.
    surplus : int
        Columns that it may have beyond ``width``.

    Returns
    -------
    (rows, columns) array

    Raises
    ------
    InputError
        If the values are not numbers or have another shape.
    """
    values = np.asarray(values)
    if values.dtype.kind not in "biuf" or values.ndim != 2:
        raise InputError(f"{name!r} of {path} is not a table of numbers; put the right file in its place.")
    widths = [values.shape[1]] if width is None else range(width, width + surplus + 1)
    if (rows is not None and len(values) != rows) or values.shape[1] not in widths:
        raise InputError(
            f"{name!r} of {path} is {len(values)} x {values.shape[1]}, but {'any' if rows is None else rows} x "
            f"{' or '.join(map(str, widths))} was expected; put the right file in its place."
        )
    return values.astype(np.float64)


def class_indices(path: Path, values: NDArray[Any], *, classes: int) -> IndexArray:
    """Classes counted from 0, whether the file counts from 0 or, as MATLAB does, from 1.

    Parameters
    ----------
    path : Path
    values : array
        One label per row, in any shape.
    classes : int
        How many there should be.

    Returns
    -------
    (n,) array of int

    Raises
    ------
    InputError
        If the labels are not whole numbers, or some class has no row.
    """
    flat = np.ravel(values)
    whole = flat.dtype.kind in "biuf" and flat.size > 0 and bool((np.isfinite(flat) & (flat == np.floor(flat))).all())
    found = np.unique(flat) if whole else np.empty(0)
    # Every class must have a row, so the smallest label shows where the file counts from.
    if not whole or not np.array_equal(found - found[0], np.arange(classes)):
        raise InputError(
            f"The labels of {path} are whole numbers for {len(found)} classes, but {classes} classes with consecutive "
            "numbers were expected; put the right file in its place."
        )
    return np.asarray(flat - found[0], dtype=np.intp)


def check_class_sizes(path: Path, classes: IndexArray, expected: list[int], *, in_order: bool = True) -> None:
    """Refuse a file whose classes, counted from 0, have other numbers of rows than expected, in order or ascending.

    Raises
    ------
    InputError
        If they have.
    """
    sizes = np.bincount(classes).tolist()
    sizes = sizes if in_order else sorted(sizes)
    if sizes != expected:
        raise InputError(
            f"{path} has classes of {sizes} rows, but {expected} were expected; put the right file in its place."
        )


def texts(values: NDArray[Any]) -> tuple[str, ...]:
    """Strings of an array, a MATLAB cell array, or a MATLAB character matrix, whose padding is removed."""
    return tuple(str(np.ravel(value)[0]).strip() if np.size(value) else "" for value in np.ravel(values))


def _read_matlab(path: Path) -> dict[str, NDArray[Any]]:
    try:
        contents = loadmat(str(path), appendmat=False)
    except NotImplementedError:
        raise InputError(
            f"{path} is a MATLAB 7.3 (HDF5) file, but version 7 or older was expected; load it in MATLAB and save it "
            "with save(..., '-v7')."
        ) from None
    # A damaged file can mislead the parser in many ways: wrong sizes, types, offsets or compressed blocks.
    except Exception as error:
        raise InputError(f"{path} cannot be read as a MATLAB file ({error}); check what it is.") from None
    return {name: np.asarray(value) for name, value in contents.items() if not name.startswith("__")}
