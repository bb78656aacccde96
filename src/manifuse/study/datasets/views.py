"""Views in cells: the ``.mat`` files that Li, Nie, Huang and Huang (AAAI 2015) published of several data sets.

``X`` is a cell array of feature tables (n, d) and ``Y`` a column of labels. Their README says so and gives the
order and the widths of the views.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.study.datasets.checks import class_indices, demand_names, table
from manifuse.study.datasets.matlab import read_matlab


def read_views(
    path: Path, widths: Mapping[str, Collection[int]], *, classes: int
) -> tuple[dict[str, FloatArray], IndexArray]:
    """Read the views, named in the order of the cells, and the classes counted from 0.

    Parameters
    ----------
    path : Path
    widths : mapping of str to collection of int
        The numbers of columns that each view may have.
    classes : int

    Raises
    ------
    InputError
        If the file is damaged or holds something else.
    """
    contents = read_matlab(path)
    demand_names(path, contents, ("X", "Y"))
    cells = np.ravel(contents["X"])
    if len(cells) != len(widths):
        raise InputError(
            f"X of {path} is no cell array of {len(widths)} views ({', '.join(widths)}); "
            "put the right file in its place."
        )
    indices = class_indices(path, contents["Y"], classes=classes)
    views = {
        view: table(path, view, cell, rows=len(indices), widths=widths[view])
        for view, cell in zip(widths, cells, strict=True)
    }
    return views, indices
