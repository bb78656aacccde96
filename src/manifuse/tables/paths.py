"""Paths of files that are read and written, checked before any work is done."""

from collections.abc import Callable, Iterable
from os.path import isdir, realpath
from pathlib import Path

from manifuse.errors import InputError
from manifuse.files import check_name, check_writable, identity


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
    folders = {identity(part): part for part in parts if isdir(part)}
    for path in filter(None, written):
        check(path)
        if identity(path) in inputs:
            raise InputError(f"{path} is an input, which would be overwritten; give the output another name.")
        if identity(path) in outputs:
            raise InputError(f"{path} would be written twice; give each output its own name.")
        above = (folders.get(identity(each)) for each in Path(realpath(path)).parents)
        folder = next(filter(None, above), None)
        if folder is not None:
            raise InputError(f"{path} would be a part of the input folder {folder}; write elsewhere.")
        outputs.add(identity(path))
