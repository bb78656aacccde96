"""Shoes: 14,658 pictures of 10 kinds of shoes, with 10 attributes in which the kinds are ordered (section 3.2.2, C).

Rows are images. Each attribute is a task, and the truth that a ranker is to recover is the place of the image's
kind in that attribute's ordering. All tasks share one table of features, GIST beside a colour histogram, but the
paper gives the main and the reference predictors different rows: decoupled across tasks with shared features,
200 further rows being paired.

Read from the release of Kovashka, Parikh and Grauman (WhittleSearch, CVPR 2012) in the data folder:

- ``shoes/shoes_attributes.mat``: ``class_labels``, counted from 1, ``orders`` (10, 10), whose rows are the
  attributes and columns the kinds, and ``attribute_names``, for which the order of the publication stands in
  where the file has none;
- the features, in that file or any other ``.mat`` beside it: a table of 960 columns (GIST) and one of 30
  (colour), or one of 990 that has both.

We hold no copy. The layout of ``class_labels`` and ``orders`` is as read by programs that other people published
for this file. The names of the variables with the features could not be confirmed, so they are found by their
numbers of rows and columns, and refused where two could be meant.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray
from manifuse.study.datasets.array_files import checksums, complete
from manifuse.study.datasets.checks import demand_names, table
from manifuse.study.datasets.dataset import Dataset
from manifuse.study.datasets.matlab import read_matlab, texts
from manifuse.study.datasets.relative import relative_attributes

PUBLISHED = ("shoes/shoes_attributes.mat",)
FILES = (PUBLISHED,)
CLASSES, PAPER_ROWS = 10, 14_658
GIST, COLOUR = 960, 30
ATTRIBUTES = (
    "pointy at the front",
    "open",
    "bright in color",
    "covered with ornaments",
    "shiny",
    "high at the heel",
    "long on the leg",
    "formal",
    "sporty",
    "feminine",
)


def shoes(folder: Path) -> Dataset:
    """Load Shoes from the data folder.

    Raises
    ------
    InputError
        If the files are not there or are not what they should be.
    """
    form = complete(folder, "Shoes", FILES)
    path = folder / form[0]
    contents = read_matlab(path)
    demand_names(path, contents, ("class_labels", "orders"))
    beside = [other for other in sorted(path.parent.glob("*.mat")) if other != path]
    variables = {f"{path.name}: {name}": values for name, values in contents.items()}
    for other in beside:
        variables |= {f"{other.name}: {name}": values for name, values in read_matlab(other).items()}
    features = _features(path, variables, rows=contents["class_labels"].size)
    names = texts(contents["attribute_names"]) if "attribute_names" in contents else ATTRIBUTES
    release = relative_attributes(
        path, features, contents["class_labels"], contents["orders"].T, names, shape=(CLASSES, len(ATTRIBUTES))
    )
    return Dataset.of_attributes(
        "shoes",
        "Shoes, 10 attributes",
        release.features,
        release.labels(),
        deviations=_deviations(len(release)),
        checksums=checksums(folder, (*form, *(f"shoes/{other.name}" for other in beside))),
    )


def _features(path: Path, variables: dict[str, NDArray[Any]], *, rows: int) -> FloatArray:
    """GIST beside colour, found by their shapes."""
    both = _of_shape(path, variables, (rows, GIST + COLOUR))
    if both is not None:
        return both
    gist, colour = (_of_shape(path, variables, (rows, width)) for width in (GIST, COLOUR))
    if gist is None or colour is None:
        width, what = (GIST, "GIST") if gist is None else (COLOUR, "colour")
        raise InputError(
            f"No variable of {path} or of the .mat files beside it is a table of {rows} rows and {width} columns "
            f"({what}); put the release's file of features beside it."
        )
    return np.hstack([gist, colour])


def _of_shape(path: Path, variables: dict[str, NDArray[Any]], shape: tuple[int, int]) -> FloatArray | None:
    found = [name for name, values in variables.items() if values.shape == shape]
    if len(found) > 1:
        raise InputError(
            f"Both {found[0]} and {found[1]} in {path.parent} are tables of {shape[0]} rows and {shape[1]} columns; "
            "leave only the features that you mean."
        )
    return table(path.parent, found[0], variables[found[0]]) if found else None


def _deviations(rows: int) -> tuple[str, ...]:
    return () if rows == PAPER_ROWS else (f"The paper counts {PAPER_ROWS:,} images; this copy has {rows:,}.",)
