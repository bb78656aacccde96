"""Features by default: all columns but the index of a data frame, if they are not probabilities of classes."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from manifuse.errors import InputError, warn
from manifuse.grid import first_of
from manifuse.kernels.arrays import BoolArray, FloatArray
from manifuse.tables.feature_names import MOST, warn_of_names
from manifuse.tables.scales import ROUNDED

#: Names that data frames give to their index when they are written, and of these, those that nobody else gives.
INDEX = re.compile(r"__index_level_\d+__|Unnamed: \d+|index|level_\d+|\s*")
SURELY_INDEX = re.compile(r"__index_level_\d+__|Unnamed: 0")

#: Rows that are looked at first, and cells if there are many columns; a column of fewer rows does not number them.
HEAD, CELLS, FEWEST = 500, 1 << 22, 10

#: How to say which columns are features, of a file and of a data frame.
CHOOSE_IN_FILE = "choose features with `features`"
CHOOSE_IN_FRAME = "give features to Observations by themselves"


@dataclass(frozen=True)
class TableHead:
    """A table whose columns can be looked at.

    Attributes
    ----------
    name : object
        For messages.
    numeric : collection of str
        Columns of numbers.
    look : callable
        Reads columns of numbers by their names, as (rows, columns): the first rows of them, or all rows if None came.
    choose : str
        How to say which columns are features, for messages.
    """

    name: object
    numeric: Collection[str]
    look: Callable[[Sequence[str], int | None], FloatArray]
    choose: str


def default_features(table: TableHead, names: Sequence[str], score: str | None = None, called: str = "") -> list[str]:
    """Choose the features among columns of which none was named as one, with a warning of odd names.

    ``score`` is None if no single column holds the scores; the others are as of `demand_no_classes`.
    """
    chosen = without_row_numbers(table, names)
    if score is not None:
        demand_no_classes(table, chosen, score, called)
    warn_of_names(table.name, chosen)
    return chosen


def without_row_numbers(table: TableHead, names: Sequence[str]) -> list[str]:
    """Leave out columns that number or name the rows or hold nothing, with a warning.

    A column numbers or names rows if it holds 0, 1, 2 ... or 1, 2, 3 ... in all rows, or has a name that data frames
    give to their index and holds text or whole numbers. These differ from row to row, if others may have given the
    name.
    """
    left = [name for name in names if INDEX.fullmatch(name) and _is_index(table, name)]
    known = {*table.numeric, *left}
    left += [name for name in names if name not in known and _holds_nothing(table, name)]
    asked = [name for name in names if name in table.numeric and name not in left]
    if asked:
        head = table.look(asked, _rows_of_head(len(asked)))
        counting = [name for name, column in zip(asked, head.T, strict=True) if _counts(column)]
        left += [name for name in counting if _counts(table.look([name], None)[:, 0])]
        empty = [name for name, column in zip(asked, head.T, strict=True) if np.isnan(column).all()]
        left += [name for name in empty if _holds_nothing(table, name)]
    if left:
        shown = ", ".join(name.strip() or "one without a name" for name in left[:MOST])
        warn(
            "index_columns",
            f"{table.name} has columns that number or name its rows, as the index of a data frame does, or "
            f"hold nothing ({shown}); they are left out. Name them with `drop` (one without a name as '') if that is "
            f"right, or {table.choose} if these are meant.",
        )
    return [name for name in names if name not in left]


def demand_no_classes(table: TableHead, features: Sequence[str], score: str, called: str) -> None:
    """Refuse features that sum to 1 with the score in every row, because they are probabilities of other classes.

    Parameters
    ----------
    table : TableHead
    features : sequence of str
        Columns that were not named as features.
    score, called : str
        The column of scores, and what messages call it.

    Raises
    ------
    InputError
        If there are such columns among the first rows.
    """
    names = [name for name in features if name in table.numeric]
    if score not in table.numeric or not names:
        return
    head = table.look([score, *names], _rows_of_head(len(names)))
    head = head[np.isfinite(head[:, 0])]
    is_probable = _are_probable(head)
    places = np.flatnonzero(is_probable[1:]) + 1
    rows = head[np.isfinite(head[:, places]).all(axis=1)]
    if not len(places) or not is_probable[0] or len(rows) < FEWEST or np.ptp(rows[:, 0]) == 0:
        return
    # Rounded probabilities differ more from row to row than by their rounding.
    margin = min(ROUNDED, float(np.ptp(rows[:, 0])) / 10.0)
    found = _summing_to(1.0 - rows[:, 0], rows[:, places], margin)
    if len(found):
        columns = [names[place - 1] for place in places[found]]
        shown = first_of([*map(repr, columns)], MOST)
        how = "as `classes`"
        if table.choose == CHOOSE_IN_FILE:
            how = f"with `classes` '{_expression_of([called, *columns], [called, *names])}'"
        raise InputError(
            f"In {table.name}, {called!r} sums to 1 with {shown} in every row, as probabilities of classes do; name "
            f"all of them {how}, leave them out with `drop`, or {table.choose} if these are meant."
        )


def demand_no_unnamed_classes(table: TableHead, features: Sequence[str]) -> None:
    """Refuse features that sum to 1, in a table of scores that none of the columns of classes was found in.

    Indicators of a category, which are 0 or 1, sum to 1, too. The parameters are as of `demand_no_classes`.

    Raises
    ------
    InputError
        If there are such columns among the first rows.
    """
    names = [name for name in features if name in table.numeric]
    if not names:
        return
    head = table.look(names, _rows_of_head(len(names)))
    places = np.flatnonzero(_are_probable(head) & np.any((head > 0) & (head < 1), axis=0))
    rows = head[np.isfinite(head[:, places]).all(axis=1)][:, places]
    found = _summing_to(np.ones(len(rows)), rows, ROUNDED) if len(rows) >= FEWEST and len(places) else []
    if len(found) > 1:
        columns = [names[places[each]] for each in found]
        raise InputError(
            f"In {table.name}, {first_of([*map(repr, columns)], MOST)} sum to 1 in every row, as probabilities of "
            f"classes do, but `classes` names none of its columns; let it name them, leave them out with `drop`, or "
            f"{table.choose} if these are meant."
        )


def _are_probable(head: FloatArray) -> BoolArray:
    """Which columns hold nothing but numbers in [0, 1] and gaps, (d,)."""
    is_known = ~np.isnan(head)
    return np.asarray(np.all((head >= 0) & (head <= 1) | ~is_known, axis=0) & np.any(is_known, axis=0))


def _rows_of_head(columns: int) -> int:
    return max(FEWEST, min(HEAD, CELLS // max(1, columns)))


def _holds_nothing(table: TableHead, name: str) -> bool:
    """Whether a column has no value in any row."""
    try:
        column = table.look([name], None)
        return len(column) > 0 and bool(np.isnan(column).all())
    except InputError:  # Text.
        return False


def _is_index(table: TableHead, name: str) -> bool:
    """Whether a column with the name of an index holds what an index does; see `without_row_numbers`."""
    try:
        column = table.look([name], None)[:, 0]
    except InputError:  # Text.
        return True
    # Frames that were put together have indices that begin again.
    differ = SURELY_INDEX.fullmatch(name) or len(np.unique(column)) == len(column)
    return bool(differ) and np.array_equal(column, np.floor(column))


def _counts(column: FloatArray) -> bool:
    """Whether a column holds 0, 1, 2 ... or 1, 2, 3 ..."""
    return bool(
        len(column) >= FEWEST and column[0] in (0, 1) and np.array_equal(column, column[0] + np.arange(len(column)))
    )


def _summing_to(whole: FloatArray, parts: FloatArray, margin: float) -> list[int]:
    """Columns of ``parts`` (h, m) whose sum is ``whole`` (h,) up to a margin; none if no such set is found.

    They are all columns, or those whose coefficients are next to 1 in the smallest solution of linear equations.
    """
    kernel = parts @ parts.T
    kernel[np.diag_indices_from(kernel)] += 1e-9 * max(1.0, float(np.trace(kernel)))
    for chosen in (np.ones(parts.shape[1], dtype=bool), parts.T @ np.linalg.solve(kernel, whole) > 0.5):
        if chosen.any() and np.abs(parts[:, chosen].sum(axis=1) - whole).max() <= margin:
            return np.flatnonzero(chosen).tolist()
    return []


def _expression_of(columns: Sequence[str], there: Sequence[str]) -> str:
    """A regular expression that matches some of the columns that are there, and no others."""
    # What the first and the last of sorted names have in common, all have.
    first, last = min(columns), max(columns)
    length = next(place for place in range(len(last)) if first[: place + 1] != last[: place + 1])
    beginning = f"{re.escape(first[:length])}(.*)"
    matched = [name for name in there if re.fullmatch(beginning, name)]
    return beginning if length and len(matched) == len(columns) else "|".join(map(re.escape, columns))
