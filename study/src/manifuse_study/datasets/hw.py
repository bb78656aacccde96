"""HW: UCI Multiple Features, 2,000 Dutch handwritten digits in six feature sets (section 3.2.2, F).

Rows are images of digits. Each feature set is a task, and a ranker has to recover the digit. The paper decouples the
tasks across views as in Cal7: different features on different rows, and 200 further rows are paired.

The first of these forms that is in the data folder is read:

- ``hw/mfeat.npz``, the compact file: ``X_<view>`` for the six views, and ``y``;
- ``hw/mfeat-fou``, ``-fac``, ``-kar``, ``-pix``, ``-zer`` and ``-mor`` as UCI publishes them: text without
  labels, 200 rows of each digit from 0 to 9 (`manifuse datasets fetch hw` downloads these).

Nothing deviates from the paper.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from manifuse_study.datasets.array_files import check_class_sizes, read_text_table, table
from manifuse_study.datasets.source import Contents, Form, Source
from manifuse_study.datasets.views import read_views, view_tasks

WIDTHS = {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}
COMPACT = ("hw/mfeat.npz",)
PUBLISHED = tuple(f"hw/mfeat-{view}" for view in WIDTHS)
CLASS_SIZES = [200] * 10


def read(folder: Path, form: Form) -> Contents:
    """Read HW; see `Source`."""
    if form == COMPACT:
        path = folder / form[0]
        views, labels = read_views(path, WIDTHS, classes=len(CLASS_SIZES))
        check_class_sizes(path, labels, CLASS_SIZES)
        return Contents(view_tasks(views, labels))
    labels = np.repeat(np.arange(len(CLASS_SIZES)), CLASS_SIZES)
    views = {
        view: table(folder / file, view, read_text_table(folder / file), rows=len(labels), width=WIDTHS[view])
        for view, file in zip(WIDTHS, form, strict=True)
    }
    return Contents(view_tasks(views, labels))


HW = Source(
    name="hw",
    title="UCI handwritten digits (HW)",
    summary="10 digits; 6 feature sets as tasks",
    owner="https://archive.ics.uci.edu/dataset/72/multiple+features",
    citation="R. P. W. Duin: Multiple Features. UCI Machine Learning Repository, doi:10.24432/C5HC70",
    forms=(COMPACT, PUBLISHED),
    read=read,
    address="https://archive.ics.uci.edu/static/public/72/multiple+features.zip",
)
