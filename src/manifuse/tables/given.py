"""Neighbours that a user gives in place of features: check them and bring them into one form."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from manifuse.backends.neighbours import Neighbours
from manifuse.errors import InputError
from manifuse.kernels.arrays import IndexArray
from manifuse.tables.containers import to_numpy

#: The largest distance that is accepted. Its square is still in the range of floats.
LARGEST_DISTANCE = 1e150


def given_neighbours(given: Any, rows: int, *, name: str) -> Neighbours:
    """Check the neighbours that a user gave for a table, and bring them into one form.

    Parameters
    ----------
    given : (rows, rows) sparse array of distances, or pair of (rows, N) arrays: distances and row numbers
    rows : int
        Number of rows of the table.
    name : str
        Name of the table, for messages.

    Raises
    ------
    InputError
        If they have another type or shape, a row number or a distance is out of range, or a row has no neighbour.
    """
    start, indices, distances = _entries_of(given, rows, name)
    if indices.dtype.kind not in "iu" or indices.min(initial=0) < 0 or indices.max(initial=0) >= rows:
        raise InputError(
            f"The neighbours of {name} must be row numbers from 0 to {rows - 1}, but others came; correct them."
        )
    if distances.dtype.kind not in "iuf" or not bool(np.all((distances >= 0) & (distances <= LARGEST_DISTANCE))):
        raise InputError(
            f"The distances of {name}'s neighbours must be numbers from 0 to {LARGEST_DISTANCE:g}, but others came; "
            "correct them."
        )
    others = indices != start
    start, indices, distances = start[others], indices[others], distances[others].astype(np.float64)
    # A neighbour that occurs twice counts once, with the smaller distance.
    order = np.lexsort((distances, indices, start))
    keys = (start * rows + indices)[order]
    first = np.append(True, keys[1:] != keys[:-1]) if len(keys) else np.empty(0, dtype=bool)
    keys, distances = keys[first], distances[order][first]
    # If two rows name each other, both get the smaller of the two distances, so that the graph is symmetric.
    other_way = keys % rows * rows + keys // rows
    positions = np.minimum(np.searchsorted(keys, other_way), max(len(keys) - 1, 0))
    mutual = keys[positions] == other_way
    distances = np.where(mutual, np.minimum(distances, distances[positions]), distances)
    start, indices = keys // rows, keys % rows
    count = int(np.bincount(start, minlength=rows).min())
    if count == 0:
        raise InputError(f"Some rows of {name} came without neighbours; give every row at least one other row.")
    order = np.lexsort((distances, start))
    begin = np.searchsorted(start[order], np.arange(rows))
    nearest = order[begin[:, None] + np.arange(count)]
    return Neighbours(indices[nearest].astype(np.intp), distances[nearest] ** 2, 1.0, None)


def _entries_of(given: Any, rows: int, name: str) -> tuple[IndexArray, NDArray[Any], NDArray[Any]]:
    """Return the row, the neighbour and the distance of every given entry, row by row."""
    if sparse.issparse(given):
        matrix: Any = sparse.csr_array(given)  # type: ignore[call-overload]
        if matrix.shape != (rows, rows):
            raise InputError(
                f"The neighbours of {name} came with shape {matrix.shape}, but ({rows}, {rows}) was expected; "
                "give a row and a column for every row of the table."
            )
        return np.repeat(np.arange(rows), np.diff(matrix.indptr)), matrix.indices, matrix.data
    try:
        distances, indices = (to_numpy(part, what=f"The neighbours of {name}") for part in given)
    except (TypeError, ValueError):
        raise InputError(
            f"The neighbours of {name} came as {type(given).__name__}, but a sparse array of distances, or a pair of "
            "distances and row numbers, was expected; give one of them."
        ) from None
    if indices.ndim != 2 or indices.shape != distances.shape or len(indices) != rows:
        raise InputError(
            f"The neighbours of {name} came with shapes {distances.shape} and {indices.shape}, but two of ({rows}, N) "
            "were expected; give distances and row numbers of N neighbours for every row."
        )
    return np.repeat(np.arange(rows), len(indices[0])), indices.ravel(), distances.ravel()
