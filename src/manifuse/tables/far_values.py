"""Far values: a few that are far from the rest, numbers that stand for missing values, and dots between thousands."""

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import warn
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray, thinned
from manifuse.tables.feature_names import columns_said
from manifuse.tables.observations import Observations

#: A few values are far from the rest if, without one in so many, the others vary by less than this share of what all
#: do. Of 340 drawn problems with real tables, none has such scores or labels, and of 1,457 features none, either.
FAR, HARDLY = 100, 0.1

#: So are at most one in so many scores or labels that have one sign, if the gap before them is so many times the range
#: of the others, of which more than `MOST_GRADES` differ, and if their logarithms are so many deviations off, too.
FEW, GAP, LOGARITHMS = 20, 2.0, 4.5

#: What is said of dots between thousands.
THOUSANDS = (
    "{} are whole numbers below 1,000 and the others have three digits after the point, as numbers with dots between "
    "thousands do; if they are such, write them without the dots."
)

#: So many rows of a table are searched for features with such values.
LOOKED_AT = 5_000

#: Numbers that people write for a missing value, in SPSS, Stata, SAS and by hand, with either sign.
MISSING = (99, 999, 9999, 99999, 999999, 9999999)

#: Numbers that people write for a missing grade, with either sign, beside a scale of so many grades. Those above it
#: are farther from it than the third number, and have a larger share than the last. None of 1,781 columns of real
#: tables is so.
BESIDE_GRADES, FEWEST_GRADES, MOST_GRADES = np.array([1, 8, 9, 77, 88, 99]), 3, 21
GRADES_APART, GRADES_SHARE = 2, 0.02

#: Dots may be between thousands if so many different numbers are whole, and so large a share, and of the others more
#: than this share needs three digits after the point. Of numbers that are rounded to three digits one in a thousand is
#: whole. None of 10,862 columns of real tables is so.
WHOLE, WHOLE_SHARE, THREE_DIGITS = 3, 0.02, 0.7


def warn_of_far(what: str, values: FloatArray, names: NDArray[np.str_]) -> None:
    """Warn if a few of some scores or labels (n,), which have ``names``, are far from all others.

    Scores are compared in standard deviations, which such values make for all of them. Where refined scores are in the
    order of theirs, other rows may get such values. A number for missing values is named, however many there are.
    """
    if warn_of_miswritten(what, values):
        return
    order, is_far = _far_from_rest(values[:, np.newaxis])
    farthest = order[-1, 0]
    if is_far[0] or _are_beyond_gap(values):
        warn(
            "far_values",
            f"A few {what} are far from the rest, the farthest of them {values[farthest]:.6g} of "
            f"{str(names[farthest])!r}. If it stands for a missing value or is a mistake, leave the row out; else "
            "give numbers on another scale, such as their logarithms.",
        )


def _are_beyond_gap(values: FloatArray) -> bool:
    """Whether a few of the largest amounts (n,), which have one sign, are beyond a gap."""
    if not (values > 0).all() and not (values < 0).all():
        return False
    ordered = np.sort(np.abs(values))
    first = max(1, len(ordered) - max(1, len(ordered) // FEW))
    # In quarters, so that no range of huge values leaves that of floats.
    wide = np.diff(ordered)[first - 1 :] / 4.0 > GAP * (ordered / 4.0 - ordered[0] / 4.0)[first - 1 : -1]
    if not wide.any():
        return False
    usual, far = np.split(ordered, [first + int(np.argmax(wide))])
    if len(np.unique(usual)) <= MOST_GRADES:
        return False
    logarithms = np.log(usual)
    return bool(np.log(far[0]) - logarithms.mean() > LOGARITHMS * logarithms.std())


def warn_of_miswritten(what: str, values: FloatArray) -> bool:
    """Warn of scores or labels (n,) with dots between thousands, or with a number that stands for missing values.

    Return whether several are such a number.
    """
    warn_of_thousands(what, values)
    missing = float(_number_for_missing(values[:, np.newaxis])[0])
    how = "far from all others" if np.isfinite(missing) else "apart from all others"
    missing = missing if np.isfinite(missing) else _grade_for_missing(values)
    if np.isfinite(missing):
        warn(
            "far_values",
            f"Several {what} are {missing:.0f}, {how}, as is written for missing values; if so, leave their rows out.",
        )
    return bool(np.isfinite(missing))


def _grade_for_missing(values: FloatArray) -> float:
    """The grade beside a scale of whole numbers that several values (n,) have, such as −1 or 9; NaN if there is none.

    It is the only one below 0 and not next to it, or far above the scale and not rare.
    """
    grades, counts = np.unique(values, return_counts=True)
    if not FEWEST_GRADES < len(grades) <= MOST_GRADES or (grades != np.round(grades)).any():
        return np.nan
    gaps = np.diff(grades)
    if grades[0] in -BESIDE_GRADES and grades[1] >= 0 and gaps[0] > 1 and (gaps[1:] == 1).all() and counts[0] > 1:
        return float(grades[0])
    is_apart = grades[0] >= 0 and gaps[-1] > GRADES_APART and (gaps[:-1] == 1).all()
    if is_apart and grades[-1] in BESIDE_GRADES and counts[-1] > GRADES_SHARE * len(values):
        return float(grades[-1])
    return np.nan


def warn_of_thousands(what: str, values: FloatArray) -> None:
    """Warn if some scores or labels (n,) seem to have dots between thousands."""
    if _are_thousands(values[:, np.newaxis])[0]:
        warn("thousands", f"Of the {what}, {THOUSANDS.format('some')}")


def warn_of_features(table: Observations) -> None:
    """Warn of features with such values, or with dots between thousands. Of a large table, some rows are looked at."""
    if table.table is None:
        return
    rows = table.table[thinned(len(table), LOOKED_AT)]
    _warn_of_thousands_in_columns(table, rows)
    _warn_of_far_columns(table, rows)


def warn_of_thousands_in_features(table: Observations) -> None:
    """Warn if features seem to have dots between thousands. Of a large table, some rows are looked at."""
    if table.table is not None:
        _warn_of_thousands_in_columns(table, table.table[thinned(len(table), LOOKED_AT)])


def _warn_of_thousands_in_columns(table: Observations, rows: FloatArray) -> None:
    """Warn if features seem to have dots between thousands in some rows (q, d) of their table."""
    cut = np.flatnonzero(_are_thousands(rows))
    if len(cut):
        where = f"{columns_said(table.feature_names, cut.tolist())} of {table.name}"
        warn("thousands", f"In {where}, {THOUSANDS.format('some values')}")


def _warn_of_far_columns(table: Observations, rows: FloatArray) -> None:
    """Warn if a few values of features are far from the rest, or missing, in some rows (q, d) of their table."""
    missing = _number_for_missing(rows)
    written = np.flatnonzero(np.isfinite(missing))
    if len(written):
        numbers = " and ".join(f"{number:.0f}" for number in np.unique(missing[written]))
        warn(
            "far_values",
            f"Several values in {columns_said(table.feature_names, written.tolist())} of {table.name} are {numbers}, "
            "far from all others, as is written for missing values; if so, leave their rows out, or fill them in.",
        )
    places = np.setdiff1d(_with_a_far_value(rows), written)
    rows = rows[:, places]
    # Counts of which most are 0 have a few large ones.
    lower, upper = np.quantile(rows, (0.25, 0.75), axis=0)
    far = places[_far_from_rest(rows)[1] & (lower < upper)]
    if len(far):
        warn(
            "far_values",
            f"A few values in {columns_said(table.feature_names, far.tolist())} of {table.name} are far from the "
            "rest: the others vary by less than a tenth of what all do. If they stand for missing values, leave "
            "their rows out, or fill them in.",
        )


def _number_for_missing(values: FloatArray) -> FloatArray:
    """Which number stands for missing values in each column of (n, d), shape (d,); NaN where there is none.

    It is in two rows or more, and farther from all other values than these are from each other.
    """
    found = np.full(values.shape[1], np.nan)
    ends = np.stack([values.min(axis=0), values.max(axis=0)])
    for end, column in np.argwhere(np.isin(np.abs(ends), MISSING)):
        number = ends[end, column]
        others = values[values[:, column] != number, column]
        if len(others) <= len(values) - 2 and 0 < np.ptp(others) < np.abs(others - number).min():
            found[column] = number
    return found


def _are_thousands(values: FloatArray) -> BoolArray:
    """Whether each column of (n, d) seems to have dots between thousands, which were read as decimal points."""
    whole, size = values == np.round(values), np.abs(values)
    # Huge numbers, which leave the range of floats here, are compared with no others.
    with np.errstate(over="ignore", invalid="ignore"):
        said = np.round(1000.0 * size)
        # In single precision a number is off by more.
        is_short = np.abs(1000.0 * size - said) <= 4.0 * np.finfo(values.dtype).eps * said
        needs_three = ~whole & (np.fmod(said, 10.0) != 0)
    fits = (size < 1000) & (whole | (is_short & (size >= 1)))
    found: BoolArray = fits.all(axis=0) & (
        needs_three.sum(axis=0) > THREE_DIGITS * np.maximum((~whole).sum(axis=0), WHOLE)
    )
    for column in np.flatnonzero(found):
        are_whole = values[whole[:, column] & (values[:, column] != 0), column]
        found[column] = len(np.unique(are_whole)) >= WHOLE and len(are_whole) >= WHOLE_SHARE * len(values)
    return found


def _with_a_far_value(rows: FloatArray) -> IndexArray:
    """Places of the columns (n, d) that may have a few values far from the rest, found without sorting them.

    If k of n values make 99 of 100 parts of the variance, one of them is at least as far from the mean as the root of
    n / 2k variances.
    """
    scaled = rows / np.abs(rows).max(axis=0, initial=np.finfo(rows.dtype).tiny).astype(np.float64)
    mean = scaled.mean(axis=0)
    off = np.maximum(scaled.max(axis=0) - mean, mean - scaled.min(axis=0))
    return np.flatnonzero(off**2 > min(len(rows), FAR) / 2.0 * scaled.var(axis=0))


def _far_from_rest(values: FloatArray) -> tuple[IndexArray, BoolArray]:
    """Rows in the order of their distance from the median, shape (n, d), and which columns have few that are far."""
    # In quarters, so that no difference of huge values leaves the range of floats.
    order = np.argsort(np.abs(values / 4.0 - np.median(values / 4.0, axis=0)), axis=0, kind="stable")
    usual = np.take_along_axis(values, order[: -max(1, len(values) // FAR)], axis=0)
    # In units of the largest, so that squares of huge values stay in range.
    units = [np.abs(each).max(axis=0, initial=np.finfo(values.dtype).tiny) for each in (usual, values)]
    vary, all_vary = (np.std(each / unit, axis=0) * unit for each, unit in zip((usual, values), units, strict=True))
    return order, (vary > 0) & (vary < HARDLY * all_vary)
