"""Label spreading: labels spread over the main predictor's graph, without its scores and without references.

This is scikit-learn's `LabelSpreading` on the graph that the other methods use. A row's score is its expected grade.
"""

import warnings
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.semi_supervised import LabelSpreading

from manifuse.backends.host import Host
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.rivals.smoothing import search
from manifuse.tables.observations import Observations

#: Cross-validation on the labelled rows chooses the number of neighbours, and the share of a row's label that comes
#: from its neighbours.
NEIGHBOURS = (5, 10, 20)
ALPHAS = (0.5, 0.8, 0.95, 0.99)
FOLDS, ITERATIONS = 5, 1000


def spread_labels(
    main: Observations, rows: IndexArray, labels: FloatArray, seed: int
) -> tuple[FloatArray, dict[str, object]]:
    """Spread the labels of some rows over the graph of ``main``, parameters by cross-validation on them.

    Parameters
    ----------
    main : Observations
        With features.
    rows : (l,) array of int
        Labelled rows.
    labels : (l,) array
    seed : int
        Draws the folds, and the sample on which an approximate neighbour search is checked.

    Returns
    -------
    predictions : (n,) array
    hyperparameters : dict
    """
    neighbours = search(main, max(NEIGHBOURS), np.random.default_rng(seed))
    # The weights must be in the order of the labels, however large the table is.
    host = Host(ordered_rows=len(main))
    affinities = {count: host.graph(neighbours, count).weights for count in NEIGHBOURS}
    folds = list(KFold(FOLDS, shuffle=True, random_state=seed).split(rows))

    def accuracy(cell: tuple[int, float]) -> float:
        count, alpha = cell
        predicted = np.empty(len(rows))
        for train, test in folds:
            predicted[test] = expected_grades(affinities[count], rows[train], labels[train], alpha)[rows[test]]
        return ranking_accuracy(labels, predicted)

    count, alpha = max(product(NEIGHBOURS, ALPHAS), key=accuracy)
    return expected_grades(affinities[count], rows, labels, alpha), {"neighbours": count, "alpha": alpha}


def expected_grades(affinity: Any, rows: IndexArray, labels: FloatArray, alpha: float) -> FloatArray:
    """Expected grade of every row, shape (n,); the labels' mean for rows that no label reaches.

    Parameters
    ----------
    affinity : (n, n) CSR array
    rows : (l,) array of int
    labels : (l,) array
    alpha : float
        In (0, 1).
    """
    n = affinity.shape[0]
    grades, targets = np.unique(labels), np.full(n, -1)
    targets[rows] = np.searchsorted(grades, labels)
    model = LabelSpreading(kernel=lambda *_: affinity, alpha=alpha, max_iter=ITERATIONS, tol=1e-4)
    with warnings.catch_warnings():
        # Grades may be as many as labels.
        warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
        model.fit(np.arange(n)[:, None], targets)
    shares = np.nan_to_num(model.label_distributions_)
    return np.asarray(np.where(shares.sum(axis=1) > 0.5, shares @ grades, labels.mean()))
