"""Tables of numbers in plain text, one row a line."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray


def read_text_table(path: Path) -> FloatArray:
    """Read a table whose numbers are parted by blanks or tabs.

    Raises
    ------
    InputError
        If it is empty, or holds something else.
    """
    try:
        # Of a file without numbers loadtxt would only warn.
        with warnings.catch_warnings(action="error"):
            return np.loadtxt(path, dtype=np.float64, comments=None, ndmin=2)
    except (OSError, ValueError, UserWarning) as error:
        raise InputError(f"{path} cannot be read as a table of numbers ({error}); check what it is.") from None
