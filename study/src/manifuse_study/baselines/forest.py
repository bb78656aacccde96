"""Imputation by a random forest."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from manifuse.kernels.arrays import FloatArray
from manifuse.rivals.imputation import features_of, predict_reference
from manifuse.tables.problem import Problem

#: The trees, and the share of the features that each split looks at.
TREES, SPLIT_SHARE = 200, 1.0 / 3.0


def impute_by_forest(problem: Problem, seed: int) -> FloatArray:
    """Predict every reference's scores by a random forest, shape (n, m); known ones at the pairs. See `impute`."""
    table = features_of(problem.main)
    forest = RandomForestRegressor(TREES, max_features=SPLIT_SHARE, random_state=seed)
    return np.column_stack(
        [predict_reference(forest, table, each.main_rows, each.paired) for each in problem.references]
    )
