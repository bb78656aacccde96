"""Files: written completely or not at all."""

import os
import shutil
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import IO

from manifuse.errors import InputError

#: How the names of folders of unfinished files begin, before they are locked and then; and the file that is locked.
YOUNG, UNFINISHED, LOCK = ".manifuse-young-", ".manifuse-unfinished-", "lock"

#: Fills the file that it is given.
Writer = Callable[[Path], object]


def path_of(given: object) -> str:
    """Return a path as text.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        return str(os.fspath(given))  # type: ignore[call-overload]
    except TypeError:
        raise InputError(f"{type(given).__name__} came where a path was expected; give the path of a file.") from None


def bytes_writer(content: bytes) -> Writer:
    """Return a function that writes these bytes to a file."""
    return lambda path: path.write_bytes(content)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Refuse in one sentence what the system does not let us write to ``path``."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written ({shorten(error)}); write elsewhere.") from None


@contextmanager
def unfinished(beside: Path) -> Iterator[Path]:
    """Make a hidden folder for unfinished files ``beside`` a file, or what it links to; remove it at the end.

    It first removes those that killed runs left. A run locks its own, and the system lifts the lock when the run ends
    in whatever way; so those of runs that go on are left alone.

    Yields
    ------
    Path

    Raises
    ------
    OSError
        If the system refuses.
    """
    folder = Path(os.path.realpath(beside)).parent
    for left in folder.glob(f"{UNFINISHED}*"):
        with suppress(OSError, ImportError), (left / LOCK).open("ab") as file:
            _lock(file)
            shutil.rmtree(left)
    made = Path(mkdtemp(dir=folder, prefix=YOUNG))
    try:
        with (made / LOCK).open("ab") as file:
            with suppress(OSError, ImportError):  # Where there are no locks, nothing is removed later.
                _lock(file)
            made = made.rename(folder / made.name.replace(YOUNG, UNFINISHED))
            yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed; an ``OSError`` if another process has done so, an ``ImportError`` on Windows."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    flock(file, LOCK_EX | LOCK_NB)


def write_whole(path: Path, write: Writer) -> None:
    """Let ``write`` fill an unfinished file, then rename it to ``path``.

    Raises
    ------
    InputError
        If the system refuses.
    """
    write_together({path: write})


def write_together(writes: Mapping[Path, Writer]) -> None:
    """Let functions fill unfinished files; when all are complete, rename them to their paths.

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
    folders: dict[Path, Path] = {}
    filled: list[tuple[Path, Path]] = []
    with ExitStack() as opened:
        for path, write in writes.items():
            with writing(path):
                target = Path(os.path.realpath(path))
                if target.parent not in folders:
                    folders[target.parent] = opened.enter_context(unfinished(target))
                temporary = folders[target.parent] / f"{len(filled)}{path.suffix}"
                write(temporary)
                with suppress(FileNotFoundError):
                    shutil.copymode(target, temporary)
                # Without this, a loss of power may leave an empty file under a known name.
                with temporary.open("r+b") as file:
                    os.fsync(file.fileno())
            filled.append((temporary, target))
        before = [(temporary, target, _second_name(temporary, target)) for temporary, target in filled[:-1]]
        try:
            for path, (temporary, target) in zip(writes, filled, strict=True):
                with writing(path):
                    temporary.replace(target)
        finally:
            # Unless the last has replaced its target, the others get their old content again.
            for temporary, target, old in before if filled and filled[-1][0].exists() else ():
                if not temporary.exists():
                    with suppress(OSError):
                        target.unlink() if old is None else old.replace(target)


def check_writable(path: Path) -> None:
    """Refuse a path to which no file can be written, before any work is done.

    Raises
    ------
    InputError
        If its folder does not exist or cannot be written to, it is a pipe or a device, or its name is not valid UTF-8.
    """
    check_place(path)
    if os.path.isdir(path):
        raise InputError(f"{path} cannot be written (Is a directory); write elsewhere.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise InputError(f"{path} is a pipe or a device, not a file; write elsewhere.")


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


def check_place(path: Path) -> None:
    """Refuse a path where nothing can be written.

    Raises
    ------
    InputError
        If its folder does not exist or cannot be written to, or its name is not valid UTF-8.
    """
    check_name(path)
    if not os.path.isdir(path.parent):
        raise InputError(f"The folder {path.parent} is not there; create it, or write elsewhere.")
    with writing(path), unfinished(path):
        pass


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


def shorten(said: object, *, most: int = 160) -> str:
    """Return the first line of a text without its full stop, cut between words where it is longer than ``most``."""
    said = said.strerror or said if isinstance(said, OSError) else said
    line = str(said).strip().partition("\n")[0].rstrip(".")
    if len(line) <= most:
        return line
    words = line[:most].rpartition(" ")[0].rstrip(",")
    # A word that is as long as the rest is cut itself.
    return f"{words if 2 * len(words) > most else line[:most]}..."


def _second_name(temporary: Path, target: Path) -> Path | None:
    """Give a file a second name, under which its content stays when it is replaced; None if it is not there."""
    if not target.exists():
        return None
    second = temporary.with_name(f"{temporary.name}.old")
    try:
        second.hardlink_to(target)
    except OSError:  # Some file systems have no hard links.
        shutil.copy2(target, second)
    return second
