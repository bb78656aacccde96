"""Seen ids: whether an id occurs twice in a table that is read in parts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError
from manifuse.grid import many
from manifuse.kernels.keys import hashes_of


class SeenIds:
    """Ids of the parts of a table, eight bytes for each.

    Two different ids are taken for one with a probability of 3e-6 among ten million rows.

    Parameters
    ----------
    name : str
        Name of the table in messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._hashes: list[NDArray[np.uint64]] = []

    def add(self, keys: NDArray[np.str_]) -> None:
        """Add the ids of the next part."""
        self._hashes.append(hashes_of(keys))

    def check(self) -> None:
        """Refuse ids that occur twice in different parts.

        Raises
        ------
        InputError
            If there are any; the message says how many.
        """
        hashes = np.sort(np.concatenate([np.empty(0, dtype=np.uint64), *self._hashes]))
        twice = int(np.count_nonzero(hashes[1:] == hashes[:-1]))
        if twice:
            raise InputError(
                f"The id column of {self._name} has {many(twice, 'repeated value')}, but each row needs an id of "
                "its own; drop or rename the repeats."
            )
