"""Files: written whole or not at all, and archives read without ever executing anything in them."""

from __future__ import annotations

import os
import stat
import tempfile
import zipfile
from collections.abc import Callable, Mapping
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
    write_together({path: write})


def write_together(writes: Mapping[Path, Callable[[Path], None]]) -> None:
    """Let functions fill temporary files beside their paths, and when all are full rename these into place.

    A link stays one, and what it names is replaced. A file that was there before passes its rights on.

    Parameters
    ----------
    writes : mapping
        From where a file goes to what fills it.

    Raises
    ------
    InputError
        If the system refuses.
    """
    filled: list[tuple[Path, Path, Path]] = []
    path = None
    try:
        for path, write in writes.items():
            target = Path(os.path.realpath(path))
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{path.stem}-", suffix=path.suffix)
            os.close(handle)
            temporary = Path(name)
            filled.append((path, temporary, target))
            write(temporary)
            temporary.chmod(_rights(target))
            _bring_to_disk(temporary)
        for path, temporary, target in filled:  # noqa: B007
            temporary.replace(target)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({shorten(error)}); write elsewhere.") from None
    finally:
        for _, temporary, _ in filled:
            temporary.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Refuse a path at which no file could be written, before any work is done.

    Raises
    ------
    InputError
        If its folder is not there, it is a folder itself, or its name is no text.
    """
    check_name(path)
    check_folder_of(path)
    if os.path.isdir(path):
        raise InputError(f"{path} cannot be written (Is a directory); write elsewhere.")


def check_folder_of(path: Path) -> None:
    """Refuse a path whose folder is not there.

    Raises
    ------
    InputError
        If it is not.
    """
    if not os.path.isdir(path.parent):
        raise InputError(f"The folder {path.parent} is not there; make it, or write elsewhere.")


def check_name(path: Path) -> None:
    """Refuse a name of bytes that are no UTF-8, which no result could name.

    Raises
    ------
    InputError
        If it is such a name.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"The name {str(path)!r} is no text in UTF-8; rename it.") from None


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
                demand_memory(path, sum(member.file_size for member in archive.zip.infolist()))
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
        demand_memory(path, growth * path.stat().st_size)


def demand_memory(path: Path, needed: float) -> None:
    """Refuse a file of which reading takes more bytes than are free.

    Raises
    ------
    InputError
        If it does.
    """
    free = available_memory()
    if free is not None and needed > free:
        raise InputError(
            f"Reading {path} takes about {needed / 1e9:.1f} GB, but {free / 1e9:.1f} GB of memory are free; "
            "take a part of it, or a machine with more memory."
        )


def shorten(said: object, *, most: int = 160) -> str:
    """First line of what another library says, without its full stop and not too long for a sentence."""
    said = said.strerror or said if isinstance(said, OSError) else said
    line = str(said).strip().partition("\n")[0].rstrip(".")
    return line if len(line) <= most else f"{line[:most]}..."


def _rights(path: Path) -> int:
    """Rights of a file that is there, or those that a new one gets, where mkstemp gives fewer."""
    with suppress(OSError):
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _bring_to_disk(path: Path) -> None:
    """Wait until the content is on the disk, so that no loss of power leaves an empty file under a known name."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
