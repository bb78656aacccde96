"""PubFig: faces of 8 public figures, with 11 attributes that order the figures (section 3.2.2, A).

Rows are images. Each attribute is a task, and a ranker has to recover the rank of the image's person in that
attribute's ordering. All tasks share one table of features, GIST beside a colour histogram, and all rows: the
paper's coupled protocol, in which the other attributes are the references of each.

The first of these forms that is in the data folder is read:

- ``pubfig/pubfig.npz``, the compact file: ``X_gist`` (772, 512), ``X_lab`` (772, 30), ``y``,
  ``relative_ordering`` (8, 11), ``attribute_names``;
- ``pubfig/data.mat`` as in ``relative_attributes_v2`` (Parikh and Grauman, ICCV 2011): ``feat``, the same two
  features side by side, ``class_labels``, ``relative_ordering`` (11, 8), ``attribute_names``. We know these
  variables from the release's README and from programs that read it.

The paper counts 800 images; both releases that we know have 772 and call the first attribute ``Male``.
"""

from __future__ import annotations

from pathlib import Path

from manifuse_study.datasets.array_files import check_class_sizes
from manifuse_study.datasets.relative import read_relative
from manifuse_study.datasets.source import Contents, Form, Source

COMPACT = ("pubfig/pubfig.npz",)
PUBLISHED = ("pubfig/data.mat",)
WIDTHS = {"gist": 512, "lab": 30}
#: Images of each person in the compact file.
CLASS_SIZES = [95, 96, 97, 94, 97, 97, 98, 98]


def read(folder: Path, form: Form) -> Contents:
    """Read PubFig; see `Source`."""
    path = folder / form[0]
    tasks, classes = read_relative(path, WIDTHS, shape=(8, 11))
    if form == COMPACT:
        check_class_sizes(path, classes, CLASS_SIZES)
    return Contents(tasks)


PUBFIG = Source(
    name="pubfig",
    title="Public figures (PubFig)",
    summary="faces of 8 people; 11 ordered attributes as tasks",
    owner="https://cc.gatech.edu/~parikh/relative.html (relative_attributes_v2.zip)",
    citation="D. Parikh, K. Grauman: Relative Attributes. ICCV 2011; N. Kumar et al., ICCV 2009",
    forms=(COMPACT, PUBLISHED),
    read=read,
    paper_rows=800,
)
