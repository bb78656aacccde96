"""Shoes: 14,658 pictures of 10 kinds of shoes, with 10 attributes that order the kinds (section 3.2.2, C).

Rows are images. Each attribute is a task, and a ranker has to recover the rank of the image's kind in that
attribute's ordering. All tasks share one table of features, GIST beside a colour histogram, but the paper gives the
main and the reference predictors different rows: decoupled across tasks with shared features. 200 further rows are
paired.

The release of Kovashka, Parikh and Grauman (WhittleSearch, CVPR 2012) is read from the data folder:

- ``shoes/shoes_attributes.mat``: ``class_labels``, counted from 1; ``orders`` (10, 10) with a row for each attribute
  and a column for each kind; and ``attribute_names``. If the file has no names, those of the publication are taken
  in its order;
- the features, in that file or any other ``.mat`` file beside it: a table of 960 columns (GIST) and one of 30
  (colour), or one of 990 that has both.

We have no copy. The layout of ``class_labels`` and ``orders`` is the one that programs read which other people
published for this file. We could not confirm the names of the variables with the features, so they are found by
their numbers of rows and columns, and refused if two variables fit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray
from manifuse_study.datasets.array_files import read_arrays, table, texts
from manifuse_study.datasets.relative import attribute_tasks
from manifuse_study.datasets.source import Contents, Form, Source, checksums

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


def read(folder: Path, form: Form) -> Contents:
    """Read Shoes; see `Source`."""
    path = folder / form[0]
    arrays = read_arrays(path, ("class_labels", "orders"))
    variables = {f"{path.name}: {name}": values for name, values in arrays.items()}
    beside = [other for other in sorted(path.parent.glob("*.mat")) if other != path]
    for other in beside:
        variables |= {f"{other.name}: {name}": values for name, values in read_arrays(other).items()}
    labels = arrays["class_labels"]
    features = _features(path, variables, rows=labels.size)
    names = texts(arrays["attribute_names"]) if "attribute_names" in arrays else ATTRIBUTES
    tasks, _ = attribute_tasks(path, features, labels, arrays["orders"].T, names, shape=(10, len(ATTRIBUTES)))
    return Contents(tasks, checksums=checksums(folder, (*form, *(f"shoes/{other.name}" for other in beside))))


def _features(path: Path, variables: dict[str, NDArray[Any]], *, rows: int) -> FloatArray:
    """GIST beside colour, in one table or in two, found by their shapes."""
    together = any(values.shape == (rows, GIST + COLOUR) for values in variables.values())
    widths = (GIST + COLOUR,) if together else (GIST, COLOUR)
    return np.hstack([_of_shape(path, variables, (rows, width)) for width in widths])


def _of_shape(path: Path, variables: dict[str, NDArray[Any]], shape: tuple[int, int]) -> FloatArray:
    """The only table of this shape."""
    found = [name for name, values in variables.items() if values.shape == shape]
    if not found:
        raise InputError(
            f"No variable of {path} or of the .mat files beside it is a table of {shape[0]} rows and {shape[1]} "
            f"columns, but {GIST} columns (GIST) and {COLOUR} (colour) were expected; put the release's file of "
            "features beside it."
        )
    if len(found) > 1:
        raise InputError(
            f"Both {found[0]} and {found[1]} in {path.parent} are tables of {shape[0]} rows and {shape[1]} columns, "
            "but one was expected; remove the one that is not the features."
        )
    return table(path.parent, found[0], variables[found[0]])


SHOES = Source(
    name="shoes",
    title="Shoes of WhittleSearch",
    summary="shoes of 10 kinds; 10 ordered attributes as tasks",
    owner="http://vision.cs.utexas.edu/whittlesearch/ (put the .mat file of the features beside the attributes)",
    citation="A. Kovashka, D. Parikh, K. Grauman: WhittleSearch. CVPR 2012",
    forms=(("shoes/shoes_attributes.mat",),),
    read=read,
    paper_rows=14_658,
)
