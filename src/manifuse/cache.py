"""Cached: neighbour searches kept in a folder, for runs that ask for them again."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path

import numpy as np

from manifuse.diffusion.graph import FeatureGraph
from manifuse.diffusion.neighbours import Neighbours, Query, warn_of_recall
from manifuse.diffusion.place import Host, Place
from manifuse.errors import InputError, ManifuseWarning
from manifuse.files import read_archive, write_whole
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.columns import blocks_of

#: Says how files are laid out and named; a change makes those of before unknown.
FORMAT = 1


class Cached(Place):
    """A place that remembers its neighbour searches, run after run.

    A search is known by the features to the last bit, whether they were standardised, the kind of search and the place
    that made it. One of more neighbours serves those that ask for fewer.

    Parameters
    ----------
    folder : path-like
        Made if it is not there. Its files can be deleted at any time.
    place : Place, optional
        Where searches are made and graphs are kept: this machine, if nothing else is said.

    Raises
    ------
    InputError
        If the folder cannot be made or read.

    Examples
    --------
    >>> import tempfile
    >>> import manifuse as mf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = mf.Cached(folder)
    ...     # mf.refine(..., place=place)
    """

    def __init__(self, folder: Path | str, place: Place | None = None) -> None:
        self.folder = Path(folder)
        self.place = Host() if place is None else place
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            next(self.folder.iterdir(), None)
        except OSError as error:
            raise InputError(f"The folder {folder} cannot be used ({error.strerror}); name another.") from None

    def search(self, features: FloatArray, query: Query, rng: np.random.Generator) -> Neighbours:
        """Return what was found before, or search; see `Neighbours.of`."""
        count = min(query.count, len(features) - 1)
        path = self.folder / f"neighbours-{self._key(features, query)}.npz"
        known = _read(path, len(features), query.standardised) if path.exists() else None
        if known is not None and known.count >= count:
            warn_of_recall(known.recall, query.name)
            return Neighbours(known.indices[:, :count], known.distances[:, :count], known.recall, query.standardised)
        found = self.place.search(features, query, rng)
        try:
            _write(path, found)
        except InputError as error:
            warnings.warn(f"The search over {query.name} is not kept: {error}", ManifuseWarning, stacklevel=4)
        return found

    def graph(self, neighbours: Neighbours, count: int) -> FeatureGraph:
        """Build the graph where the place does; see `Place.graph`."""
        return self.place.graph(neighbours, count)

    def search_bytes(self, features: FloatArray) -> int:
        """Memory of a search where it is made; see `Place.search_bytes`."""
        return self.place.search_bytes(features)

    def edge_bytes(self, rows: int) -> int:
        """Memory of an edge where graphs are kept; see `Place.edge_bytes`."""
        return self.place.edge_bytes(rows)

    def free_memory(self) -> int | None:
        """Bytes that are free where the work is done; see `Place.free_memory`."""
        return self.place.free_memory()

    def _key(self, features: FloatArray, query: Query) -> str:
        what = (
            FORMAT,
            type(self.place).__name__,
            features.shape,
            features.dtype.str,
            query.standardised,
            query.search,
        )
        digest = hashlib.blake2b(repr(what).encode(), digest_size=16)
        for rows in blocks_of(features):
            digest.update(np.ascontiguousarray(features[rows]).data)
        return digest.hexdigest()

    def __repr__(self) -> str:
        return f"Cached({str(self.folder)!r}, {self.place!r})"


def _write(path: Path, found: Neighbours) -> None:
    """Keep a search; row numbers that fit are kept in four bytes."""
    short = np.int32 if len(found.indices) < np.iinfo(np.int32).max else np.int64

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            np.savez(file, indices=found.indices.astype(short), distances=found.distances, recall=found.recall)

    write_whole(path, write)


def _read(path: Path, rows: int, standardised: bool) -> Neighbours | None:
    """Return a search that was kept; None, with a warning, if its file cannot be used."""
    try:
        arrays = read_archive(path)
        indices, distances, recall = arrays["indices"], arrays["distances"], float(arrays["recall"])
        fits = (
            indices.ndim == 2
            and indices.shape == distances.shape
            and len(indices) == rows
            and indices.dtype.kind == "i"
        )
        if not fits or not 0 <= indices.min() <= indices.max() < rows or not np.all(np.isfinite(distances)):
            raise ValueError("its parts do not fit together")
    except (InputError, KeyError, ValueError, TypeError) as error:
        warnings.warn(f"{path} cannot be used ({error}) and is made anew.", ManifuseWarning, stacklevel=5)
        return None
    return Neighbours(indices.astype(np.intp), distances, recall, standardised)
