"""Files: written whole or not at all, and archives read without ever executing anything in them."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.machine import available_memory


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
        raise InputError(f"{path} cannot be written ({shorten(error)}); write elsewhere.") from None


def read_archive(path: Path) -> dict[str, NDArray[Any]]:
    """Read every array of an ``.npz`` file.

    Raises
    ------
    InputError
        If it is damaged, no archive, holds Python objects, or would not fit into memory.
    """
    try:
        with path.open("rb") as file:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is no zip file")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                _demand_memory(path, sum(member.file_size for member in archive.zip.infolist()))
                return {name: archive[name] for name in archive.files}
    except InputError:
        raise
    except Exception as error:
        # The reader promises nothing of what a damaged file makes it raise.
        raise InputError(f"{path} cannot be read as a NumPy archive ({shorten(error)}); check what it is.") from None


def check_size(path: Path, *, growth: float = 1.0) -> None:
    """Refuse a file that would not fit into memory, before any of it is read.

    Parameters
    ----------
    path : Path
        Where nothing is to be seen there, that is left to its reader to say.
    growth : float
        Memory that reading takes, in sizes of the file.

    Raises
    ------
    InputError
        If reading would take more than is free.
    """
    with suppress(OSError):
        _demand_memory(path, growth * path.stat().st_size)


def shorten(said: object, *, most: int = 160) -> str:
    """First line of what another library says, without its full stop and not too long for a sentence."""
    said = said.strerror or said if isinstance(said, OSError) else said
    line = str(said).strip().partition("\n")[0].rstrip(".")
    return line if len(line) <= most else f"{line[:most]}..."


def _demand_memory(path: Path, needed: float) -> None:
    free = available_memory()
    if free is not None and needed > free:
        raise InputError(
            f"Reading {path} takes about {needed / 1e9:.1f} GB, but {free / 1e9:.1f} GB of memory are free; "
            "take a part of it, or a machine with more memory."
        )
