"""Paths of files that are read and written: checked before any work is done, and named where reading fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os.path import realpath
from pathlib import Path

from manifuse.errors import InputError
from manifuse.files import check_name, check_writable, shorten


def demand_file(path: Path) -> None:
    """Refuse a path where there is no file, or an empty one.

    Raises
    ------
    InputError
        If so, or if nobody may look.
    """
    check_name(path)
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise InputError(f"{path} cannot be looked at ({error.strerror}); check the name.") from None
    if size is None:
        raise InputError(f"{path} is not there; check the name.")
    if size == 0:
        raise InputError(f"{path} is empty; a table needs a header and at least three rows.")


@contextmanager
def reading(path: Path, kind: str, *, is_text: bool = False) -> Iterator[None]:
    """Say in one sentence that a file cannot be read as what it should be.

    What a damaged file makes its reader raise is not promised; a panic of polars is not even an ``Exception``.
    """
    try:
        yield
    except InputError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        remedy = "save it as UTF-8" if is_text and "utf-8" in str(error) else "check what it is"
        raise InputError(f"{path} cannot be read as {kind} ({shorten(error)}); {remedy}.") from None


def check_paths(*, read: Iterable[Path | str | None], written: Iterable[Path | None]) -> None:
    """Refuse to write over what is read, or two results into one file, before any work is done.

    Parameters
    ----------
    read : iterable of path-like or None
        Tables as `read_table` takes them, features in files of their own included, and other files.
    written : iterable of Path or None

    Raises
    ------
    InputError
        If a file is in both, or is written twice; or one could not be written, or a name is no text.
    """
    parts = [part for given in read if given is not None for part in str(given).split("::", 1) if part]
    for part in parts:
        check_name(Path(part))
    taken = {realpath(part) for part in parts}
    for path in written:
        if path is None:
            continue
        check_writable(path)
        if realpath(path) in taken:
            raise InputError(f"{path} would be written over what is read, or twice; give it a name of its own.")
        taken.add(realpath(path))
