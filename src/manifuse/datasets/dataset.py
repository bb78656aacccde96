"""Dataset: several feature views of the same rows, with graded labels."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from manifuse.kernels.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows described by several views, and their truth.

    Attributes
    ----------
    name : str
    title : str
        One line for tables and figures.
    views : mapping of str to (n, d) array
        Feature tables; row i of each is the same thing.
    labels : (n,) array
        Graded truth, larger is better.
    """

    name: str
    title: str
    views: Mapping[str, FloatArray]
    labels: FloatArray

    def __len__(self) -> int:
        return len(self.labels)


def data_folder(given: Path | None = None) -> Path:
    """Where data sets are: as given, else the variable ``MANIFUSE_DATA``, else the user's data directory."""
    if given is not None:
        return given
    named = os.environ.get("MANIFUSE_DATA")
    return Path(named) if named else user_data_path("manifuse")
