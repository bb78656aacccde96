"""Small files in the forms in which owners publish their data sets, with random numbers in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.io import savemat

from manifuse_study.datasets import awa, cal7, hw, lipophilicity, nus, osr

RELEASES = {"pubfig": (8, 11, 542), "osr": (8, 6, 512)}


def cells(values):
    """MATLAB's cell array, a row."""
    row = np.empty((1, len(values)), dtype=object)
    for column, value in enumerate(values):
        row[0, column] = value
    return row


def write_matlab(path: Path, contents) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, contents)


def release(name: str, rng) -> dict[str, object]:
    """Variables of a data.mat of relative_attributes_v2, classes counted from 1."""
    classes, attributes, width = RELEASES[name]
    sizes = osr.CLASS_SIZES if name == "osr" else [3] * classes
    labels = rng.permutation(np.repeat(np.arange(1, classes + 1), sizes))
    return {
        "feat": rng.random((len(labels), width)),
        "class_labels": labels[:, None].astype(np.uint8),
        "relative_ordering": orders(attributes, classes, rng),
        "attribute_names": cells([f"attribute {number}" for number in range(attributes)]),
        "class_names": cells([f"class {number}" for number in range(classes)]),
    }


def orders(attributes: int, classes: int, rng):
    """Ranks of the classes, one row for every attribute."""
    return np.stack([rng.permutation(classes) + 1 for _ in range(attributes)])


def shoes_attributes(rng, rows: int = 40) -> dict[str, object]:
    return {
        "class_labels": rng.permutation(np.arange(rows) % 10 + 1)[:, None],
        "orders": orders(10, 10, rng),
        "train_inds": np.arange(5)[:, None],
    }


def caltech(rng) -> dict[str, object]:
    """Variables of Caltech101-7.mat, rows in random order."""
    labels = rng.permutation(np.repeat(np.arange(1, 8), cal7.CLASS_SIZES))
    views = [rng.random((len(labels), width)).astype(np.float32) for width in cal7.WIDTHS.values()]
    return {"X": cells(views), "Y": labels[:, None]}


def nus_cells(rng, rows: int = 93) -> dict[str, object]:
    """Variables of NUSWIDEOBJ.mat, with the surplus column in every view."""
    views = [np.hstack([rng.random((rows, width)), np.zeros((rows, 1))]) for width in nus.WIDTHS.values()]
    return {"X": cells(views), "Y": rng.permutation(np.arange(rows) % nus.CLASSES + 1)[:, None]}


def write_nus_text(folder: Path, belongs, rng, *, wide: bool = False) -> dict[str, np.ndarray]:
    """Write the owner's text files; the first 60 rows of ``belongs`` (n, 31) are for training."""
    labels = folder / (nus.WIDE if wide else nus.OBJECT)[0]
    labels.mkdir(parents=True)
    parts = {"Train": slice(None, 60), "Test": slice(60, None)}
    for category, column in enumerate(belongs.T):
        for part, rows in parts.items():
            name = f"Labels_c{category:02}_{part}.txt" if wide else f"c{category:02} {part}.txt"
            np.savetxt(labels / name, column[rows], fmt="%d")
    views = {view: rng.random((len(belongs), width)) for view, width in nus.WIDTHS.items()}
    for view, values in views.items():
        for part, rows in parts.items():
            name = (
                f"Low_Level_Features/{part}_Normalized_{view}.dat" if wide else f"low level features/{part}_{view}.txt"
            )
            path = folder / "nus" / name
            path.parent.mkdir(exist_ok=True)
            # Every line ends in a blank, as in the originals.
            path.write_text("".join(" ".join(map(repr, row)) + " \n" for row in values[rows].tolist()))
    return views


def write_mfeat(folder: Path, rng) -> dict[str, np.ndarray]:
    """Write UCI's files."""
    (folder / "hw").mkdir(parents=True, exist_ok=True)
    views = {view: rng.integers(0, 1000, (sum(hw.CLASS_SIZES), width)) for view, width in hw.WIDTHS.items()}
    for view, values in views.items():
        np.savetxt(folder / "hw" / f"mfeat-{view}", values, fmt="%4d")
    return views


def molecules(rng) -> dict[str, np.ndarray]:
    """Arrays of lipophilicity.npz."""
    rows = lipophilicity.ROWS
    views = {
        f"X_{view}": rng.integers(0, 9, (rows, width)).astype(np.uint8) for view, width in lipophilicity.WIDTHS.items()
    }
    return {**views, "y": rng.uniform(-1.5, 4.5, rows).astype(np.float32)}


def write_awa(folder: Path, rng, *, networks=("decaf", "vgg19"), each: int = 2) -> dict[str, np.ndarray]:
    """Write the owner's per-image files, their images and classes out of alphabetical order."""
    root = folder / awa.ROOT
    root.mkdir(parents=True)
    animals = [f"animal+{number:02}" for number in reversed(range(awa.CLASSES))]
    root.joinpath("classes.txt").write_text(
        "".join(f"{number:8}\t{animal}\n" for number, animal in enumerate(animals, start=1))
    )
    written = {}
    for view, (name, width) in (awa.HISTOGRAMS | {view: awa.NETWORKS[view] for view in networks}).items():
        values = rng.integers(0, 9, (awa.CLASSES * each, width))
        written[view] = values
        between = " " if view in awa.HISTOGRAMS else "\n"
        for row, numbers in enumerate(values.tolist()):
            animal = animals[row // each]
            path = root / "Features" / name / animal / f"{animal}_{row % each + 1:04}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(between.join(map(str, numbers)) + "\n")
    return written


def write_awa_compact(folder: Path, rng, *, each: int = 2) -> dict[str, np.ndarray]:
    """Write the compact files."""
    (folder / "awa").mkdir(parents=True)
    rows = {
        "y": np.repeat(np.arange(awa.CLASSES), each),
        "row_in_class": np.tile(np.arange(each), awa.CLASSES),
    }
    np.savez(folder / "awa" / "awa_meta.npz", **rows)
    views = {
        view: rng.integers(0, 9, (len(rows["y"]), width)).astype(np.uint16)
        for view, width in awa.COMPACT_WIDTHS.items()
    }
    for view, counts in views.items():
        np.savez(folder / "awa" / f"awa_{view}.npz", **rows, **{f"X_{view}": counts})
    return views
