"""Turning: how the columns of a reference become those of the main predictor, and which fit those of other classes.

References of the same classes need not be turned. For other classes, or scores beside classes, we turn the columns so
that they agree at the pairs, as one score would be given a sign.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from manifuse.errors import warn
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.rotation import rotation
from manifuse.tables.observations import Observations

#: Folds of the pairs: a pair is turned as the pairs of the other folds say.
FOLDS = 5

#: Classes are exchanged if probabilities correlate by this much more with those of other classes, in the mean, and by
#: so many standard errors of a correlation.
LEAST, ERRORS = 0.3, 3.0


@dataclass(frozen=True, eq=False)
class Turning:
    """How the columns of a reference become those of the main predictor.

    Attributes
    ----------
    matrix : (c',) or (c', c) array
        What scores are multiplied by; the first if the main predictor has one score a row.
    at_pairs : (p, c') or (p, c', c) array
        The same of every pair, without the pairs of its fold.
    """

    matrix: FloatArray
    at_pairs: FloatArray

    @classmethod
    def of(
        cls, main: Observations, table: Observations, main_rows: IndexArray, reference_rows: IndexArray
    ) -> Self | None:
        """Find out how a table is turned, by its pairs with the main table; None if columns are the same.

        Parameters
        ----------
        main, table : Observations
        main_rows, reference_rows : (p,) array of int
            The pairs.
        """
        if main.classes is table.classes is None or (main.classes is not None and main.classes.same_as(table.classes)):
            # Log-ratios do not depend on the order of the classes.
            return None
        theirs, ours = (
            each.scores[rows].reshape(len(rows), -1) for each, rows in ((table, reference_rows), (main, main_rows))
        )
        known: FloatArray = np.zeros((theirs.shape[1], ours.shape[1]))
        if main.classes is not None and table.classes is not None:
            known = main.classes.from_others(table.classes)
        # At random, because pairs come in the order of their scores.
        fold = np.random.default_rng(0).permutation(np.arange(len(ours)) % FOLDS)
        each = np.array([rotation(theirs[fold != out], ours[fold != out], known) for out in range(FOLDS)])
        shape = (theirs.shape[1], *main.scores.shape[1:])
        return cls(rotation(theirs, ours, known).reshape(shape), each[fold].reshape(len(fold), *shape))

    def turn(self, scores: FloatArray) -> FloatArray:
        """Turn scores of any rows (n,) or (n, c')."""
        return np.asarray(scores.reshape(len(scores), -1) @ self.matrix)

    def turn_pairs(self, scores: FloatArray) -> FloatArray:
        """Turn scores (p,) or (p, c') of the pairs about their mean, each as the pairs of other folds say."""
        centred = scores.reshape(len(scores), -1)
        centred = centred - centred.mean(axis=0)
        return np.asarray(np.einsum("pk,pk...->p...", centred, self.at_pairs))


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
