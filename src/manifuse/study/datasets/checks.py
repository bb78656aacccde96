"""What the contents of a data set's files must be, whichever form they came in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray


def demand_names(path: Path, contents: Mapping[str, NDArray[Any]], names: Iterable[str]) -> None:
    """Refuse a file that lacks one of the named arrays."""
    missing = [name for name in names if name not in contents]
    if missing:
        there = ", ".join(sorted(contents)) or "none"
        raise InputError(f"{path} has no array {missing[0]!r} (it has: {there}); put the right file in its place.")


def table(
    path: Path, name: str, values: NDArray[Any], *, rows: int | None = None, widths: Collection[int] | None = None
) -> FloatArray:
    """Numbers in rows and columns, of the expected numbers of both where these are given.

    Raises
    ------
    InputError
        If the values are no numbers or have other shapes.
    """
    values = np.asarray(values)
    if values.dtype.kind not in "biuf" or values.ndim != 2:
        raise InputError(f"{name!r} of {path} is no table of numbers; put the right file in its place.")
    if (rows is not None and len(values) != rows) or (widths is not None and values.shape[1] not in widths):
        expected = f"{rows or 'any'} x {' or '.join(map(str, sorted(widths))) if widths else 'any'}"
        raise InputError(
            f"{name!r} of {path} has other shapes than expected: {len(values)} x {values.shape[1]} came, {expected} "
            "was expected; put the right file in its place."
        )
    return values.astype(np.float64)


def class_indices(path: Path, values: NDArray[Any], *, classes: int) -> IndexArray:
    """Classes counted from 0, whether the file counts from 0 or, as MATLAB does, from 1.

    Raises
    ------
    InputError
        If they are no whole numbers, or some class has no row.
    """
    flat = np.ravel(values)
    whole = flat.dtype.kind in "biuf" and flat.size > 0 and bool((np.isfinite(flat) & (flat == np.floor(flat))).all())
    found = np.unique(flat) if whole else np.empty(0)
    # Every class must have a row, so the least label says where the file counts from.
    if not whole or not np.array_equal(found - found[0], np.arange(classes)):
        raise InputError(
            f"The labels of {path} are {len(found)} classes, but {classes} counted in a row were expected; "
            "put the right file in its place."
        )
    return np.asarray(flat - found[0], dtype=np.intp)
