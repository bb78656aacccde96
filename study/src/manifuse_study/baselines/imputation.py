"""Imputation: scores of references at all main rows, learned from the main features."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from manifuse.kernels.arrays import FloatArray
from manifuse.rivals.imputation import features_of, predict_reference, searched_regressor
from manifuse.tables.problem import Problem

#: The trees, and the share of the features that each split looks at.
TREES, SPLIT_SHARE = 200, 1.0 / 3.0


def impute(problem: Problem, seed: int) -> tuple[FloatArray, dict[str, object]]:
    """Predict every reference's scores on all main rows from the main features.

    Parameters
    ----------
    problem : Problem
        With features on the main side.
    seed : int
        Draws the folds.

    Returns
    -------
    scores : (n, m) array
        Known scores at the pairs, predictions elsewhere.
    hyperparameters : dict
        The regressor chosen for each reference.
    """
    table = features_of(problem.main)
    columns: list[FloatArray] = []
    chosen: dict[str, object] = {}
    for reference in problem.references:
        search = searched_regressor(table.shape[1], len(reference.main_rows), seed)
        columns.append(predict_reference(search, table, reference.main_rows, reference.paired))
        chosen[reference.name] = str(search.best_params_["regressor"])
    return np.column_stack(columns), chosen


def impute_by_forest(problem: Problem, seed: int) -> FloatArray:
    """Predict every reference's scores by a random forest, shape (n, m); known ones at the pairs. See `impute`."""
    table = features_of(problem.main)
    forest = RandomForestRegressor(TREES, max_features=SPLIT_SHARE, random_state=seed)
    return np.column_stack(
        [predict_reference(forest, table, each.main_rows, each.paired) for each in problem.references]
    )
