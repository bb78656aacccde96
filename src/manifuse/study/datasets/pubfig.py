"""PubFig: faces of 8 public figures, with 11 attributes in which the figures are ordered (section 3.2.2, A).

Rows are images. Each attribute is a task, and the truth that a ranker is to recover is the place of the image's
person in that attribute's ordering. All tasks share one table of features, GIST beside a colour histogram, and
all rows: the paper's coupled protocol, in which the other attributes are the references of each.

Read from the first of these that is in the data folder:

- ``pubfig/pubfig.npz``, the compact file: ``X_gist`` (772, 512), ``X_lab`` (772, 30), ``y``,
  ``relative_ordering`` (8, 11), ``attribute_names``;
- ``pubfig/data.mat`` as in ``relative_attributes_v2`` (Parikh and Grauman, ICCV 2011): ``feat``, the same two
  features side by side, ``class_labels``, ``relative_ordering`` (11, 8), ``attribute_names``. The variables are
  those of the release's README and of programs that read it.

The paper counts 800 images; both releases that we know have 772 and call the first attribute ``Male``.
"""

from __future__ import annotations

from pathlib import Path

from manifuse.errors import InputError
from manifuse.study.datasets.array_files import checksums, complete
from manifuse.study.datasets.dataset import Dataset
from manifuse.study.datasets.relative import read_compact, read_release

COMPACT = ("pubfig/pubfig.npz",)
PUBLISHED = ("pubfig/data.mat",)
FILES = (COMPACT, PUBLISHED)
CLASSES, ATTRIBUTES = 8, 11
WIDTHS = {"gist": 512, "lab": 30}
COMPACT_ROWS, PAPER_ROWS = 772, 800


def pubfig(folder: Path) -> Dataset:
    """Load PubFig from the data folder.

    Raises
    ------
    InputError
        If the files are not there or are not what they should be.
    """
    form = complete(folder, "PubFig", FILES)
    path = folder / form[0]
    if form == COMPACT:
        release = read_compact(path, WIDTHS, shape=(CLASSES, ATTRIBUTES))
        if len(release) != COMPACT_ROWS:
            raise InputError(
                f"{path} has {len(release)} rows, but PubFig's compact file has {COMPACT_ROWS}; "
                "put the right file in its place."
            )
    else:
        release = read_release(path, shape=(CLASSES, ATTRIBUTES))
    return Dataset.of_attributes(
        "pubfig",
        "Public figures (PubFig), 11 attributes of faces",
        release.features,
        release.labels(),
        deviations=_deviations(len(release)),
        checksums=checksums(folder, form),
    )


def _deviations(rows: int) -> tuple[str, ...]:
    return () if rows == PAPER_ROWS else (f"The paper counts {PAPER_ROWS} images; the release has {rows}.",)
