"""Stacking by RankSVM: what a user with all scores on the same rows would learn of their order."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import KFold

from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.rivals.methods import PENALTIES
from manifuse_study.ranking.ranksvm import RankSVM

FOLDS = 5


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
