"""Imputation: scores of references at all main rows, learned from the main features."""

from __future__ import annotations

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.rivals.imputation import features_of, predict_reference, searched_regressor
from manifuse.tables.problem import Problem


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
