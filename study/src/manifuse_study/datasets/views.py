"""Feature views: several tables of features that describe the same rows, with one label per row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse_study.datasets.array_files import class_indices, read_arrays, table
from manifuse_study.datasets.dataset import Task


def view_tasks(views: Mapping[str, FloatArray], labels: FloatArray | IndexArray) -> dict[str, Task]:
    """Make one task of every view (n, d); all tasks share the labels (n,)."""
    grades = labels.astype(np.float64)
    return {view: Task(features, grades) for view, features in views.items()}


def read_views(
    path: Path, widths: Mapping[str, int], *, classes: int, surplus: int = 0
) -> tuple[dict[str, FloatArray], IndexArray]:
    """Read views and classes from a compact file, or from a ``.mat`` file of Li et al. (AAAI 2015).

    In their files ``X`` is a cell array of the views (n, d), in the order of ``widths``, and ``Y`` is a column of
    labels. Their README says so, and gives the order and the widths of the views.

    Parameters
    ----------
    path : Path
    widths : mapping of str to int
        Columns of each view.
    classes : int
    surplus : int
        Columns that the views of a ``.mat`` file may have beyond ``widths``.

    Returns
    -------
    views : dict of str to (n, d) array
    classes : (n,) array of int
        Counted from 0.

    Raises
    ------
    InputError
        If the file is damaged or contains something else.
    """
    if path.suffix == ".npz":
        arrays, views = read_compact(path, widths)
        return views, class_indices(path, arrays["y"], classes=classes)
    arrays = read_arrays(path, ("X", "Y"))
    cells = np.ravel(arrays["X"])
    if len(cells) != len(widths):
        raise InputError(
            f"X of {path} is not a cell array of {len(widths)} views ({', '.join(widths)}); "
            "put the right file in its place."
        )
    indices = class_indices(path, arrays["Y"], classes=classes)
    views = {
        view: table(path, view, cell, rows=len(indices), width=width, surplus=surplus)
        for (view, width), cell in zip(widths.items(), cells, strict=True)
    }
    return views, indices


def read_compact(
    path: Path, widths: Mapping[str, int], *, also: Iterable[str] = ()
) -> tuple[dict[str, NDArray[Any]], dict[str, FloatArray]]:
    """Read a compact file: ``X_<view>`` (n, d) for every view, ``y`` (n,), and the arrays named in ``also``.

    Parameters
    ----------
    path : Path
    widths : mapping of str to int
        Columns of each view.
    also : iterable of str
        Further arrays that must be there.

    Returns
    -------
    arrays : dict of str to array
        Everything in the file.
    views : dict of str to (n, d) array

    Raises
    ------
    InputError
        If the file is damaged or contains something else.
    """
    arrays = read_arrays(path, (*(f"X_{view}" for view in widths), "y", *also))
    views = {
        view: table(path, f"X_{view}", arrays[f"X_{view}"], rows=arrays["y"].size, width=width)
        for view, width in widths.items()
    }
    return arrays, views
