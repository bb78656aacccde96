"""NUS: the object part of NUS-WIDE, 30,000 images of 31 categories in five feature views (section 3.2.2, E).

Rows are images. Each view is a task, and a ranker has to recover the category, in the order of the file (in the
order of names, where categories come in files). The paper decouples the tasks across views as in Cal7: different
features on different rows, and 200 further rows are paired.

The first of these forms that is in the data folder is read:

- ``nus/NUSWIDEOBJ.mat`` as Li et al. (AAAI 2015) published it: cells ``X`` and labels ``Y``, as their README says.
  It counts 26,315 images, and one column more in each view than NUS-WIDE describes;
- ``nus/low level features/`` with ``Train_<view>.txt`` and ``Test_<view>.txt``, and ``nus/ground truth/`` with a
  ``*Train*.txt`` and a ``*Test*.txt`` of zeros and ones for every category, as NUS-WIDE-OBJECT has them;
- the same with the names of the whole NUS-WIDE: ``nus/Low_Level_Features/`` with
  ``Train_Normalized_<view>.dat`` and ``Test_Normalized_<view>.dat``, and ``nus/TrainTestLabels/`` with
  ``Labels_<category>_Train.txt`` and ``Labels_<category>_Test.txt``, of the 31 object categories only.

In the latter two an image may be in several categories. Images in exactly one are kept, because a ranking needs one.

We have no copy. The layouts of the text files are those that programs read which other people published for them. We
could not confirm how NUS-WIDE-OBJECT names its label files, so only ``Train`` and ``Test`` in the names matter. We
guess that the surplus column is the last and constant, from one of these programs, which drops it. It is dropped if
it is constant; otherwise it is kept, and the deviations say so.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse_study.datasets.array_files import read_text_table, table
from manifuse_study.datasets.source import Contents, Form, Source, checksums
from manifuse_study.datasets.views import read_views, view_tasks

WIDTHS = {"CH": 64, "CM55": 225, "CORR": 144, "EDH": 73, "WT": 128}
CLASSES = 31


def _text_form(labels: str, tables: str) -> Form:
    """The folder of label files, then the training and the test table of each view."""
    return (labels, *(tables.format(part=part, view=view) for view in WIDTHS for part in ("Train", "Test")))


LI: Form = ("nus/NUSWIDEOBJ.mat",)
OBJECT = _text_form("nus/ground truth", "nus/low level features/{part}_{view}.txt")
WIDE = _text_form("nus/TrainTestLabels", "nus/Low_Level_Features/{part}_Normalized_{view}.dat")


def read(folder: Path, form: Form) -> Contents:
    """Read NUS; see `Source`."""
    if form == LI:
        views, labels = read_views(folder / form[0], WIDTHS, classes=CLASSES, surplus=1)
        left_out, files = 0, form
    else:
        views, labels, left_out, files = _read_text(folder, form)
    for view, values in views.items():
        if (values[:, -1] == values[0, -1]).all():
            views[view] = values[:, : WIDTHS[view]]
    wider = [view for view, values in views.items() if values.shape[1] > WIDTHS[view]]
    deviations = []
    if left_out:
        deviations.append(f"{left_out:,} images that are in none or in several of the categories are left out.")
    if wider:
        deviations.append(f"One column more than NUS-WIDE describes is kept in {', '.join(wider)}.")
    return Contents(view_tasks(views, labels), tuple(deviations), checksums(folder, files))


def _read_text(folder: Path, form: Form) -> tuple[dict[str, FloatArray], IndexArray, int, tuple[str, ...]]:
    """Views and classes of the rows in exactly one category, how many rows are not, and the files."""
    pairs = _label_files(folder / form[0])
    train, test = (_belongs(files) for files in zip(*pairs, strict=True))
    belongs = np.vstack([train, test])
    alone = belongs.sum(axis=1) == 1
    empty = np.flatnonzero(belongs[alone].sum(axis=0) == 0)
    if len(empty):
        raise InputError(
            f"No image is only in the category of {pairs[empty[0]][0]}, but each category needs one; "
            "put the right label files in their place."
        )
    views = {}
    for number, (view, width) in enumerate(WIDTHS.items()):
        first, second = (folder / file for file in form[1 + 2 * number : 3 + 2 * number])
        upper = table(first, view, read_text_table(first), rows=len(train), width=width, surplus=1)
        lower = table(second, view, read_text_table(second), rows=len(test), width=upper.shape[1])
        views[view] = np.vstack([upper, lower])[alone]
    label_files = (f"{form[0]}/{path.name}" for pair in pairs for path in pair)
    return views, belongs[alone].argmax(axis=1), int((~alone).sum()), (*form[1:], *label_files)


def _label_files(folder: Path) -> list[tuple[Path, Path]]:
    """Training and test labels of every category, in the order of their names."""
    train = sorted(folder.glob("*Train*.txt"))
    if len(train) != CLASSES:
        raise InputError(
            f"{folder} has training labels of {len(train)} categories, but those of the {CLASSES} object categories "
            "were expected; leave only their files there."
        )
    pairs = [(path, folder / path.name.replace("Train", "Test")) for path in train]
    for _, test in pairs:
        if not test.is_file():
            raise InputError(f"{test} is not there, but the training labels are there; put it beside them.")
    return pairs


def _belongs(paths: tuple[Path, ...]) -> IndexArray:
    """Zeros and ones (n, categories), from one file per category."""
    columns = [np.ravel(read_text_table(path)) for path in paths]
    for path, flags in zip(paths, columns, strict=True):
        if not np.isin(flags, (0.0, 1.0)).all():
            raise InputError(f"{path} has labels other than 0 and 1; put the right file in its place.")
        if len(flags) != len(columns[0]):
            raise InputError(
                f"{path} labels {len(flags)} images, but {paths[0].name} labels {len(columns[0])}; put the right file "
                "in its place."
            )
    return np.column_stack(columns).astype(np.intp)


NUS = Source(
    name="nus",
    title="NUS-WIDE-Object (NUS)",
    summary="images of 31 categories; 5 feature views as tasks",
    owner=(
        "https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html, and "
        "https://github.com/yeqinglee/mvdata (links to a shared drive)"
    ),
    citation="T.-S. Chua et al.: NUS-WIDE. CIVR 2009; Y. Li et al., AAAI 2015",
    forms=(LI, OBJECT, WIDE),
    read=read,
    paper_rows=30_000,
)
