"""Files: written completely or not at all, and refused before they are read if they do not fit into memory."""

from __future__ import annotations

import os
import shutil
import stat
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from manifuse.errors import InputError
from manifuse.machine import available_memory

#: Fills the file that it is given.
Writer = Callable[[Path], object]


def bytes_writer(content: bytes) -> Writer:
    """Return a function that writes these bytes to a file."""
    return lambda path: path.write_bytes(content)


def write_whole(path: Path, write: Writer) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then rename it to ``path``.

    Raises
    ------
    InputError
        If the system refuses.
    """
    write_together({path: write})


def write_together(writes: Mapping[Path, Writer]) -> None:
    """Let functions fill temporary files beside their paths; when all are complete, rename them to the paths.

    Either all files are written, or none: if the last cannot be renamed, the others get their old content back. A link
    stays a link, and the file that it names is replaced. A new file takes over the permissions of the old one.

    Parameters
    ----------
    writes : mapping
        From the path of each file to the function that fills it.

    Raises
    ------
    InputError
        If the system refuses.
    """
    filled: list[tuple[Path, Path, Path]] = []
    replaced: list[tuple[Path, Path, Path | None]] = []
    path = None
    try:
        for path, write in writes.items():
            target = Path(os.path.realpath(path))
            prefix = f".{path.stem}-"
            with NamedTemporaryFile(dir=target.parent, prefix=prefix, suffix=path.suffix, delete=False) as file:
                temporary = Path(file.name)
                filled.append((path, temporary, target))
                write(temporary)
                temporary.chmod(_permissions(target))
                # Without this, a loss of power may leave an empty file under a known name.
                os.fsync(file.fileno())
        for path, temporary, target in filled:
            # The last file needs no way back.
            if path is not filled[-1][0]:
                replaced.append((temporary, target, _second_name(target, temporary)))
            temporary.replace(target)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({shorten(error)}); write elsewhere.") from None
    finally:
        if filled and filled[-1][1].exists():
            _put_back(replaced)
        for _, temporary, _ in filled:
            for left in (temporary, _old_name(temporary)):
                with suppress(OSError):
                    left.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Refuse a path to which no file can be written, before any work is done.

    Raises
    ------
    InputError
        If its folder does not exist or cannot be written to, it is a pipe or a device, or its name is not valid UTF-8.
    """
    check_name(path)
    check_folder_of(path)
    if os.path.isdir(path):
        raise InputError(f"{path} cannot be written (Is a directory); write elsewhere.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"{path} is a pipe or a device, not a file; write elsewhere.")
    try:
        with NamedTemporaryFile(dir=Path(os.path.realpath(path)).parent, prefix=f".{path.stem}-"):
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be written ({shorten(error)}); write elsewhere.") from None


def identity(path: Path | str) -> tuple[object, ...]:
    """Return what a file has in common with itself under other names: links, other mounts, other cases of letters.

    It is the device and the number of the file or, if it is not there, those of its folder with its name in small
    letters, because two such names may become one file.
    """
    target = os.path.realpath(path)
    for known, name in ((target, ()), (os.path.dirname(target), (os.path.basename(target).casefold(),))):
        with suppress(OSError):
            found = os.stat(known)
            return (found.st_dev, found.st_ino, *name)
    return (target,)


def check_folder_of(path: Path) -> None:
    """Refuse a path in a folder that does not exist.

    Raises
    ------
    InputError
        If the folder does not exist.
    """
    if not os.path.isdir(path.parent):
        raise InputError(f"The folder {path.parent} is not there; create it, or write elsewhere.")


def check_name(path: Path) -> None:
    """Refuse a name that is not valid UTF-8 or has a control character, because no result could contain it.

    Raises
    ------
    InputError
        If it is such a name.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InputError(f"The name {str(path)!r} is not valid UTF-8; rename it.") from None
    if any(unicodedata.category(character) == "Cc" for character in str(path)):
        raise InputError(f"The name {str(path)!r} has a control character; rename it.")


@contextmanager
def reading(path: Path, kind: str | None = None) -> Iterator[None]:
    """Turn any error inside into one sentence: the file cannot be read as ``kind``, or as what its ending says.

    A reader may raise anything for a damaged file.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        remedy = "save it as UTF-8" if kind is None and "utf-8" in str(error) else "check what it is"
        raise InputError(f"{path} cannot be read as {kind or path.suffix[1:]} ({shorten(error)}); {remedy}.") from None


def demand_regular(path: Path) -> None:
    """Refuse a pipe or a device, which reading might never end with.

    Raises
    ------
    InputError
        If it is there, and is neither a file nor a folder.
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise InputError(f"{path} is a pipe or a device, but a file was expected; save it as a file.")


def check_size(path: Path, *, growth: float = 1.0) -> None:
    """Refuse a file that does not fit into memory, before any of it is read.

    Parameters
    ----------
    path : Path
        A path that cannot be looked at passes; its reader refuses it.
    growth : float
        Memory that reading takes, as a multiple of the size of the file.

    Raises
    ------
    InputError
        If reading takes more memory than is free.
    """
    with suppress(OSError):
        demand_memory(path, growth * path.stat().st_size)


def demand_memory(path: Path, needed: float) -> None:
    """Refuse a file if reading it takes more memory than is free.

    Parameters
    ----------
    path : Path
    needed : float
        Bytes that reading takes.

    Raises
    ------
    InputError
        If it takes more than is free.
    """
    free = available_memory()
    if free is not None and needed > free:
        raise InputError(
            f"Reading {path} takes about {needed / 1e9:.1f} GB, but {free / 1e9:.1f} GB of memory are free; "
            "use a part of the file, or a machine with more memory."
        )


def shorten(said: object, *, most: int = 160) -> str:
    """Return the first line of another library's message, without its full stop and cut after ``most`` characters."""
    said = said.strerror or said if isinstance(said, OSError) else said
    line = str(said).strip().partition("\n")[0].rstrip(".")
    return line if len(line) <= most else f"{line[:most]}..."


def _old_name(temporary: Path) -> Path:
    return temporary.with_name(f"{temporary.name}.old")


def _second_name(target: Path, temporary: Path) -> Path | None:
    """Give a file a second name, under which its content stays when it is replaced; None if it is not there."""
    if not target.exists():
        return None
    second = _old_name(temporary)
    try:
        second.hardlink_to(target)
    except OSError:  # Some file systems have no hard links.
        shutil.copy2(target, second)
    return second


def _put_back(replaced: list[tuple[Path, Path, Path | None]]) -> None:
    """Give files that were replaced their old content, as far as the system lets us."""
    for temporary, target, old in replaced:
        if temporary.exists():
            continue  # It was not replaced yet.
        with suppress(OSError):
            if old is None:
                target.unlink(missing_ok=True)
            else:
                old.replace(target)


def _permissions(path: Path) -> int:
    """Permissions of a file that exists, else those of any new file; a temporary file has fewer."""
    with suppress(OSError):
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
