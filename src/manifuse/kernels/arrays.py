"""The types of arrays that all rooms use, and which entries of a long one are looked at."""

from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IndexArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
SparseMatrix = sparse.csr_array


def thinned(count: int, most: int) -> slice:
    """Every k-th of ``count`` things, so that there are at most ``most`` of them."""
    return slice(None, None, -(-count // most))


def drawn(count: int, most: int) -> IndexArray:
    """``most`` of ``count`` things, rising, or all if there are fewer; always the same ones.

    They are drawn at random, so that things which come in a regular order are drawn evenly.
    """
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def drawn_by_id(
    keys: NDArray[np.str_] | NDArray[np.uint64], rows: IndexArray, most: int, rng: np.random.Generator
) -> IndexArray:
    """``most`` of some ``rows`` of a table, rising; the same ones if rows come in any order.

    The table has the ids ``keys`` (n,), or hashes of them, which are sorted sooner.
    """
    by_id = rows[np.argsort(keys[rows], kind="stable")]
    return np.sort(by_id[rng.choice(len(by_id), min(most, len(by_id)), replace=False)])
