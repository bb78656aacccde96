"""Lookup: the scores of a reference, found by id."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.keys import KeyIndex
from manifuse.records import Saveable


@dataclass(frozen=True, eq=False)
class Lookup(Saveable):
    """Scores of a reference by id.

    Attributes
    ----------
    keys : (n_k,) array of str
    scores : (n_k,) or (n_k, c) array
        Standardised.
    """

    keys: NDArray[np.str_]
    scores: FloatArray

    def at(self, keys: NDArray[np.str_]) -> tuple[FloatArray, FloatArray]:
        """Scores of rows by their ids (q,), and 1 where the reference has the row; one that it lacks has 0 in both."""
        rows, known = self._index.locate(keys)
        found = self.scores[rows]
        found[~known] = 0.0
        return found, known.astype(np.float64)

    @cached_property
    def _index(self) -> KeyIndex:
        return KeyIndex(self.keys)
