"""Cached: a backend that keeps the results of neighbour searches in a folder."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.backends.backend import Backend, FeatureGraph
from manifuse.backends.neighbours import Neighbours, Query, warn_of_recall
from manifuse.errors import InputError, ManifuseWarning
from manifuse.files import read_archive, write_whole
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.columns import blocks_of

#: The version of the files' layout. Files of another layout are not used.
FORMAT = 2


class Cached(Backend):
    """A backend that keeps its neighbour searches in a folder, for later runs.

    A kept search is used again if the features are equal to the last bit, and the standardising, the kind of search
    and the backend are the same. A search for more neighbours also serves runs that need fewer.

    Parameters
    ----------
    backend : Backend
        Searches neighbours and keeps the graphs.
    folder : path-like
        The folder is made if it does not exist. You can delete its files at any time.

    Raises
    ------
    InputError
        If the folder cannot be made or read.

    Examples
    --------
    >>> import tempfile
    >>> import manifuse as mf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     backend = mf.Cached(mf.Host(), folder)
    ...     # mf.refine(..., backend=backend)
    """

    def __init__(self, backend: Backend, folder: Path | str) -> None:
        self.backend = backend
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            next(self.folder.iterdir(), None)
        except OSError as error:
            raise InputError(f"The folder {folder} cannot be used ({error.strerror}); name another.") from None

    def search(self, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Return a search that the folder keeps, or else search and keep the result; see `Backend.search`."""
        count = min(query.count, len(features) - 1)
        path = self.folder / f"neighbours-{self._key(features, query)}.npz"
        known = _read(path, len(features), query.standardised) if path.exists() else None
        if known is not None and known.indices.shape[1] >= count:
            warn_of_recall(known.recall, query.name)
            return Neighbours(known.indices[:, :count], known.distances[:, :count], known.recall, query.standardised)
        found = self.backend.search(features, query, rng)
        try:
            _write(path, found)
        except InputError as error:
            warnings.warn(f"The search of {query.name} could not be kept: {error}", ManifuseWarning, stacklevel=4)
        return found

    def graph(self, neighbours: Neighbours, count: int) -> FeatureGraph:
        """Build the graph with the wrapped backend; see `Backend.graph`."""
        return self.backend.graph(neighbours, count)

    def search_bytes(self, features: FloatArray) -> int:
        """Return the bytes that a search by the wrapped backend needs; see `Backend.search_bytes`."""
        return self.backend.search_bytes(features)

    def edge_bytes(self, rows: int) -> int:
        """Return the bytes of an edge in the wrapped backend; see `Backend.edge_bytes`."""
        return self.backend.edge_bytes(rows)

    def free_memory(self) -> int | None:
        """Return the bytes that are free for the wrapped backend; see `Backend.free_memory`."""
        return self.backend.free_memory()

    def _key(self, features: FloatArray, query: Query) -> str:
        search = (query.standardised, query.search, type(self.backend).__name__)
        what = (FORMAT, *search, features.shape, features.dtype.str)
        digest = hashlib.blake2b(repr(what).encode(), digest_size=16)
        for rows in blocks_of(features):
            digest.update(np.ascontiguousarray(features[rows]).data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"Cached({self.backend!r}, {str(self.folder)!r})"


def _write(path: Path, found: Neighbours) -> None:
    """Write a search to a file, with row numbers of four bytes if they are large enough."""
    short = np.int32 if len(found.indices) < np.iinfo(np.int32).max else np.int64

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            indices = found.indices.astype(short)
            digest = _digest(indices, found.distances, found.recall)
            np.savez(file, indices=indices, distances=found.distances, recall=found.recall, digest=digest)

    write_whole(path, write)


def _read(path: Path, rows: int, standardised: bool) -> Neighbours | None:
    """Read a kept search. Warn and return None if its file cannot be used."""
    try:
        arrays = read_archive(path)
        indices, distances, recall = arrays["indices"], arrays["distances"], float(arrays["recall"])
        is_table = indices.ndim == 2 and indices.shape == distances.shape
        fits = is_table and len(indices) == rows and indices.dtype.kind == "i"
        if not fits or not 0 <= indices.min() <= indices.max() < rows or not np.all(np.isfinite(distances)):
            raise ValueError("its parts do not fit together")
        if arrays["digest"].tobytes() != _digest(indices, distances, recall).tobytes():
            raise ValueError("it was changed after it was written")
    except (InputError, KeyError, ValueError, TypeError) as error:
        warnings.warn(f"{path} cannot be used ({error}); the search is done again.", ManifuseWarning, stacklevel=5)
        return None
    return Neighbours(indices.astype(np.intp), distances, recall, standardised)


def _digest(indices: NDArray[Any], distances: FloatArray, recall: float) -> NDArray[np.uint8]:
    """Digest of a search; a file that was changed has another."""
    digest = hashlib.blake2b(repr(recall).encode(), digest_size=16)
    for array in (indices, distances):
        digest.update(np.ascontiguousarray(array).data)
    return np.frombuffer(digest.digest(), dtype=np.uint8)
