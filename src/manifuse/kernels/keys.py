"""Keys: ids as text, found among others in time that is linear but for a sort of numbers."""

import numpy as np
from numpy.typing import NDArray

from manifuse.kernels.arrays import BoolArray, IndexArray

#: Draws the multipliers of the hash; any number would do.
SEED = 20190616


def locate(keys: NDArray[np.str_], among: NDArray[np.str_]) -> tuple[IndexArray, BoolArray]:
    """Position of every key (q,) in ``among`` (n,), which repeats none, and whether it is there at all; each (q,)."""
    hashes = hashes_of(among)
    order = np.argsort(hashes, kind="stable")
    ranked = hashes[order]
    if np.any(ranked[1:] == ranked[:-1]):
        # Two different keys have the same hash, which hardly ever happens.
        order = np.argsort(among)
        places = np.searchsorted(among, keys, sorter=order)
    else:
        places = np.searchsorted(ranked, hashes_of(keys))
    rows = order[np.minimum(places, len(among) - 1)]
    return rows, np.asarray(among[rows] == keys)


def repeated(keys: NDArray[np.str_]) -> IndexArray:
    """First position of every key that occurs more than once, in rising order."""
    hashes = np.sort(hashes_of(keys))
    if not np.any(hashes[1:] == hashes[:-1]):
        return np.empty(0, dtype=np.intp)
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return np.sort(first[counts > 1])


def hashes_of(keys: NDArray[np.str_]) -> NDArray[np.uint64]:
    """Hash every key: the sum of its characters, each times a random number for its place. Padding adds nothing."""
    keys = np.ascontiguousarray(keys)
    width = keys.dtype.itemsize // 4
    characters = keys.view(np.uint32).reshape(len(keys), width)
    multipliers = np.random.default_rng(SEED).integers(2**64, size=width, dtype=np.uint64)
    hashes = np.zeros(len(keys), dtype=np.uint64)
    for column, multiplier in zip(characters.T, multipliers | np.uint64(1), strict=True):
        hashes += column * multiplier
    return hashes
