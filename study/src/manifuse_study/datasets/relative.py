"""Relative attributes: each attribute orders the classes, and a row's label is the rank of its class.

Parikh and Grauman (ICCV 2011) released PubFig and OSR in this form; Shoes came in much the same form. In the
orderings a larger number is a stronger presence of the attribute, and equal numbers are similar presences.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse_study.datasets.array_files import class_indices, read_arrays, table, texts
from manifuse_study.datasets.dataset import Task
from manifuse_study.datasets.views import read_compact


def read_relative(
    path: Path, widths: Mapping[str, int], *, shape: tuple[int, int]
) -> tuple[dict[str, Task], IndexArray]:
    """Read a compact file, or a ``data.mat`` of the release ``relative_attributes_v2``.

    A compact file has ``X_<view>``, ``y``, ``relative_ordering`` (classes, attributes) and ``attribute_names``.
    The README of the release names the variables of ``data.mat``: ``feat`` (n, d), ``class_labels`` counted from 1,
    ``attribute_names`` and ``relative_ordering`` (attributes, classes).

    Parameters
    ----------
    path : Path
    widths : mapping of str to int
        Columns of each view; the features are the views side by side.
    shape : pair of int
        Numbers of classes and of attributes.

    Returns
    -------
    tasks : dict of str to Task
        One for every attribute; all share the features.
    classes : (n,) array of int
        Class of each row, counted from 0.

    Raises
    ------
    InputError
        If the file is damaged, or its arrays do not agree with ``widths`` and ``shape``.
    """
    if path.suffix == ".npz":
        arrays, views = read_compact(path, widths, also=("relative_ordering", "attribute_names"))
        features, labels, ordering = np.hstack(list(views.values())), arrays["y"], arrays["relative_ordering"]
    else:
        arrays = read_arrays(path, ("feat", "class_labels", "relative_ordering", "attribute_names"))
        labels, ordering = arrays["class_labels"], arrays["relative_ordering"].T
        features = table(path, "feat", arrays["feat"], rows=labels.size, width=sum(widths.values()))
    return attribute_tasks(path, features, labels, ordering, texts(arrays["attribute_names"]), shape=shape)


def attribute_tasks(
    path: Path,
    features: FloatArray,
    labels: NDArray[Any],
    ordering: NDArray[Any],
    names: tuple[str, ...],
    *,
    shape: tuple[int, int],
) -> tuple[dict[str, Task], IndexArray]:
    """Make one task of every attribute; see `read_relative`.

    Parameters
    ----------
    path : Path
        For messages.
    features : (n, d) array
    labels : (n,) array
        Class of each row.
    ordering : (classes, attributes) array
    names : tuple of str
        The attributes' names.
    shape : pair of int
        Numbers of classes and of attributes.

    Raises
    ------
    InputError
        If labels, ordering or names do not agree with ``shape``.
    """
    classes, attributes = shape
    ordering = table(path, "the class orderings", ordering, rows=classes, width=attributes)
    if len(set(names)) != attributes:
        raise InputError(
            f"{path} names {len(set(names))} attributes, but orders the classes for {attributes}; "
            "put the right file in its place."
        )
    indices = class_indices(path, labels, classes=classes)
    return {name: Task(features, ordering[indices, column]) for column, name in enumerate(names)}, indices
