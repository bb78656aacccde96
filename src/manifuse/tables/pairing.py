"""Pairing: which rows of two tables are the same thing, which ids look alike, and which tables have nothing to say."""

import hashlib
import re
import reprlib
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from manifuse.errors import InputError, warn
from manifuse.grid import many
from manifuse.kernels.arrays import FloatArray, IndexArray, never_falls
from manifuse.kernels.keys import locate
from manifuse.kernels.sphere import inner, is_constant, on_sphere
from manifuse.tables.drawing_order import order_of
from manifuse.tables.observations import Observations
from manifuse.tables.table_checks import all_alike, demand_rows
from manifuse.tables.turning import Turning

#: With fewer pairs than the first number a bridge is refused; with fewer than the second the user is warned.
LEAST_PAIRS, FEW_PAIRS = 3, 10

#: A reference repeats the main predictor if their alignment at the pairs is within this of 1. Of scores, ranks are
#: aligned. So copies in fewer digits and of another scale repeat it, and scores that share only an outlier do not.
REPEATED = 1e-3

#: It also repeats the main predictor if it has at least the first number of different scores, and these never fall
#: where own scores rise, at the second number of pairs or more.
LEVELS, CUT = 4, 20

#: Where a reference has nothing to say.
ON_COMMON_ROWS = " on the rows that both know"

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


def demand_different(main: Observations, references: Sequence[Observations]) -> None:
    """Refuse tiny tables, a reference that came twice, the main table as a reference, and references with one name.

    Raises
    ------
    InputError
        If there are any.
    """
    demand_rows(main, *references)
    alike: dict[bytes, list[Observations]] = {}
    for table in references:
        # As they came: log-odds and probabilities are the same scores.
        if len(table) == len(main) and _have_same_scores(table, main):
            raise InputError(f"{table.name} is the main table itself, ids and scores; give another predictor's table.")
        if np.ptp(table.scores) == 0:
            continue
        # Two tables of the same rows in another order have the same sorted scores.
        others = alike.setdefault(hashlib.blake2b(np.sort(table.scores, axis=None).tobytes()).digest(), [])
        for twin in others:
            if _have_same_scores(table, twin):
                raise InputError(
                    f"{twin.name} and {table.name} have the same scores of the same rows, so one reference would "
                    "count twice; give it once."
                )
        others.append(table)
    names = [reference.name for reference in references]
    if len(set(names)) < len(names):
        raise InputError(f"The references are named {names}; give each a name of its own.")


def _have_same_scores(table: Observations, twin: Observations) -> bool:
    """Whether all rows of a table are in its twin, with the same scores."""
    if table.classes != twin.classes:
        return False
    ours, theirs = table.in_scale(table.scores), twin.in_scale(twin.scores)
    rows, found = locate(table.keys, twin.keys)
    return bool(found.all()) and np.array_equal(theirs[rows], ours)


def why_idle(
    main: Observations,
    table: Observations,
    main_rows: IndexArray,
    reference_rows: IndexArray,
    turning: Turning | None,
    *,
    is_coupled: bool,
) -> str | None:
    """Why a reference has nothing to say; None if it has.

    If it predicts other things than the main predictor, ``turning`` brings its scores into the columns of that.
    """
    # A reference may vary only on rows that the main table does not have.
    if is_constant(table.scores[reference_rows]).all():
        where = "" if is_constant(table.scores).all() else ON_COMMON_ROWS
        return f"{all_alike(table, where)}; it gets weight 0."
    ours, theirs = main.in_scale(main.scores)[main_rows], table.in_scale(table.scores)[reference_rows]
    if turning is not None:
        sides = [(main.scores[main_rows], turning.turn(table.scores[reference_rows]))]
        # A score may be any function of the probability of one of two classes that keeps their order.
        ours, theirs = (each[:, -1] if each.ndim > 1 and each.shape[1] == 2 else each for each in (ours, theirs))
        sides += [(ours, theirs)] if ours.ndim == theirs.ndim == 1 else []
    elif main.classes is not None and table.classes is not None:
        theirs = theirs[:, table.classes.places_of(main.classes.names)]
        # Probabilities that were calibrated again have the same differences of their logarithms, but for one factor.
        whole = ((ours > 0) & (theirs > 0)).all(axis=1)
        sides = [(ours, theirs), (_log_ratios(ours[whole]), _log_ratios(theirs[whole]))]
    else:
        sides = [(ours, theirs)]
    # A few rows, or rows of which many are equal, may be alike by chance.
    if any(len(np.unique(each[0], axis=0)) >= FEW_PAIRS and _are_alike(*each) for each in sides):
        where = "" if is_coupled else ON_COMMON_ROWS
        return f"{table.name} repeats the scores of {main.name}{where}, but for their scale; it gets weight 0."
    return None


def _log_ratios(probabilities: FloatArray) -> FloatArray:
    """Logarithms of probabilities (p, k), less their mean in each row."""
    logarithms = np.log(probabilities)
    return np.asarray(logarithms - logarithms.mean(axis=1)[:, np.newaxis])


def _are_alike(ours: FloatArray, theirs: FloatArray) -> bool:
    """Whether scores (p,) have the same order, or one that is turned around, and columns (p, c) are the same."""
    if ours.ndim == 1 or ours.shape[1] == 1:
        ours, theirs = (rankdata(each) for each in (ours, theirs))
        if _are_levels(theirs, ours) or _are_levels(-theirs, ours):
            return True
    return abs(inner(on_sphere(theirs), on_sphere(ours))) > 1.0 - REPEATED


def _are_levels(theirs: FloatArray, ours: FloatArray) -> bool:
    """Whether scores (p,) are several levels that others were cut into: none is below that of a lower score."""
    enough = len(ours) >= CUT and len(np.unique(theirs)) >= LEVELS
    return enough and never_falls(theirs, ours)


def pairs_of(main: Observations, table: Observations) -> tuple[IndexArray, IndexArray]:
    """Rows of the main table and of another whose ids are equal, in the order of `tables.drawing_order`."""
    rows, known = locate(main.keys, table.keys)
    main_rows = np.flatnonzero(known)
    main_rows = main_rows[order_of(main, main_rows)]
    return main_rows, rows[main_rows]


def _first_of(table: Observations) -> str:
    """Show the first ids of a table."""
    return ", ".join(reprlib.repr(str(key)) for key in table.keys[:2])


def demand_pairs(main: Observations, table: Observations, pairs: int) -> None:
    """Refuse too few pairs, and other main rows without features; warn of few pairs."""
    if pairs < LEAST_PAIRS:
        more = more_if_spelled(main, table.name, table.keys, pairs)
        raise InputError(
            f"{table.name} shares {pairs} of its {many(len(table), 'id')} with {main.name}, but at least "
            f"{LEAST_PAIRS} (better 30 to 200) are needed; check that both tables name their rows alike "
            f"({table.name}: {_first_of(table)}; {main.name}: {_first_of(main)}){more and f': {more}'}."
        )
    if pairs < FEW_PAIRS:
        warn(
            "few_pairs", f"{table.name} shares only {pairs} ids with {main.name}; fewer than {FEW_PAIRS} rarely help."
        )
    if pairs < len(main) and main.table is None:
        raise InputError(
            f"{main.name} has no features, so nothing connects the {pairs} of its rows that {table.name} shares with "
            f"the other {len(main) - pairs}; give features of {main.name}, or scores of {table.name} for all rows."
        )


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
