"""Saved refinements: a NumPy archive of named arrays and a text of plain values, without code (docs/saved.md)."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError, demand
from manifuse.files import Writer, check_writable, path_of, write_whole
from manifuse.records import flatten, unflatten
from manifuse.run.refinement import Refinement
from manifuse.tables.archives import read_archive

#: The number of the layout; raised when older files can no longer be read.
FORMAT = 38


def save(result: Refinement, path: Path | str) -> None:
    """Keep a refinement, to be applied to rows that come later, in another process or another year.

    Parameters
    ----------
    result : Refinement
    path : path-like
        Ends in ``.npz``. Written whole or not at all.

    Raises
    ------
    InputError
        If it is not a refinement, or cannot be written there.

    See Also
    --------
    load : Get it back.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> import manifuse as mf
    >>> truth, noise = np.arange(20.0), np.random.default_rng(0)
    >>> ours = mf.Observations(truth + 6 * noise.standard_normal(20), ids=range(20), name="ours")
    >>> other = mf.Observations(truth + noise.standard_normal(20), ids=range(20), name="other")
    >>> result = mf.refine(ours, [other], rng=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mf.save(result, f"{folder}/ours.npz")
    ...     again = mf.load(f"{folder}/ours.npz")
    >>> bool(np.all(again.apply(ours) == result.apply(ours)))
    True
    """
    demand(Refinement, result)
    path = Path(path_of(path))
    check_model(path)
    write_whole(path, model_writer(result))


def model_writer(result: Refinement) -> Writer:
    """Return a function that writes a refinement to a file; see `save`."""
    arrays: dict[str, NDArray[Any]] = {}
    plain = {"format": FORMAT, "refinement": flatten(result.to_record(), arrays, "refinement")}
    content = {"plain": np.frombuffer(json.dumps(plain, allow_nan=False).encode(), dtype=np.uint8), **arrays}
    content["seal"] = np.array(seal_of(content))

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, **content)  # type: ignore[arg-type]

    return write


def seal_of(content: Mapping[str, NDArray[Any]]) -> str:
    """Return the checksum (SHA-256) of named arrays, in hexadecimal digits."""
    checksum = hashlib.sha256()
    for name, array in sorted(content.items()):
        checksum.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        checksum.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return checksum.hexdigest()


def check_model(path: Path) -> None:
    """Refuse a name under which nothing could be saved, before any work is done."""
    if path.suffix != ".npz":
        raise InputError(f"{path} ends in {path.suffix!r}, but saved refinements end in .npz; rename it.")
    check_writable(path)


def load(path: Path | str) -> Refinement:
    """Get a saved refinement back.

    Nothing in the file can make code run: it holds numbers and text.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Refinement
        Its predictions are NumPy arrays, even if they were of another library before.

    Raises
    ------
    InputError
        If it is not a saved refinement, was changed after it was saved, or has the format of another version.

    See Also
    --------
    save : Its example goes both ways.

    Examples
    --------
    >>> import manifuse as mf
    >>> try:
    ...     mf.load("nowhere.npz")
    ... except mf.InputError as error:
    ...     print(error)
    nowhere.npz is not there; check the name.
    """
    path = Path(path_of(path))
    another = f"{path} is not a saved refinement; give a file that manifuse saved."
    if path.is_file() and not is_zipfile(path):
        raise InputError(another)
    arrays = read_archive(path)
    try:
        plain = json.loads(bytes(arrays["plain"]))
        written = plain["format"]
    except (KeyError, ValueError, TypeError, RecursionError):
        raise InputError(another) from None
    if written != FORMAT:
        raise InputError(
            f"{path} has the format {written!r}, but this version reads {FORMAT}; use the version that wrote it."
        )
    if str(arrays.pop("seal", None)) != seal_of(arrays):
        raise InputError(f"{path} was changed after it was saved; save the refinement again.")
    return Refinement.from_record(unflatten(plain["refinement"], arrays))
