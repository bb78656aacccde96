"""Exchanged: probabilities of classes that are those of other classes elsewhere, as wrong names of columns give."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from manifuse.errors import warn
from manifuse.kernels.arrays import FloatArray, IndexArray

#: Classes are exchanged if probabilities correlate by this much more with those of other classes, in the mean, and by
#: so many standard errors of a correlation.
LEAST, ERRORS = 0.3, 3.0


def least_of(rows: int) -> float:
    """By how much more probabilities of so many rows must correlate with those of other classes."""
    return float(max(LEAST, ERRORS / np.sqrt(rows)))


def exchanged(came: FloatArray, known: FloatArray, least: float) -> IndexArray:
    """The class of ``known`` probabilities (q, k) that each class of those that ``came`` fits best, shape (k,).

    Each is taken once. All fit themselves, unless those that do not correlate more with the others by ``least``, in
    the mean.
    """
    # Of a constant column the distance is NaN.
    correlated = 1.0 - np.nan_to_num(cdist(came.T, known.T, "correlation"), nan=1.0)
    own, fits = linear_sum_assignment(-correlated)
    gains = (correlated[own, fits] - correlated[own, own])[own != fits]
    return np.asarray(fits if len(gains) and gains.mean() > least else own)


def warn_of_exchanged(said: str, names: tuple[str, ...], fits: IndexArray, check: str) -> bool:
    """Warn if classes are exchanged, and return it; ``said`` begins the sentence, and ``check`` is what to look at."""
    moved = np.flatnonzero(fits != np.arange(len(names)))
    if len(moved):
        shown = ", ".join(f"{names[each]} as {names[fits[each]]}" for each in moved)
        warn("exchanged_classes", f"{said} ({shown}); check {check}.")
    return len(moved) > 0
