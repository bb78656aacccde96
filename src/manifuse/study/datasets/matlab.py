"""MATLAB files up to version 7, read without ever executing anything in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat

from manifuse.errors import InputError


def read_matlab(path: Path) -> dict[str, NDArray[Any]]:
    """Read every variable of a ``.mat`` file; cells become arrays of objects.

    Raises
    ------
    InputError
        If it is damaged, no MATLAB file, or one of version 7.3.
    """
    try:
        contents = loadmat(str(path), appendmat=False)
    except NotImplementedError:
        raise InputError(
            f"{path} is a MATLAB 7.3 (HDF5) file, which is not read here; load it in MATLAB and save it anew with "
            "save(..., '-v7')."
        ) from None
    # A damaged file leads the parser astray in many ways: wrong sizes, types, offsets or compressed blocks.
    except Exception as error:
        raise InputError(f"{path} cannot be read as a MATLAB file ({error}); check what it is.") from None
    return {name: np.asarray(value) for name, value in contents.items() if not name.startswith("__")}


def texts(values: NDArray[Any]) -> tuple[str, ...]:
    """Strings of a cell array, or of a character matrix with its padding taken off."""
    return tuple(str(np.ravel(value)[0]).strip() if np.size(value) else "" for value in np.ravel(values))
