"""HW: UCI Multiple Features, 2,000 Dutch handwritten digits in six feature sets (section 3.2.2, F).

The truth that a ranker is to recover is the digit. Read from ``hw/mfeat.npz`` in the data folder.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from manifuse.datasets.archive import read_archive
from manifuse.datasets.dataset import Dataset, checksum
from manifuse.errors import InputError

VIEWS = {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}
ROWS = 2000


def hw(folder: Path) -> Dataset:
    """Load HW from the data folder.

    Raises
    ------
    InputError
        If the file is not there or is not what it should be.
    """
    path = folder / "hw" / "mfeat.npz"
    if not path.is_file():
        raise InputError(
            f"{path} is not there; name the data folder with --data or MANIFUSE_DATA (it holds hw/mfeat.npz)."
        )
    arrays = read_archive(path)
    missing = {*(f"X_{name}" for name in VIEWS), "y"} - arrays.keys()
    if missing:
        raise InputError(f"{path} has no array {min(missing)!r}; it is not HW, so fetch it anew.")
    views = {name: arrays[f"X_{name}"].astype(np.float64) for name in VIEWS}
    labels = arrays["y"].astype(np.float64)
    expected = {name: (ROWS, width) for name, width in VIEWS.items()}
    if {name: view.shape for name, view in views.items()} != expected or labels.shape != (ROWS,):
        raise InputError(f"{path} has other shapes than HW's 2,000 rows in views of {VIEWS}; fetch it anew.")
    return Dataset.of_views(
        "hw",
        "UCI handwritten digits (HW), six feature sets",
        views,
        labels,
        checksums={"hw/mfeat.npz": checksum(path)},
    )
