"""What a user with all scores on the same rows would do: average them, or learn a combination by ridge regression."""

import numpy as np
from sklearn.linear_model import RidgeCV

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise

#: Leaving one labelled row out chooses one of these penalties.
PENALTIES = tuple(float(value) for value in np.logspace(-2, 5, 8))


def mean_of_scores(scores: FloatArray) -> FloatArray:
    """Mean of the standardised columns of ``scores`` (n, m + 1), shape (n,)."""
    return np.asarray(standardise(scores).mean(axis=1))


def stack_by_ridge(scores: FloatArray, rows: IndexArray, labels: FloatArray) -> tuple[FloatArray, dict[str, object]]:
    """Learn a ridge regression of the grades on the scores, its penalty by leave-one-out on the labelled rows."""
    table = standardise(scores)
    ridge = RidgeCV(alphas=PENALTIES).fit(table[rows], labels)
    return np.asarray(ridge.predict(table)), {"penalty": float(ridge.alpha_)}
