"""Cal7: 1,474 images of 7 categories of Caltech-101 in six feature views (section 3.2.2, D).

Rows are images. Each view is a task, and a ranker has to recover the category, in the paper's order: Face,
Motorbikes, Dolla-Bill, Garfield, Snoopy, Stop-Sign, Windsor-Chair. The paper decouples the tasks across views: the
main and the reference predictors have different features on different rows, and 200 further rows are paired.

The first of these forms that is in the data folder is read:

- ``cal7/cal7.npz``, the compact file: ``X_<view>`` for the six views, and ``y``. Its descriptors were recomputed
  from the original images;
- ``cal7/Caltech101-7.mat`` as Li et al. (AAAI 2015) published it: cells ``X`` and labels ``Y``, as their README says.

No two categories have equally many images, so their numbers prove the order.

The paper speaks of five features and lists six; six are read.
"""

from __future__ import annotations

from pathlib import Path

from manifuse_study.datasets.array_files import check_class_sizes
from manifuse_study.datasets.source import Contents, Form, Source
from manifuse_study.datasets.views import read_views, view_tasks

COMPACT = ("cal7/cal7.npz",)
PUBLISHED = ("cal7/Caltech101-7.mat",)
WIDTHS = {"gabor": 48, "wm": 40, "centrist": 254, "hog": 1984, "gist": 512, "lbp": 928}
CLASS_SIZES = [435, 798, 52, 34, 35, 64, 56]
DEVIATION = (
    "The descriptors were recomputed from the original images with the names and widths of Li et al. (2015), so their "
    "values differ from the published ones."
)


def read(folder: Path, form: Form) -> Contents:
    """Read Cal7; see `Source`."""
    path = folder / form[0]
    views, labels = read_views(path, WIDTHS, classes=len(CLASS_SIZES))
    check_class_sizes(path, labels, CLASS_SIZES)
    return Contents(view_tasks(views, labels), (DEVIATION,) if form == COMPACT else ())


CAL7 = Source(
    name="cal7",
    title="Caltech-101, 7 categories (Cal7)",
    summary="images of 7 categories; 6 feature views as tasks",
    owner="https://github.com/yeqinglee/mvdata (links to a shared drive)",
    citation="L. Fei-Fei, R. Fergus, P. Perona, CVIU 2007; features: Y. Li et al., AAAI 2015",
    forms=(COMPACT, PUBLISHED),
    read=read,
)
