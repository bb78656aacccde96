"""Table checks: names, numbers of rows, lacking classes, and rows whose numbers are not finite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from manifuse.errors import InputError, warn
from manifuse.grid import first_of, many, told_apart
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.feature_blocks import all_finite
from manifuse.tables.feature_names import MOST
from manifuse.tables.row_names import name_rows

if TYPE_CHECKING:
    from manifuse.tables.observations import Observations

#: A table of fewer rows is refused.
LEAST_ROWS = 3

#: A feature with a number in a smaller share of rows than this is taken for a mistake.
LEAST_FILLED = 0.5


def demand_rows(*tables: Observations) -> None:
    """Refuse tables of fewer than three rows. Only rows that came later may be so few.

    Raises
    ------
    InputError
        If there is one.
    """
    small = next((table for table in tables if len(table) < LEAST_ROWS), None)
    if small is not None:
        rows = many(len(small), "row")
        raise InputError(f"{small.name} has {rows}, but at least {LEAST_ROWS} were expected; give more.")


def demand_one_length(name: str, scores: int, ids: int, rows: int) -> None:
    """Refuse a table that has not as many ids, and ``rows`` of features, as scores.

    Raises
    ------
    InputError
        If there are more or fewer.
    """
    for what, length in (("ids", ids), ("feature rows", rows)):
        if length != scores:
            raise InputError(f"{name} has {scores} scores but {length} {what}; each row needs one of each.")


def all_alike(table: Observations, where: str = "") -> str:
    """Say that a predictor says the same of all rows, or of those that ``where`` names."""
    if table.classes is None:
        about = f"are equal up to their last digits (all are about {np.median(table.scores):.3g})"
        are = "are equal" if where or np.ptp(table.scores) == 0 else about
        return f"All scores of {table.name}{where} {are}"
    return f"The probabilities of {table.name}{where} do not differ from row to row"


def warn_of_lacking_classes(main: Observations, references: Sequence[Observations]) -> None:
    """Warn of references that lack classes of the main table, or may name them otherwise."""
    for reference in references:
        if main.classes is None or reference.classes is None:
            continue
        ours, theirs = main.classes, reference.classes
        alike = ours.spelled_otherwise(theirs.names)
        lacking, further = (
            [one.names[place] for place in np.flatnonzero(other.places_of(one.names) < 0)]
            for one, other in ((ours, theirs), (theirs, ours))
        )
        if alike:
            here, there = next(iter(alike.items()))
            said = f"{reference.name} has the class {there!r}, and {main.name} has {here!r}"
            warn("lacking_classes", f"{said}; write them alike if they are the same class.")
        elif 0 < len(lacking) == len(further) < len(ours):
            kind = "class" if len(lacking) == 1 else "classes"
            said = f"{reference.name} lacks the {kind} {_shown(lacking)} of {main.name}, and has {_shown(further)}"
            warn("lacking_classes", f"{said} instead; write them alike if they are the same.")
        elif 0 < len(lacking) < len(ours):
            missing = "is missing" if len(lacking) == 1 else "are missing"
            said = f"{reference.name} does not have all classes of {main.name} ({_shown(lacking)} {missing})"
            warn("lacking_classes", f"{said}. It gives them no probability, or one for several of them together.")


def _shown(names: Sequence[str]) -> str:
    """The first names of classes, told apart."""
    return first_of([told_apart([name]) for name in names], MOST)


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
    kept = finite_rows(scores, table)
    left_out = len(scores) - len(kept)
    if 0 < left_out < len(scores) and table is not None and feature_names is not None:
        _demand_filled(name, table, feature_names)
    tell_left_out(name, left_out, len(scores))
    return kept


def finite_rows(scores: FloatArray, table: FloatArray | None) -> IndexArray:
    """Find the rows whose numbers are all finite."""
    finite = [all_finite(np.atleast_2d(each.T).T) for each in (scores, table) if each is not None]
    return np.flatnonzero(np.logical_and.reduce(finite))


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
                remedy = "fill them in, refine again without their columns (`drop`)"
            raise InputError(
                f"{name} has NaN or infinite {what} in {name_rows(bad)}; {remedy}, or leave such rows out "
                "(`drop_invalid` of files, or `invalid='drop'` of `Observations.from_frame`)."
            )


def _demand_filled(name: str, values: FloatArray, names: Sequence[str]) -> None:
    """Refuse a column of features (n, d) with a number in fewer than half of the rows: it may be the truth."""
    shares = np.mean(np.isfinite(values), axis=0)
    emptiest = int(shares.argmin())
    if shares[emptiest] < LEAST_FILLED:
        others = _not_finite(values, names, beside=emptiest)
        too = f" Other columns have gaps, too{others}." if others else ""
        raise InputError(
            f"{name} has no number in {1 - shares[emptiest]:.0%} of column {names[emptiest]!r}; fill it in, or "
            f"refine again without the column (`drop`). If it is the truth of some rows, it is no feature.{too}"
        )


def _not_finite(values: FloatArray, names: Sequence[str], beside: int | None = None) -> str:
    """The columns of values (n, d) that are not all finite, ``beside`` one, the worst first; empty if none are."""
    counts = np.count_nonzero(~np.isfinite(values), axis=0)
    bad = [names[place] for place in np.argsort(-counts, kind="stable") if counts[place] and place != beside]
    return f" ({first_of(bad, MOST)})" if bad else ""
