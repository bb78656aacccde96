"""Whole numbers that come as arguments: seeds of splits, and numbers of labels."""

from numbers import Integral

from manifuse.errors import InputError


def whole_number(name: str, value: int, most: int | None = None) -> int:
    """Return an argument, or refuse it.

    Raises
    ------
    InputError
        If it is not a whole number from 0 on, or is larger than ``most``.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_whole or value < 0 or (most is not None and value > most):
        end = "on" if most is None else f"to {most}"
        raise InputError(f"{name}={value!r} came, but a whole number from 0 {end} was expected; give one.")
    return int(value)
