"""Scales of predictions: probabilities are refined as log-odds or log-ratios, and come back as probabilities."""

from typing import Any, Literal, cast

import numpy as np
from scipy.special import expit, logit

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.classes import Classes
from manifuse.tables.row_names import name_rows

#: What predictions may be; of classes, the last two.
Scale = Literal["score", "probability", "logits"]

#: How far probabilities are drawn to 1/2, as a share of their distance: 0 becomes 0.0001.
MARGIN = 0.0002

#: How far probabilities of classes are drawn to equal ones. It is more, because forests and neighbours often say 0,
#: and its logarithm would outweigh all that they say of other classes.
CLASS_MARGIN = 0.02

#: Numbers above this, up to 100, that should be probabilities seem to be percentages.
PERCENT = 2.0

#: How far from 1 the probabilities of a row may sum, because they were rounded. If all have so many digits after the
#: point, each may be off by half of the last one.
ROUNDED, DIGITS = 0.01, 2

#: How far outside of [0, 1] a probability may be, because it was summed in single precision.
BEYOND = 1e-6


def checked_scale(scale: Any, *, has_classes: bool) -> Scale:
    """Check what predictions are said to be; classes have probabilities by default.

    Raises
    ------
    InputError
        If they cannot be that.
    """
    allowed: tuple[Scale, Scale] = ("probability", "logits") if has_classes else ("score", "probability")
    if scale is None:
        return "probability" if has_classes else "score"
    if scale not in allowed:
        whose = " of classes" if has_classes else ""
        raise InputError(
            f"scale={scale!r}{whose} came, but {allowed[0]!r} or {allowed[1]!r} was expected; choose one."
        )
    return cast(Scale, scale)


def checked(came: FloatArray, scale: Scale, classes: Classes | None, rows: IndexArray, *, name: str) -> FloatArray:
    """Check predictions; rows of probabilities that were rounded are divided by their sums.

    Parameters
    ----------
    came : (n,) or (n, k) array
        Scores, or numbers of k classes.
    scale : {"score", "probability", "logits"}
    classes : Classes or None
    rows : (n,) array of int
        The rows of the input, for messages.
    name : str
        Of the table, for messages.

    Raises
    ------
    InputError
        If probabilities are outside of [0, 1], or those of a row do not sum to 1.
    """
    if scale != "probability":
        return came
    outside = np.atleast_2d(((came < -BEYOND) | (came > 1 + BEYOND)).T).any(axis=0)
    if outside.any():
        what, remedy = "scores", "correct them or, if they are no probabilities, refine without `scale='probability'`"
        if PERCENT < came.max() <= 100 and came.min() >= 0 and (classes is None or _sum_to_hundred(came)):
            remedy = "correct them or, if they are percentages, divide by 100"
        elif classes:
            first = int(np.abs(came[outside][0] - 0.5).argmax())
            what = f"numbers of the class {classes.names[first]!r}"
            remedy = (
                'leave out what is no class, correct them or, if they are decision values, refine with scale="logits"'
            )
        where = name_rows(rows[outside].tolist())
        raise InputError(f"{name} came as probabilities, but has {what} outside of [0, 1] in {where}; {remedy}.")
    if classes is None:
        return came
    sums = _sums_of(came)
    are_short = np.array_equal(came, np.round(came, DIGITS))
    most_off = len(classes) * 10.0**-DIGITS / 2.0 + BEYOND if are_short else ROUNDED
    wrong = np.abs(sums - 1.0) > max(ROUNDED, most_off)
    if wrong.any():
        raise InputError(
            f"The probabilities of {name} do not sum to 1 in {name_rows(rows[wrong].tolist())} "
            f"(first: {sums[wrong][0]:.4g}); give the columns of all classes and no others, divide each row by its "
            'sum or, if they are decision values, refine with scale="logits".'
        )
    rounded = np.abs(sums - 1.0) > BEYOND
    return came / np.where(rounded, sums, 1.0)[:, None] if rounded.any() else came


def points_of(came: FloatArray, scale: Scale, classes: Classes | None) -> FloatArray:
    """Bring `checked` predictions into the form in which they are refined.

    Returns
    -------
    (n,) or (n, k - 1) array
        Scores or log-odds, or log-ratios of classes. Probabilities are drawn to equal ones first, so that the
        logarithms of 0 and 1 are finite.
    """
    if scale != "probability":
        return came if classes is None else classes.log_ratios(came)
    came = np.clip(came, 0.0, 1.0)
    if classes is None:
        return np.asarray(logit(0.5 + (1.0 - MARGIN) * (came - 0.5)))
    sums = _sums_of(came)[:, None]
    return classes.log_ratios(np.log((1.0 - CLASS_MARGIN) * came / sums + CLASS_MARGIN / len(classes)))


def _sums_of(rows: FloatArray) -> FloatArray:
    """Sums of rows (n, k), column by column, so that the rows beside a row do not change how its sum is rounded."""
    return np.asarray(sum(rows.T, np.zeros(len(rows))))


def _sum_to_hundred(rows: FloatArray) -> bool:
    """Whether numbers of classes (n, k) are percentages, but for rounding."""
    return bool(abs(np.median(rows.sum(axis=1)) - 100.0) < 1.0)


def from_points(points: FloatArray, scale: Scale, classes: Classes | None) -> FloatArray:
    """Bring points back into the scale of what came; of classes, as probabilities (n, k).

    What is beyond the log-odds of 0 and 1 is 0 or 1. Probabilities of classes are never 0.
    """
    if classes is not None:
        return np.asarray(np.exp(classes.logarithms(points)))
    if scale == "score":
        return points
    return np.asarray(np.clip(0.5 + (expit(points) - 0.5) / (1.0 - MARGIN), 0.0, 1.0))
