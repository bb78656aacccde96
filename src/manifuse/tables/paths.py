"""Paths of files that are read and written: what is refused before any work, and one sentence if reading fails."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from manifuse.errors import InputError
from manifuse.files import check_name, check_writable, identity, shorten
from manifuse.machine import available_memory


def files_in(given: Path | str) -> list[str]:
    """Return the files that a table names: itself, and in ``FILE::FEATURES.npy`` that of the features too."""
    return [part for part in str(given).split("::", 1) if part]


def check_paths(
    *,
    read: Iterable[Path | str],
    written: Iterable[Path | None],
    check: Callable[[Path], None] = check_writable,
) -> None:
    """Refuse to overwrite an input, or to write two results into one file, before any work is done.

    Files are the same if they are one on the disk, whatever their names.

    Parameters
    ----------
    read : iterable of path-like
        Tables as `read_table` takes them, and other files.
    written : iterable of Path or None
    check : callable
        Refuses a path to which nothing can be written.

    Raises
    ------
    InputError
        If a file is in both, or is written twice; if one could not be written, or its name is not text in UTF-8.
    """
    parts = [part for given in read for part in files_in(given)]
    for part in parts:
        check_name(Path(part))
    inputs, outputs = {identity(part) for part in parts}, set()
    folders = {identity(part): part for part in parts if os.path.isdir(part)}
    for path in filter(None, written):
        check(path)
        if identity(path) in inputs:
            raise InputError(f"{path} is an input, which would be overwritten; give the output another name.")
        if identity(path) in outputs:
            raise InputError(f"{path} would be written twice; give each output its own name.")
        above = (folders.get(identity(each)) for each in Path(os.path.realpath(path)).parents)
        folder = next(filter(None, above), None)
        if folder is not None:
            raise InputError(f"{path} would be a part of the input folder {folder}; write elsewhere.")
        outputs.add(identity(path))


@contextmanager
def reading(path: Path, kind: str | None = None) -> Iterator[None]:
    """Turn any error inside into one sentence: the file cannot be read as ``kind``, or as what its ending says.

    A reader may raise anything for a damaged file; a panic of polars is not even an ``Exception``.
    """
    try:
        yield
    except InputError:
        raise
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            what = kind or path.suffix[1:]
            raise InputError(f"{path} cannot be read as {what}, because it is damaged; save it again.") from None
        if not isinstance(error, Exception):
            raise
        remedy = "save it as UTF-8" if kind is None and "utf-8" in str(error) else "check what it is"
        if path.suffix.lower() == ".jsonl" and not isinstance(error, OSError):
            remedy = "write one object a line, in UTF-8 without a mark before it, and null where a number is missing"
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


def demand_file(path: Path) -> None:
    """Refuse a path without a file, or with an empty one.

    Raises
    ------
    InputError
        If there is no such file, it is a folder or empty, or its folder may not be read.
    """
    check_name(path)
    try:
        size = path.stat().st_size if path.is_file() else None
    except OSError as error:
        raise InputError(f"{path} cannot be found ({error.strerror}); check the name.") from None
    if size is None:
        demand_regular(path)
        if path.is_dir():
            raise InputError(f"{path} is a folder, but a file was expected; name the file.")
        raise InputError(f"{path} is not there; check the name.")
    if size == 0:
        raise InputError(f"{path} is empty; save it again, or check the name.")


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
