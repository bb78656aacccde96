"""Turning: how the columns of a reference become those of the main predictor, if the two predict other things.

References of the same classes need not be turned. For other classes, or scores beside classes, we turn the columns so
that they agree at the pairs, as one score would be given a sign.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.rotation import rotation
from manifuse.tables.observations import Observations

#: Folds of the pairs: a pair is turned as the pairs of the other folds say.
FOLDS = 5


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
