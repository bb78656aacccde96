"""Cal7: 1,474 images of 7 categories of Caltech-101 in six feature views (section 3.2.2, D).

Rows are images. Each view is a task, and the truth that a ranker is to recover is the category, in the paper's
order: Face, Motorbikes, Dolla-Bill, Garfield, Snoopy, Stop-Sign, Windsor-Chair. The paper decouples the tasks
across views: the main and the reference predictors have different features on different rows, 200 further rows
being paired.

Read from the first of these that is in the data folder:

- ``cal7/cal7.npz``, the compact file: ``X_<view>`` for the six views and ``y``. Its descriptors were computed
  anew from the original images;
- ``cal7/Caltech101-7.mat`` as published by Li et al. (AAAI 2015): cells ``X`` and labels ``Y``, as their README
  has it. No two categories have equally many images, so their numbers prove the order.

The paper speaks of five features and lists six; six are read.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from manifuse.errors import InputError
from manifuse.files import read_archive
from manifuse.study.datasets.array_files import checksums, complete
from manifuse.study.datasets.checks import class_indices, demand_names, table
from manifuse.study.datasets.dataset import Dataset
from manifuse.study.datasets.views import read_views

COMPACT = ("cal7/cal7.npz",)
PUBLISHED = ("cal7/Caltech101-7.mat",)
FILES = (COMPACT, PUBLISHED)
WIDTHS = {"gabor": 48, "wm": 40, "centrist": 254, "hog": 1984, "gist": 512, "lbp": 928}
CLASS_SIZES = [435, 798, 52, 34, 35, 64, 56]
DEVIATION = (
    "The descriptors were computed anew from the original images under the names and widths of Li et al. (2015), "
    "so their values differ from the published ones."
)


def cal7(folder: Path) -> Dataset:
    """Load Cal7 from the data folder.

    Raises
    ------
    InputError
        If the files are not there or are not what they should be.
    """
    form = complete(folder, "Cal7", FILES)
    path = folder / form[0]
    if form == COMPACT:
        arrays = read_archive(path)
        demand_names(path, arrays, (*(f"X_{view}" for view in WIDTHS), "y"))
        labels = class_indices(path, arrays["y"], classes=len(CLASS_SIZES))
        views = {
            view: table(path, f"X_{view}", arrays[f"X_{view}"], rows=len(labels), widths=(width,))
            for view, width in WIDTHS.items()
        }
    else:
        views, labels = read_views(path, {view: (width,) for view, width in WIDTHS.items()}, classes=len(CLASS_SIZES))
    sizes = np.bincount(labels).tolist()
    if sizes != CLASS_SIZES:
        raise InputError(
            f"{path} has classes of {sizes} rows, but Cal7's have {CLASS_SIZES}; put the right file in its place."
        )
    return Dataset.of_views(
        "cal7",
        "Caltech-101, 7 categories (Cal7), six feature views",
        views,
        labels.astype(np.float64),
        deviations=(DEVIATION,) if form == COMPACT else (),
        checksums=checksums(folder, form),
    )
