"""Relative attributes: classes are ordered for every attribute, and each row has the place of its class.

Both PubFig and OSR were released so (Parikh and Grauman, ICCV 2011), and Shoes in much the same way. In the
orderings a larger number is a stronger presence of the attribute and equal numbers are similar ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.files import read_archive
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.study.datasets.checks import class_indices, demand_names, table
from manifuse.study.datasets.matlab import read_matlab, texts


@dataclass(frozen=True, eq=False)
class RelativeAttributes:
    """Rows of classes, and the order of these classes for each attribute.

    Attributes
    ----------
    features : (n, d) array
    classes : (n,) array
        Class of each row, counted from 0.
    ordering : (classes, attributes) array
    names : tuple of str
        Of the attributes.
    """

    features: FloatArray
    classes: IndexArray
    ordering: FloatArray
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.classes)

    def labels(self) -> dict[str, FloatArray]:
        """Labels of every attribute (n,)."""
        return {name: self.ordering[self.classes, column] for column, name in enumerate(self.names)}


def relative_attributes(
    path: Path,
    features: FloatArray,
    labels: NDArray[Any],
    ordering: NDArray[Any],
    names: tuple[str, ...],
    *,
    shape: tuple[int, int],
) -> RelativeAttributes:
    """Check tables against each other and against the numbers of classes and attributes, ``shape``.

    Raises
    ------
    InputError
        If they do not go together.
    """
    classes, attributes = shape
    ordering = table(path, "the class orderings", ordering, rows=classes, widths=(attributes,))
    if len(set(names)) != attributes:
        raise InputError(
            f"{path} names {len(set(names))} attributes, but orders the classes for {attributes}; "
            "put the right file in its place."
        )
    indices = class_indices(path, labels, classes=classes)
    if len(indices) != len(features):
        raise InputError(
            f"{path} has other shapes than expected: {len(indices)} labels for {len(features)} rows of features; "
            "put the right file in its place."
        )
    return RelativeAttributes(features, indices, ordering, names)


def read_compact(path: Path, widths: Mapping[str, int], *, shape: tuple[int, int]) -> RelativeAttributes:
    """Read ``X_<view>`` of the given widths beside each other, ``y``, ``relative_ordering`` and names.

    Raises
    ------
    InputError
        If the archive is damaged or holds something else.
    """
    arrays = read_archive(path)
    demand_names(path, arrays, (*(f"X_{view}" for view in widths), "y", "relative_ordering", "attribute_names"))
    rows = len(np.ravel(arrays["y"]))
    views = [
        table(path, f"X_{view}", arrays[f"X_{view}"], rows=rows, widths=(width,)) for view, width in widths.items()
    ]
    names = tuple(map(str, np.ravel(arrays["attribute_names"])))
    return relative_attributes(path, np.hstack(views), arrays["y"], arrays["relative_ordering"], names, shape=shape)


def read_release(path: Path, *, shape: tuple[int, int]) -> RelativeAttributes:
    """Read a ``data.mat`` of the release ``relative_attributes_v2``.

    Its README names the variables: ``feat`` (n, d), ``class_labels`` counted from 1, ``attribute_names`` and
    ``relative_ordering``, whose rows are the attributes and columns the classes.

    Raises
    ------
    InputError
        If the file is damaged or holds something else.
    """
    contents = read_matlab(path)
    demand_names(path, contents, ("feat", "class_labels", "relative_ordering", "attribute_names"))
    features = table(path, "feat", contents["feat"])
    return relative_attributes(
        path,
        features,
        contents["class_labels"],
        contents["relative_ordering"].T,
        texts(contents["attribute_names"]),
        shape=shape,
    )
