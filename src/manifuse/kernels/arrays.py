"""The types of arrays that all rooms use."""

from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

FloatArray = NDArray[np.floating[Any]]
IndexArray = NDArray[np.integer[Any]]
BoolArray = NDArray[np.bool_]
SparseMatrix = sparse.csr_array
