"""NUS: the object part of NUS-WIDE, 30,000 images of 31 categories in five feature views (section 3.2.2, E).

Rows are images. Each view is a task, and the truth that a ranker is to recover is the category, in the order of
the file (of its name, where categories come in files). The paper decouples the tasks across views as in Cal7:
different features on different rows, 200 further rows being paired.

Read from the first of these that is in the data folder:

- ``nus/NUSWIDEOBJ.mat`` as published by Li et al. (AAAI 2015): cells ``X`` and labels ``Y``, as their README has
  it. It counts 26,315 images, and one column more in each view than NUS-WIDE describes;
- ``nus/low level features/`` with ``Train_<view>.txt`` and ``Test_<view>.txt``, and ``nus/ground truth/`` with a
  ``*Train*.txt`` and a ``*Test*.txt`` of zeros and ones for every category, as NUS-WIDE-OBJECT lays them;
- the same with the names of the whole NUS-WIDE: ``nus/Low_Level_Features/`` with
  ``Train_Normalized_<view>.dat`` and ``Test_Normalized_<view>.dat``, and ``nus/TrainTestLabels/`` with
  ``Labels_<category>_Train.txt`` and ``Labels_<category>_Test.txt``, of the 31 object categories only.

In the latter two an image may be in several categories; those in exactly one are kept, for a ranking needs one.

We hold no copy. The layouts of the text files are as read by programs that other people published for them; how
NUS-WIDE-OBJECT spells the names of its label files could not be confirmed, so only ``Train`` and ``Test`` count.
That the surplus column is the last and constant is our guess from one of these programs, which drops it: it is
dropped where it is constant, and else kept and said to be there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.study.datasets.array_files import complete
from manifuse.study.datasets.checks import table
from manifuse.study.datasets.dataset import Dataset, checksum
from manifuse.study.datasets.text import read_text_table
from manifuse.study.datasets.views import read_views

WIDTHS = {"CH": 64, "CM55": 225, "CORR": 144, "EDH": 73, "WT": 128}
LI = ("nus/NUSWIDEOBJ.mat",)
OBJECT = (
    "nus/ground truth",
    *(f"nus/low level features/{part}_{view}.txt" for view in WIDTHS for part in ("Train", "Test")),
)
WIDE = (
    "nus/TrainTestLabels",
    *(f"nus/Low_Level_Features/{part}_Normalized_{view}.dat" for view in WIDTHS for part in ("Train", "Test")),
)
FILES = (LI, OBJECT, WIDE)
CLASSES, PAPER_ROWS = 31, 30_000


def nus(folder: Path) -> Dataset:
    """Load NUS from the data folder.

    Raises
    ------
    InputError
        If the files are not there or are not what they should be.
    """
    form = complete(folder, "NUS", FILES)
    if form == LI:
        widths = {view: (width, width + 1) for view, width in WIDTHS.items()}
        views, labels = read_views(folder / LI[0], widths, classes=CLASSES)
        left_out, read = 0, list(form)
    else:
        views, labels, left_out, label_files = _owners(folder, form)
        read = [*form[1:], *label_files]
    views = {view: _without_surplus(values, WIDTHS[view]) for view, values in views.items()}
    return Dataset.of_views(
        "nus",
        "NUS-WIDE-Object (NUS), five feature views",
        views,
        labels.astype(np.float64),
        deviations=_deviations(views, left_out),
        checksums={path: checksum(folder / path) for path in read},
    )


def _owners(folder: Path, form: tuple[str, ...]) -> tuple[dict[str, FloatArray], IndexArray, int, list[str]]:
    """Views and classes of the rows in exactly one category, how many rows are not, and the label files."""
    pairs = _label_files(folder / form[0])
    train, test = (_belongs(files) for files in zip(*pairs, strict=True))
    belongs = np.vstack([train, test])
    alone = belongs.sum(axis=1) == 1
    empty = np.flatnonzero(belongs[alone].sum(axis=0) == 0)
    if len(empty):
        raise InputError(
            f"No image is in the category of {pairs[empty[0]][0]} alone; put the right label files in their place."
        )
    files = iter(form[1:])
    views = {}
    for view, width in WIDTHS.items():
        parts: list[FloatArray] = []
        for part in (train, test):
            path = folder / next(files)
            widths = (width, width + 1) if not parts else (parts[0].shape[1],)
            parts.append(table(path, view, read_text_table(path), rows=len(part), widths=widths))
        views[view] = np.vstack(parts)[alone]
    names = [f"{form[0]}/{path.name}" for pair in pairs for path in pair]
    return views, belongs[alone].argmax(axis=1), int((~alone).sum()), names


def _label_files(folder: Path) -> list[tuple[Path, Path]]:
    """Training and test labels of every category, in the order of their names."""
    train = sorted(folder.glob("*Train*.txt"))
    pairs = [(path, folder / path.name.replace("Train", "Test")) for path in train]
    if len(pairs) != CLASSES:
        raise InputError(
            f"{folder} has training labels of {len(pairs)} categories, but the {CLASSES} object categories were "
            "expected; leave only their files there."
        )
    for _, test in pairs:
        if not test.is_file():
            raise InputError(f"{test} is not there, though the training labels are; put it beside them.")
    return pairs


def _belongs(paths: tuple[Path, ...]) -> IndexArray:
    """Zeros and ones (n, categories) of one file a category."""
    columns = [np.ravel(read_text_table(path)) for path in paths]
    for path, flags in zip(paths, columns, strict=True):
        if not np.isin(flags, (0.0, 1.0)).all():
            raise InputError(f"{path} holds other labels than 0 and 1; put the right file in its place.")
        if len(flags) != len(columns[0]):
            raise InputError(
                f"{path} labels {len(flags)} images, but {paths[0].name} {len(columns[0])}; put the right file in "
                "its place."
            )
    return np.column_stack(columns).astype(np.intp)


def _without_surplus(values: FloatArray, width: int) -> FloatArray:
    surplus = values.shape[1] > width and bool((values[:, -1] == values[0, -1]).all())
    return values[:, :width] if surplus else values


def _deviations(views: dict[str, FloatArray], left_out: int) -> tuple[str, ...]:
    rows = len(next(iter(views.values())))
    wider = [view for view, values in views.items() if values.shape[1] > WIDTHS[view]]
    sentences = {
        f"The paper counts {PAPER_ROWS:,} images; this copy has {rows:,}.": rows != PAPER_ROWS,
        f"{left_out:,} images that are in none or in several of the categories are left out.": left_out > 0,
        f"One column more than NUS-WIDE describes is kept in {', '.join(wider)}.": bool(wider),
    }
    return tuple(sentence for sentence, applies in sentences.items() if applies)
