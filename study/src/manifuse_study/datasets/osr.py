"""OSR: 2,688 outdoor scenes of 8 categories, with 6 attributes that order the categories (section 3.2.2, B).

Rows are images. Each attribute is a task, and a ranker has to recover the rank of the image's category in that
attribute's ordering. All tasks share one table of features, GIST, and all rows: the paper's coupled protocol, in
which the other attributes are the references of each.

The first of these forms that is in the data folder is read:

- ``osr/osr.npz``, the compact file: ``X_gist`` (2688, 512), ``y``, ``relative_ordering`` (8, 6),
  ``attribute_names``. Its GIST was recomputed from the original images;
- ``osr/data.mat`` as in ``relative_attributes_v2`` (Parikh and Grauman, ICCV 2011): ``feat``, ``class_labels``,
  ``relative_ordering`` (6, 8), ``attribute_names``. We know these variables from the release's README and from
  programs that read it. We could not obtain the file, so the loader has only been tried on files of that form.
"""

from __future__ import annotations

from pathlib import Path

from manifuse_study.datasets.array_files import check_class_sizes
from manifuse_study.datasets.relative import read_relative
from manifuse_study.datasets.source import Contents, Form, Source

COMPACT = ("osr/osr.npz",)
PUBLISHED = ("osr/data.mat",)
WIDTHS = {"gist": 512}
#: Images of each category, in ascending order, because the releases order the categories differently.
CLASS_SIZES = [260, 292, 308, 328, 356, 360, 374, 410]
DEVIATION = "GIST was recomputed from the original images, because the released features could not be obtained."


def read(folder: Path, form: Form) -> Contents:
    """Read OSR; see `Source`."""
    path = folder / form[0]
    tasks, classes = read_relative(path, WIDTHS, shape=(8, 6))
    check_class_sizes(path, classes, CLASS_SIZES, in_order=False)
    return Contents(tasks, (DEVIATION,) if form == COMPACT else ())


OSR = Source(
    name="osr",
    title="Outdoor scenes (OSR)",
    summary="scenes of 8 categories; 6 ordered attributes as tasks",
    owner="https://cc.gatech.edu/~parikh/relative.html (relative_attributes_v2.zip)",
    citation="D. Parikh, K. Grauman: Relative Attributes. ICCV 2011; A. Oliva, A. Torralba, IJCV 2001",
    forms=(COMPACT, PUBLISHED),
    read=read,
)
