"""Files: written whole or not at all, and archives read without ever executing anything in them."""

from __future__ import annotations

import os
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it into place.

    Raises
    ------
    InputError
        If the system refuses.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
        os.close(handle)
        temporary = Path(name)
        try:
            write(temporary)
            # mkstemp makes files that only their owner may read; the result gets the usual rights.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); write elsewhere.") from None


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
