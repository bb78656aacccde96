"""Spelling: ids of two tables that look alike and are not equal."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import warn
from manifuse.grid import many
from manifuse.tables.observations import Observations


def warn_of_spelling(main: Observations, table: Observations, equal: int) -> None:
    """Warn of ids of a table that look like ids of the main table; ``equal`` of them are equal."""
    more = more_if_spelled(main, table.name, table.keys, equal)
    if more:
        warn("spelling_of_ids", f"{more}; spell them alike.")


def more_if_spelled(main: Observations, name: str, ids: NDArray[np.str_], equal: int) -> str:
    """Say how many more ids than the ``equal`` ones would be equal if both tables spelled them so; else nothing.

    ``ids`` (l,) are those of ``name``. They may be composed in another way, have characters of no width, have lost
    leading zeros, as in a spreadsheet, be whole numbers that a program wrote with a fraction or, if most ids differ in
    nothing else, have other capitals.
    """
    sides = main.keys, ids
    fewest = min(map(len, sides))
    if equal == fewest:
        return ""

    def some(found: Callable[..., NDArray[np.bool_]], text: str) -> bool:
        return any(bool(found(keys, text).any()) for keys in sides)

    is_ascii = all(np.ascontiguousarray(keys).view(np.uint32).max(initial=0) < 128 for keys in sides)
    # Whether it is likely, how ids are spelled, whether two of a table may become one, and what differs. Where zeros
    # or fractions tell rows of one table apart, they are meant.
    ways: list[tuple[bool, Callable[[str], str], bool, str]] = [
        (not is_ascii, _composed, True, "characters in one way (Unicode NFC, without characters of no width)"),
        (some(np.char.startswith, "0"), lambda key: key.lstrip("0"), False, "leading zeros in one way"),
        (some(np.char.endswith, ".0"), lambda key: key.removesuffix(".0"), False, "whole numbers in one way"),
        (2 * equal < fewest, str.casefold, True, "capitals in one way"),
    ]
    for is_likely, spell, may_merge, said in ways:
        if not is_likely:
            continue
        spelled = [{*map(spell, keys.tolist())} for keys in sides]
        merges = any(len(each) < len(keys) for each, keys in zip(spelled, sides, strict=True))
        more = len(spelled[0] & spelled[1]) - equal
        if more > (equal if spell is str.casefold else 0) and (may_merge or not merges):
            return f"{many(more, 'more id')} of {name} would be equal to ids of {main.name} if both wrote {said}"
    return ""


def _composed(key: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFC", key) if unicodedata.category(each) != "Cf")
