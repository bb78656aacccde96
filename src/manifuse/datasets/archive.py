"""NumPy archives, read without ever executing anything in them."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError


def read_archive(path: Path) -> dict[str, NDArray[Any]]:
    """Read every array of an ``.npz`` file.

    Raises
    ------
    InputError
        If it is damaged, no archive, or holds Python objects.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} cannot be read as a NumPy archive ({error}); check what it is.") from None
