"""Ids: which are refused, because they would be mistaken for others, or would eat the memory."""

import re
import reprlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError

#: Characters that a terminal obeys or hides.
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

#: Most characters of an id.
LONGEST = 1000

#: Ids are kept as wide as the longest. They may take more bytes than the first number only if that is at most so many
#: times the size of their text.
ROOM, WASTE = 256 << 20, 8

#: Bytes of a character.
CHARACTER = 4


def demand_narrow(what: str, rows: int, longest: int, different: Callable[[], int], *, most: float = LONGEST) -> None:
    """Refuse ids that would take much more memory than their text, because all are kept as wide as the longest.

    Parameters
    ----------
    what : str
        What has the ids, for messages.
    rows : int
    longest : int
        Characters of the longest id.
    different : callable
        Counts the characters of all different ids together.
    most : float
        Characters that an id may have.

    Raises
    ------
    InputError
        If an id has more than ``most`` characters, or ids take more than `ROOM` and `WASTE` times their text.
    """
    if longest > most:
        raise InputError(
            f"{what} has an id of {longest:,} characters, but at most {most:,} were expected; shorten it."
        )
    taken = float(rows) * longest * CHARACTER
    if taken > ROOM and taken > WASTE * CHARACTER * different():
        raise InputError(
            f"{what} takes {taken / 1e9:.1f} GB with all ids as wide as the longest ({longest:,} characters), which "
            f"is more than {WASTE} times their text; shorten the longest ids, and drop ids that repeat."
        )


def exact_below(dtype: Any) -> float:
    """Below this, floats of a NumPy type are all whole numbers that there are; from it on, some are rounded."""
    return float(2.0 ** (np.finfo(dtype if dtype.kind == "f" else np.float64).nmant + 1))


def demand_exact(what: str, ids: Iterable[Any], dtype: Any) -> None:
    """Refuse floats that may be other ids, rounded.

    Parameters
    ----------
    what : str
        What has the ids, for messages.
    ids : iterable
        Floats among them are looked at.
    dtype : numpy.dtype
        Of the array that they came in.

    Raises
    ------
    InputError
        If there is one.
    """
    limit = exact_below(dtype)
    large = (each for each in ids if isinstance(each, float | np.floating) and limit <= abs(float(each)) < np.inf)
    first = next(large, None)
    if first is not None:
        raise InputError(
            f"{what} holds {first:.16g} as a float, but from {limit:.16g} on floats may be other ids, rounded; give "
            "ids as integers or text."
        )


def demand_visible(what: str, ids: NDArray[Any]) -> None:
    """Refuse ids that look like others without being equal to them: empty, with outer blanks or control characters.

    Raises
    ------
    InputError
        If there is such an id; the message shows it.
    """
    if _are_plain(ids):
        return
    texts = (i for i in ids.tolist() if isinstance(i, str))
    strange = next((i for i in texts if not i or i != i.strip() or CONTROL.search(i)), None)
    if strange is not None:
        raise InputError(
            f"{what} holds {reprlib.repr(strange)}, but ids and names must not be empty, start or end with "
            "blanks, or contain control characters; correct it."
        )


def _are_plain(ids: NDArray[Any]) -> bool:
    """Whether all ids are text of visible ASCII characters without blanks; told at once for millions of them."""
    if ids.dtype.kind != "U":
        return False
    lengths, codes = np.strings.str_len(ids), np.ascontiguousarray(ids).view(np.uint32)
    return bool(lengths.all() and np.count_nonzero((codes > 32) & (codes < 127)) == lengths.sum())
