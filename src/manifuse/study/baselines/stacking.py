"""What a user with all scores on the same rows would do: average them, or learn a combination."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.study.ranking.accuracy import ranking_accuracy
from manifuse.study.ranking.ranksvm import RankSVM

#: Cross-validation on the labelled rows chooses one of these penalties.
PENALTIES = tuple(float(value) for value in np.logspace(-2, 5, 8))
FOLDS = 5


def mean_of_scores(scores: FloatArray) -> FloatArray:
    """Mean of the standardised columns of ``scores`` (n, m + 1), shape (n,)."""
    return np.asarray(standardise(scores).mean(axis=1))


def stack_by_ranksvm(
    scores: FloatArray, rows: IndexArray, labels: FloatArray, seed: int
) -> tuple[FloatArray, dict[str, object]]:
    """Learn a linear RankSVM on the scores of the labelled rows, its penalty by cross-validation on them.

    Parameters
    ----------
    scores : (n, m + 1) array
    rows : (l,) array of int
        Labelled rows.
    labels : (l,) array
    seed : int
        Draws the folds.

    Returns
    -------
    predictions : (n,) array
    hyperparameters : dict
    """
    table = standardise(scores)
    inside = table[rows]
    accuracies = np.zeros(len(PENALTIES))
    for train, test in KFold(FOLDS, shuffle=True, random_state=seed).split(inside):
        if len(np.unique(labels[test])) > 1:
            for index, penalty in enumerate(PENALTIES):
                ranker = RankSVM("linear", penalty=penalty).fit(inside[train], labels[train])
                accuracies[index] += ranking_accuracy(labels[test], ranker.predict(inside[test]))
    penalty = PENALTIES[int(np.argmax(accuracies))]
    return RankSVM("linear", penalty=penalty).fit(inside, labels).predict(table), {"penalty": penalty}


def stack_by_ridge(scores: FloatArray, rows: IndexArray, labels: FloatArray) -> tuple[FloatArray, dict[str, object]]:
    """Learn a ridge regression of the grades on the scores, its penalty by leave-one-out on the labelled rows."""
    table = standardise(scores)
    ridge = RidgeCV(alphas=PENALTIES).fit(table[rows], labels)
    return np.asarray(ridge.predict(table)), {"penalty": float(ridge.alpha_)}
