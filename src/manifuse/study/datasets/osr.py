"""OSR: 2,688 outdoor scenes of 8 categories, with 6 attributes in which they are ordered (section 3.2.2, B).

Rows are images. Each attribute is a task, and the truth that a ranker is to recover is the place of the image's
category in that attribute's ordering. All tasks share one table of features, GIST, and all rows: the paper's
coupled protocol, in which the other attributes are the references of each.

Read from the first of these that is in the data folder:

- ``osr/osr.npz``, the compact file: ``X_gist`` (2688, 512), ``y``, ``relative_ordering`` (8, 6),
  ``attribute_names``. Its GIST was computed anew from the original images;
- ``osr/data.mat`` as in ``relative_attributes_v2`` (Parikh and Grauman, ICCV 2011): ``feat``, ``class_labels``,
  ``relative_ordering`` (6, 8), ``attribute_names``. The variables are those of the release's README and of
  programs that read it; the file itself could not be had, so the loader has only been tried on files of that form.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from manifuse.errors import InputError
from manifuse.study.datasets.array_files import checksums, complete
from manifuse.study.datasets.checks import table
from manifuse.study.datasets.dataset import Dataset
from manifuse.study.datasets.relative import read_compact, read_release

COMPACT = ("osr/osr.npz",)
PUBLISHED = ("osr/data.mat",)
FILES = (COMPACT, PUBLISHED)
CLASSES, ATTRIBUTES, WIDTH = 8, 6, 512
#: Images of each category, in ascending order, for releases order the categories differently.
CLASS_SIZES = (260, 292, 308, 328, 356, 360, 374, 410)
DEVIATION = "GIST was computed anew from the original images, for the released features could not be had."


def osr(folder: Path) -> Dataset:
    """Load OSR from the data folder.

    Raises
    ------
    InputError
        If the files are not there or are not what they should be.
    """
    form = complete(folder, "OSR", FILES)
    path = folder / form[0]
    if form == COMPACT:
        release = read_compact(path, {"gist": WIDTH}, shape=(CLASSES, ATTRIBUTES))
    else:
        release = read_release(path, shape=(CLASSES, ATTRIBUTES))
    sizes = tuple(sorted(np.bincount(release.classes).tolist()))
    if sizes != CLASS_SIZES:
        raise InputError(
            f"{path} has classes of {sizes} rows, but OSR's have {CLASS_SIZES}; put the right file in its place."
        )
    return Dataset.of_attributes(
        "osr",
        "Outdoor scenes (OSR), 6 attributes",
        table(path, "the features", release.features, widths=(WIDTH,)),
        release.labels(),
        deviations=(DEVIATION,) if form == COMPACT else (),
        checksums=checksums(folder, form),
    )
