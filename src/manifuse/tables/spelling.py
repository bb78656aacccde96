"""Spelling: ids of two tables that look alike and are not equal."""

import re
import unicodedata
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import warn
from manifuse.grid import many
from manifuse.tables.observations import Observations

#: Zeros before a number, and signs.
ZEROS, SIGNS = re.compile(r"(?<![\d.])0+(?=\d)"), re.compile(r"[^\w\n]|_")

#: The end of a whole number that a program wrote with a fraction, and one that it wrote with an exponent, as 1e+05.
FRACTION_OR_EXPONENT = re.compile(r"\.0$|^\d(?:\.\d+)?e\+?\d\d?$", re.M | re.I)

#: Numbers, of which signs are part, or a sign elsewhere.
NUMBER_OR_SIGN = re.compile(rf"^(-?\d+(?:\.\d+)?)$|{SIGNS.pattern}", re.M)

#: Letters that have another form.
CAPITAL, SMALL = re.compile(r"[^\W\d_a-z]"), re.compile(r"[^\W\d_A-Z]")

#: So many ids are not equal without their signs by chance.
FEW = 5


def warn_of_spelling(main: Observations, table: Observations, equal: int) -> None:
    """Warn of ids of a table that look like ids of the main table; ``equal`` of them are equal."""
    more = more_if_spelled(main, table.name, table.keys, equal)
    if more:
        warn("spelling_of_ids", f"{more}; spell them alike.")


def more_if_spelled(main: Observations, name: str, ids: NDArray[np.str_], equal: int) -> str:
    """Say how many more ids than the ``equal`` ones would be equal if both tables spelled them so; else nothing.

    ``ids`` (l,) are those of ``name``. They may be composed in another way, have characters of no width, have lost
    zeros before a number, as in a spreadsheet, be whole numbers that a program wrote with a fraction or an exponent,
    have other hyphens, blanks or signs, unless they are numbers, or have other capitals. Where capitals tell rows of
    one table apart, they are meant, unless most ids differ in nothing else.
    """
    sides = main.keys, ids
    fewest = min(map(len, sides))
    if equal == fewest:
        return ""

    # No id has a line break, so all of a table are read at once, each on a line of its own.
    texts = ["\n".join(keys.tolist()) for keys in sides]

    def some(expression: re.Pattern[str]) -> bool:
        return any(map(expression.search, texts))

    is_ascii = all(np.ascontiguousarray(keys).view(np.uint32).max(initial=0) < 128 for keys in sides)
    # Whether it is likely, how ids are spelled, whether two of a table may become one, what differs, and how many ids
    # are more than chance. Where zeros, fractions or signs tell rows of one table apart, they are meant.
    ways: list[tuple[bool, Callable[[str], str], bool, str, int]] = [
        (not is_ascii, _composed, True, "characters in one way (Unicode NFC, without characters of no width)", 1),
        (some(ZEROS), partial(ZEROS.sub, ""), False, "leading zeros in one way", 1),
        (some(FRACTION_OR_EXPONENT), _with_digits, False, "whole numbers in one way", 1),
        (some(SIGNS), partial(NUMBER_OR_SIGN.sub, r"\1"), False, "hyphens, blanks and other signs in one way", FEW),
        (2 * equal < fewest, str.casefold, True, "capitals in one way", equal + 1),
        (some(CAPITAL) and some(SMALL), str.casefold, False, "capitals in one way", FEW),
    ]
    for is_likely, spell, may_merge, said, least in ways:
        if not is_likely:
            continue
        spelled = [{*spell(text).split("\n")} for text in texts]
        merges = any(len(each) < len(keys) for each, keys in zip(spelled, sides, strict=True))
        more = len(spelled[0] & spelled[1]) - equal
        if more >= least and (may_merge or not merges):
            return f"{many(more, 'more id')} of {name} would be equal to ids of {main.name} if both wrote {said}"
    return ""


def _with_digits(text: str) -> str:
    """Write whole numbers in digits alone."""
    return FRACTION_OR_EXPONENT.sub(lambda found: "" if found[0] == ".0" else f"{float(found[0]):.0f}", text)


def _composed(text: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFC", text) if unicodedata.category(each) != "Cf")
