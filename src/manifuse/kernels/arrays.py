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
