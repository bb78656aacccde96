"""Validity: rows whose numbers are not finite are refused, or dropped with a warning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError, warn
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray, thinned
from manifuse.kernels.columns import all_finite
from manifuse.tables.containers import name_rows
from manifuse.tables.feature_names import MOST, columns_said

if TYPE_CHECKING:
    from manifuse.tables.observations import Observations

#: A feature with a number in a smaller share of rows than this is taken for a mistake.
LEAST_FILLED = 0.5

#: A few values are far from the rest if, without one in so many, the others vary by less than this share of what all
#: do. Of 340 drawn problems with real tables, none has such scores or labels, and of 1,457 features none, either.
FAR, HARDLY = 100, 0.1

#: So many rows of a table are searched for features that are so.
LOOKED_AT = 5_000


def demand_table_name(name: object) -> None:
    """Refuse a name of a table that messages and pages cannot show: no text, or blank.

    Raises
    ------
    InputError
        If it is such a name.
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"name={name!r} came, but text was expected; name the table.")


def demand_scores(table: Observations, what: str) -> None:
    """Refuse a table of classes where only scores can be used; ``what`` says who shows or takes them.

    Raises
    ------
    InputError
        If it has classes.
    """
    if table.classes is not None:
        raise InputError(
            f"{table.name} has probabilities of classes, but {what} one score a row; for classes there are `refine`, "
            "and `summary`, `to_frame`, `write_report` and `explain` of its result."
        )


def demand_rows(*tables: Observations) -> None:
    """Refuse tables without rows. Only rows that came later may be none.

    Raises
    ------
    InputError
        If there is one.
    """
    empty = next((table.name for table in tables if not len(table)), None)
    if empty is not None:
        raise InputError(f"{empty} is empty; a table needs at least three rows.")


def all_alike(table: Observations, where: str = "") -> str:
    """Say that a predictor says the same of all rows, or of those that ``where`` names."""
    if table.classes is None:
        about = f"are equal up to their last digits (all are about {np.median(table.scores):.3g})"
        are = "are equal" if where or np.ptp(table.scores) == 0 else about
        return f"All scores of {table.name}{where} {are}"
    return f"The probabilities of {table.name}{where} do not differ from row to row"


def warn_of_far(what: str, values: FloatArray, names: NDArray[np.str_]) -> None:
    """Warn if a few of some scores or labels (n,), which have ``names``, are so far off that the others hardly vary.

    All are compared in standard deviations, which such values make for all of them.
    """
    order, is_far = _far_from_rest(values[:, np.newaxis])
    farthest = order[-1, 0]
    if is_far[0]:
        warn(
            "far_values",
            f"A few {what} are far from the rest, the farthest of them {values[farthest]:.6g} of "
            f"{str(names[farthest])!r}: the others vary by less than a tenth of what all do, so they count little. "
            "If it stands for a missing value, leave the row out; else give numbers on another scale, such as their "
            "logarithms.",
        )


def warn_of_far_features(table: Observations) -> None:
    """Warn if features have a few values that are so far off. Of a large table, some rows are looked at."""
    if table.table is None:
        return
    rows = table.table[thinned(len(table), LOOKED_AT)]
    places = _with_a_far_value(rows)
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


def warn_of_lacking_classes(main: Observations, references: Sequence[Observations]) -> None:
    """Warn of references that have some classes of the main table, but not all."""
    for reference in references:
        if main.classes is None or reference.classes is None:
            continue
        lacking = [name for name in main.classes.names if name not in reference.classes.names]
        if 0 < len(lacking) < len(main.classes):
            shown = ", ".join(lacking[:MOST]) + (", ..." if len(lacking) > MOST else "")
            missing = "is missing" if len(lacking) == 1 else "are missing"
            warn(
                "lacking_classes",
                f"{reference.name} does not have all classes of {main.name} ({shown} {missing}), so it gives their "
                "rows to other classes.",
            )


def valid_rows(
    scores: FloatArray,
    table: FloatArray | None,
    *,
    name: str,
    drop: bool,
    feature_names: Sequence[str] | None = None,
) -> IndexArray:
    """Find the rows whose numbers are all finite. Refuse other rows unless ``drop`` is true."""
    parts = {"score": scores} if table is None else {"score": scores, "features": table}
    if not drop:
        _demand_finite(name, parts, feature_names)
        return np.arange(len(scores))
    finite = [all_finite(np.atleast_2d(each.T).T) for each in parts.values()]
    kept = np.flatnonzero(np.logical_and.reduce(finite))
    left_out = len(scores) - len(kept)
    if 0 < left_out < len(scores) and table is not None and feature_names is not None:
        _demand_filled(name, table, feature_names)
    tell_left_out(name, left_out, len(scores))
    return kept


def tell_left_out(name: str, left_out: int, rows: int) -> None:
    """Warn that so many of the rows of a table were left out; refuse it if all were."""
    if 0 < left_out == rows:
        raise InputError(f"{name} has no row whose numbers are all finite; correct them.")
    if left_out:
        said = f"{name} has values that are not finite in {left_out:,} of {rows:,} rows, which are left out."
        warn("invalid_rows", said)


def _demand_finite(name: str, parts: Mapping[str, FloatArray], feature_names: Sequence[str] | None) -> None:
    """Refuse numbers that are not finite in a part of a table."""
    for what, values in parts.items():
        bad = np.flatnonzero(~all_finite(np.atleast_2d(values.T).T)).tolist()
        if bad:
            remedy = "correct them"
            if what == "features" and feature_names is not None:
                _demand_filled(name, values, feature_names)
                what += _not_finite(values, feature_names)
                remedy = "fill them in, leave their columns out (`drop`)"
            raise InputError(
                f"{name} has NaN or infinite {what} in {name_rows(bad)}; {remedy}, or leave such rows out "
                "(`drop_invalid` of files, or `invalid='drop'` of `Observations`)."
            )


def _demand_filled(name: str, values: FloatArray, names: Sequence[str]) -> None:
    """Refuse a column of features (n, d) with a number in fewer than half of the rows: it may be the truth."""
    shares = np.mean(np.isfinite(values), axis=0)
    emptiest = int(shares.argmin())
    if shares[emptiest] < LEAST_FILLED:
        raise InputError(
            f"{name} has no number in {1 - shares[emptiest]:.0%} of column {names[emptiest]!r}; fill it in, or leave "
            "the column out of all tables (`drop`). If it is the truth of some rows, it is no feature."
        )


def _not_finite(values: FloatArray, names: Sequence[str]) -> str:
    """The columns of values (n, d) that are not all finite, those with the most such values first."""
    counts = np.count_nonzero(~np.isfinite(values), axis=0)
    bad = [names[place] for place in np.argsort(-counts, kind="stable") if counts[place]]
    return f" ({', '.join(bad[:MOST])}{', ...' if len(bad) > MOST else ''})"
