"""Reading: what is refused before a file is read, and one sentence for a file that cannot be read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from manifuse.errors import InputError
from manifuse.files import check_name, shorten
from manifuse.machine import available_memory


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
