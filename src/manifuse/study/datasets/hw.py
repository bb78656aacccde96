"""HW: UCI Multiple Features, 2,000 Dutch handwritten digits in six feature sets (section 3.2.2, F).

Rows are digits. Each feature set is a task, and the truth that a ranker is to recover is the digit. The paper
decouples the tasks across views as in Cal7: different features on different rows, 200 further rows being paired.

Read from the first of these that is in the data folder:

- ``hw/mfeat.npz``, the compact file: ``X_<view>`` for the six views and ``y``;
- ``hw/mfeat-fou``, ``-fac``, ``-kar``, ``-pix``, ``-zer`` and ``-mor`` as UCI publishes them: text without
  labels, 200 rows of each digit from 0 to 9 (`manifuse datasets fetch hw` gets these).

Nothing deviates from the paper.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from manifuse.errors import InputError
from manifuse.files import read_archive
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.study.datasets.array_files import checksums, complete
from manifuse.study.datasets.checks import class_indices, demand_names, table
from manifuse.study.datasets.dataset import Dataset
from manifuse.study.datasets.text import read_text_table

VIEWS = {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}
COMPACT = ("hw/mfeat.npz",)
PUBLISHED = tuple(f"hw/mfeat-{view}" for view in VIEWS)
FILES = (COMPACT, PUBLISHED)
DIGITS, EACH = 10, 200
ROWS = DIGITS * EACH


def hw(folder: Path) -> Dataset:
    """Load HW from the data folder.

    Raises
    ------
    InputError
        If the files are not there or are not what they should be.
    """
    form = complete(folder, "HW", FILES)
    views, labels = _compact(folder / form[0]) if form == COMPACT else _published(folder)
    return Dataset.of_views(
        "hw",
        "UCI handwritten digits (HW), six feature sets",
        views,
        labels.astype(np.float64),
        checksums=checksums(folder, form),
    )


def _compact(path: Path) -> tuple[dict[str, FloatArray], IndexArray]:
    arrays = read_archive(path)
    demand_names(path, arrays, (*(f"X_{view}" for view in VIEWS), "y"))
    views = {
        view: table(path, f"X_{view}", arrays[f"X_{view}"], rows=ROWS, widths=(width,))
        for view, width in VIEWS.items()
    }
    labels = class_indices(path, arrays["y"], classes=DIGITS)
    sizes = np.bincount(labels).tolist()
    if sizes != [EACH] * DIGITS:
        raise InputError(
            f"{path} has classes of {sizes} rows, but HW's have {EACH} each; put the right file in its place."
        )
    return views, labels


def _published(folder: Path) -> tuple[dict[str, FloatArray], IndexArray]:
    views = {}
    for (view, width), file in zip(VIEWS.items(), PUBLISHED, strict=True):
        path = folder / file
        views[view] = table(path, view, read_text_table(path), rows=ROWS, widths=(width,))
    return views, np.repeat(np.arange(DIGITS), EACH)
