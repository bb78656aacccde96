"""AWA: Animals with Attributes (version 1), 30,475 images of 50 animals in five feature views (section 3.2.2, G).

Rows are images. Each view is a task, and a ranker has to recover the animal, in the order of ``classes.txt``. The
paper pairs all rows of all views: its toy setting, in which every reference is relevant and methods for coupled
predictors apply too.

The first of these forms that is in the data folder is read:

- ``awa/awa_<view>.npz`` with ``X_<view>``, ``y`` and ``row_in_class`` for phog, sift, surf, lss and rgsift, and
  ``awa/awa_meta.npz``: at most 200 images of each animal;
- ``awa/Animals_with_Attributes/`` as the owner's archives unpack: ``classes.txt`` (a number and a name per line) and
  ``Features/<view>/<animal>/<animal>_0001.txt`` and so on, for the views surf-hist, sift-hist and phog-hist, and
  for decaf and vgg19 if they are there. A file has the numbers of one image, in one line or one per line. This is
  the layout that programs read which other people published for it.

The paper's views are SURF, SIFT, PHOG, DeCAF and VGG19. The networks' features are not in the compact files, where
LSS and RGSIFT replace them.

A histogram is read as the square roots of its shares, so that Euclidean distances between rows are Hellinger
distances, which a few frequent visual words do not dominate. A histogram without a count stays zero. The networks'
features stay as they are. All are in single precision, which halves the memory of 30,475 rows of 12,444 numbers.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray
from manifuse_study.datasets.array_files import class_indices, read_arrays
from manifuse_study.datasets.source import Contents, Form, Source, checksums
from manifuse_study.datasets.views import read_compact, view_tasks

COMPACT_WIDTHS = {"surf": 2000, "sift": 2000, "phog": 252, "lss": 2000, "rgsift": 2000}
COMPACT = ("awa/awa_meta.npz", *(f"awa/awa_{view}.npz" for view in COMPACT_WIDTHS))
ROOT = "awa/Animals_with_Attributes"
#: From a view to its folder and the numbers of an image.
HISTOGRAMS = {"surf": ("surf-hist", 2000), "sift": ("sift-hist", 2000), "phog": ("phog-hist", 252)}
NETWORKS = {"decaf": ("decaf", 4096), "vgg19": ("vgg19", 4096)}
PUBLISHED = (f"{ROOT}/classes.txt", *(f"{ROOT}/Features/{name}" for name, _ in HISTOGRAMS.values()))
CLASSES = 50


def read(folder: Path, form: Form) -> Contents:
    """Read AWA; see `Source`."""
    return _read_compact(folder) if form == COMPACT else _read_published(folder)


def hellinger(histograms: NDArray[Any], path: Path) -> FloatArray:
    """Square roots of the shares in each histogram (n, d); a histogram without a count stays zero.

    Raises
    ------
    InputError
        If a count is negative or not a number.
    """
    shares = histograms.astype(np.float32)
    # A comparison with NaN is false, so NaN is refused as well.
    if not (shares >= 0).all():
        raise InputError(f"{path} has counts that are negative or not numbers; put the right file in its place.")
    totals = shares.sum(axis=1, keepdims=True)
    # In place, because a view may take a quarter of a gigabyte.
    shares /= np.where(totals > 0, totals, 1.0)
    return np.sqrt(shares, out=shares)


def _read_compact(folder: Path) -> Contents:
    meta_path = folder / COMPACT[0]
    meta = read_arrays(meta_path, ("y", "row_in_class"))
    labels = class_indices(meta_path, meta["y"], classes=CLASSES)
    views = {}
    for (view, width), file in zip(COMPACT_WIDTHS.items(), COMPACT[1:], strict=True):
        path = folder / file
        arrays, tables = read_compact(path, {view: width}, also=("row_in_class",))
        if not all(np.array_equal(arrays[name], meta[name]) for name in ("y", "row_in_class")):
            raise InputError(
                f"{path} describes other rows than {meta_path.name}, but the same were expected; "
                "put files of one origin there."
            )
        views[view] = hellinger(tables[view], path)
    return Contents(view_tasks(views, labels), ("LSS and RGSIFT replace DeCAF and VGG19.",))


def _read_published(folder: Path) -> Contents:
    root, features = folder / ROOT, folder / ROOT / "Features"
    animals = _animals(root / "classes.txt")
    kinds = HISTOGRAMS | {view: kind for view, kind in NETWORKS.items() if (features / kind[0]).is_dir()}
    found = {view: _images(features / name, animals) for view, (name, _) in kinds.items()}
    images = found["surf"]
    for view, others in found.items():
        if others != images:
            raise InputError(
                f"{features} has other images in {view} than in surf, but all views must have the same; "
                "unpack the archives again."
            )
    sums = checksums(folder, [f"{ROOT}/classes.txt"])
    views = {}
    for view, (name, width) in kinds.items():
        values, sums[f"{ROOT}/Features/{name}"] = _read_view([features / name / image for image in images], width)
        views[view] = hellinger(values, features / name) if view in HISTOGRAMS else values
    absent = [name for view, name in (("decaf", "DeCAF"), ("vgg19", "VGG19")) if view not in views]
    labels = np.array([animals.index(image.partition("/")[0]) for image in images])
    deviations = (f"Without the views {' and '.join(absent)}.",) if absent else ()
    return Contents(view_tasks(views, labels), deviations, sums)


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


def _images(folder: Path, animals: list[str]) -> list[str]:
    """Files of all images by their paths in the folder: animal by animal, then in the order of names."""
    images = []
    for animal in animals:
        names = sorted(path.name for path in (folder / animal).glob("*.txt"))
        if not names:
            raise InputError(
                f"{folder / animal} has no images, but some were expected; unpack the archive of {folder.name} again."
            )
        images += [f"{animal}/{name}" for name in names]
    return images


def _read_view(files: list[Path], width: int) -> tuple[FloatArray, str]:
    """Numbers of every image (n, width), and one SHA-256 of the files' contents in this order."""
    digest = hashlib.sha256()
    values = np.empty((len(files), width), dtype=np.float32)
    for row, path in enumerate(files):
        try:
            content = path.read_bytes()
            numbers = np.array(content.split(), dtype=np.float32)
            # Reshaped, because a single number would otherwise fill the whole row.
            values[row] = numbers.reshape(width)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{path} cannot be read as {width} numbers ({error}); unpack its archive again."
            ) from None
        digest.update(content)
    return values, digest.hexdigest()


AWA = Source(
    name="awa",
    title="Animals with Attributes (AWA)",
    summary="images of 50 animals; feature views as tasks",
    owner="https://cvml.ist.ac.at/AwA/ (AwA-base and AwA-features-*.tar.bz2)",
    citation="C. H. Lampert, H. Nickisch, S. Harmeling, CVPR 2009 and TPAMI 2014",
    forms=(COMPACT, PUBLISHED),
    read=read,
    paper_rows=30_475,
)
