"""Keys: ids as text, found among others in time that is linear but for a sort of numbers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.kernels.arrays import BoolArray, IndexArray

#: What R writes for a missing value, which is one among numbers.
NOT_AVAILABLE = "NA"

#: Draws the multipliers of the hash; any number would do.
SEED = 20190616


class KeyIndex:
    """Keys that others are looked up in.

    Parameters
    ----------
    keys : (n,) array of str
        Without repeats.
    """

    def __init__(self, keys: NDArray[np.str_]) -> None:
        self._keys, hashes = keys, hashes_of(keys)
        self._order: IndexArray = np.argsort(hashes, kind="stable")
        self._ranked: NDArray[Any] = hashes[self._order]
        # Two different keys hardly ever have the same hash.
        self._by_hash = bool(np.diff(self._ranked).all())
        if not self._by_hash:
            self._order = np.argsort(keys, kind="stable")
            self._ranked = keys[self._order]

    def locate(self, keys: NDArray[np.str_]) -> tuple[IndexArray, BoolArray]:
        """Position of every key (q,), 0 among no keys, and whether it is there at all; each (q,)."""
        if not len(self._keys):
            return np.zeros(len(keys), dtype=np.intp), np.zeros(len(keys), dtype=bool)
        places = np.searchsorted(self._ranked, hashes_of(keys) if self._by_hash else keys)
        rows = self._order[np.minimum(places, len(self._keys) - 1)]
        return rows, np.asarray(self._keys[rows] == keys)


def locate(keys: NDArray[np.str_], among: NDArray[np.str_]) -> tuple[IndexArray, BoolArray]:
    """Position of every key (q,) in ``among`` (n,), which repeats none, and whether it is there at all; each (q,)."""
    return KeyIndex(among).locate(keys)


def repeated(keys: NDArray[np.str_]) -> IndexArray:
    """First position of every key that occurs more than once, in rising order."""
    if np.diff(np.sort(hashes_of(keys))).all():
        return np.empty(0, dtype=np.intp)
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return np.sort(first[counts > 1])


def hashes_of(keys: NDArray[np.str_]) -> NDArray[np.uint64]:
    """Hash every key: the sum of its characters, each times a random number for its place. Padding adds nothing."""
    keys = np.ascontiguousarray(keys)
    width = keys.dtype.itemsize // 4
    characters = keys.view(np.uint32).reshape(len(keys), width)
    multipliers = np.random.default_rng(SEED).integers(2**64, size=width, dtype=np.uint64)
    return np.asarray(np.einsum("kw,w->k", characters, multipliers | np.uint64(1)))


def is_blank(value: Any) -> bool:
    """Whether a value is missing, or text without a character."""
    return is_missing(value) or bool(value == "")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA."""
    try:
        return value is None or not bool(value == value)
    except TypeError:  # pandas' NA has no truth value
        return True
