"""AWA: Animals with Attributes (version 1), 30,475 images of 50 animals in five feature views (section 3.2.2, G).

Rows are images. Each view is a task, and the truth that a ranker is to recover is the animal, in the order of
``classes.txt``. The paper pairs all rows of all views: its toy setting, in which every reference is relevant and
methods for coupled predictors apply too.

Read from the first of these that is in the data folder:

- ``awa/awa_<view>.npz`` with ``X_<view>``, ``y`` and ``row_in_class`` for phog, sift, surf, lss and rgsift, and
  ``awa/awa_meta.npz``: at most 200 images of each animal;
- ``awa/Animals_with_Attributes/`` as the owner's archives unpack: ``classes.txt`` (a number and a name a line) and
  ``Features/<view>/<animal>/<animal>_0001.txt`` and so on, for the views surf-hist, sift-hist and phog-hist, and
  decaf and vgg19 where they are there. A file holds the numbers of one image, in one line or one a line. The
  layout is as read by programs that other people published for it.

The paper's views are SURF, SIFT, PHOG, DeCAF and VGG19. The networks' features are not in the compact files, where
LSS and RGSIFT stand in for them.

Histograms come as the square roots of their shares, so that Euclidean distances between them are Hellinger's,
which a few frequent visual words do not govern; a histogram without a count stays zero. The networks' features
stay as they are. All are single precision, which halves the memory of 30,475 rows of 12,444 numbers.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.files import read_archive
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.study.datasets.array_files import checksums, complete
from manifuse.study.datasets.checks import class_indices, demand_names
from manifuse.study.datasets.dataset import Dataset, checksum

COMPACT_WIDTHS = {"surf": 2000, "sift": 2000, "phog": 252, "lss": 2000, "rgsift": 2000}
COMPACT = ("awa/awa_meta.npz", *(f"awa/awa_{view}.npz" for view in COMPACT_WIDTHS))
ROOT = "awa/Animals_with_Attributes"
HISTOGRAMS = {"surf": ("surf-hist", 2000), "sift": ("sift-hist", 2000), "phog": ("phog-hist", 252)}
NETWORKS = {"decaf": ("decaf", 4096), "vgg19": ("vgg19", 4096)}
PUBLISHED = (f"{ROOT}/classes.txt", *(f"{ROOT}/Features/{name}" for name, _ in HISTOGRAMS.values()))
FILES = (COMPACT, PUBLISHED)
CLASSES, PAPER_ROWS = 50, 30_475
#: Images of one animal in one view, by the file names that views have in common.
Rows = dict[str, Path]


def awa(folder: Path) -> Dataset:
    """Load AWA from the data folder.

    Raises
    ------
    InputError
        If the files are not there or are not what they should be.
    """
    form = complete(folder, "AWA", FILES)
    views, labels, sums = _compact(folder) if form == COMPACT else _published(folder)
    return Dataset.of_views(
        "awa",
        "Animals with Attributes (AWA), feature views of 50 animals",
        views,
        labels.astype(np.float64),
        deviations=_deviations(len(labels), tuple(views)),
        checksums=sums,
    )


def hellinger(histograms: NDArray[Any], path: Path) -> FloatArray:
    """Square roots of the histograms' shares; a histogram without a count stays zero."""
    shares = histograms.astype(np.float32)
    # A comparison with what is not a number is false, so those are refused as well.
    if not (shares >= 0).all():
        raise InputError(f"{path} has counts that are negative or no numbers; put the right file in its place.")
    totals = shares.sum(axis=1, keepdims=True)
    # In place, for a view may take a quarter of a gigabyte.
    shares /= np.where(totals > 0, totals, 1.0)
    return np.sqrt(shares, out=shares)


def _compact(folder: Path) -> tuple[dict[str, FloatArray], IndexArray, dict[str, str]]:
    meta_path = folder / COMPACT[0]
    meta = read_archive(meta_path)
    demand_names(meta_path, meta, ("y", "row_in_class"))
    labels = class_indices(meta_path, meta["y"], classes=CLASSES)
    views = {}
    for (view, width), file in zip(COMPACT_WIDTHS.items(), COMPACT[1:], strict=True):
        path = folder / file
        arrays = read_archive(path)
        demand_names(path, arrays, (f"X_{view}", "y", "row_in_class"))
        if not all(np.array_equal(arrays[name], meta[name]) for name in ("y", "row_in_class")):
            raise InputError(f"{path} is about other rows than {meta_path.name}; put files of one origin there.")
        counts = arrays[f"X_{view}"]
        if counts.dtype.kind not in "iuf" or counts.shape != (len(labels), width):
            raise InputError(
                f"{path} has other shapes than expected: {counts.shape} came, {(len(labels), width)} was expected; "
                "put the right file in its place."
            )
        views[view] = hellinger(counts, path)
    return views, labels, checksums(folder, COMPACT)


def _published(folder: Path) -> tuple[dict[str, FloatArray], IndexArray, dict[str, str]]:
    root = folder / ROOT
    animals = _animals(root / "classes.txt")
    there = {view: kind for view, kind in NETWORKS.items() if (root / "Features" / kind[0]).is_dir()}
    rows = {view: _rows(root / "Features" / name, animals) for view, (name, _) in (HISTOGRAMS | there).items()}
    first = rows["surf"]
    for view, found in rows.items():
        if [list(images) for images in found] != [list(images) for images in first]:
            raise InputError(
                f"{root / 'Features'} has other images in {view} than in surf, but all views must be of the same; "
                "unpack the archives anew."
            )
    sums = {f"{ROOT}/classes.txt": checksum(root / "classes.txt")}
    views = {}
    for view, (name, width) in (HISTOGRAMS | there).items():
        files = [path for images in rows[view] for path in images.values()]
        values, sums[f"{ROOT}/Features/{name}"] = _read_view(files, width)
        views[view] = hellinger(values, root / "Features" / name) if view in HISTOGRAMS else values
    return views, np.repeat(np.arange(CLASSES), [len(images) for images in first]), sums


def _animals(path: Path) -> list[str]:
    """Names of the classes in the file's order."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as text ({error}); check what it is.") from None
    animals = [line.split()[-1] for line in lines if line.strip()]
    if len(animals) != CLASSES or len(set(animals)) != CLASSES:
        raise InputError(
            f"{path} names {len(set(animals))} classes in {len(animals)} lines, but AWA has {CLASSES}; "
            "put the right file in its place."
        )
    return animals


def _rows(folder: Path, animals: list[str]) -> list[Rows]:
    """Files of every animal's images, by name and in the order of names."""
    rows = [{path.name: path for path in sorted((folder / animal).glob("*.txt"))} for animal in animals]
    for animal, images in zip(animals, rows, strict=True):
        if not images:
            raise InputError(f"{folder / animal} has no images; unpack the archive of {folder.name} anew.")
    return rows


def _read_view(files: list[Path], width: int) -> tuple[FloatArray, str]:
    """Numbers of every image (n, width), and one digest over the files' contents in this order."""
    digest = hashlib.sha256()
    values = np.empty((len(files), width), dtype=np.float32)
    for row, path in enumerate(files):
        try:
            content = path.read_bytes()
            numbers = np.array(content.split(), dtype=np.float32)
            # Reshaped, for a single number would else be spread over the whole row.
            values[row] = numbers.reshape(width)
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read as {width} numbers ({error}); unpack its archive anew.") from None
        digest.update(content)
    return values, digest.hexdigest()


def _deviations(rows: int, views: tuple[str, ...]) -> tuple[str, ...]:
    absent = [name for view, name in (("decaf", "DeCAF"), ("vgg19", "VGG19")) if view not in views]
    stand_in = " and ".join(name for view, name in (("lss", "LSS"), ("rgsift", "RGSIFT")) if view in views)
    sentences = []
    if rows != PAPER_ROWS:
        sentences.append(f"{rows:,} of the {PAPER_ROWS:,} images.")
    if absent:
        gone = " and ".join(absent)
        sentences.append(f"{stand_in} stand in for {gone}." if stand_in else f"Without the views {gone}.")
    return tuple(sentences)
