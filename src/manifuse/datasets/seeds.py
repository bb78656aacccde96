"""Seeds of the splits of data sets."""

from __future__ import annotations

from numbers import Integral

from manifuse.errors import InputError


def checked_seed(seed: int) -> int:
    """Return a seed, or refuse it.

    Raises
    ------
    InputError
        If it is not a whole number from 0 on.
    """
    if not isinstance(seed, Integral) or seed < 0:
        raise InputError(f"seed={seed!r} came, but a whole number from 0 on was expected; give one.")
    return int(seed)
