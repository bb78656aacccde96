"""What a user with decoupled scores would do: learn each reference's scores from the main features, on the pairs.

A regression of a reference's scores on the main features is fitted to the rows that both tables have. It predicts the
reference's scores on all main rows, and then the data are treated as coupled.
"""

from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.tables.observations import Observations

#: Cross-validation on the pairs chooses for each reference: kernel ridge (with one of these penalties, and of these
#: kernel widths in units of the number of features) or nearest neighbours.
PENALTIES = (0.01, 0.1, 1.0)
WIDTHS = (0.3, 1.0, 3.0)
NEIGHBOURS = (3, 5, 10, 20)
FOLDS = 5

#: The fewest pairs or labels that rivals learn from.
LEAST_TO_LEARN = 2 * FOLDS


def predict_reference(regressor: Any, table: FloatArray, rows: IndexArray, said: FloatArray) -> FloatArray:
    """Learn from features (n, d) what a reference said of some rows, (p,) or (p, k), and predict the others."""
    column = np.asarray(regressor.fit(table[rows], said).predict(table))
    column[rows] = said
    return column


def imputed_column(main: Observations, name: str, rows: IndexArray, said: FloatArray, seed: int) -> FloatArray:
    """What a reference says of all main rows: known at some ``rows`` (p,), elsewhere learned from the main features.

    Raises
    ------
    InputError
        If it does not know all rows, and knows fewer than can be learned from, or there are no features.
    """
    if len(rows) == len(main):
        return np.asarray(said[np.argsort(rows)])
    if len(rows) < LEAST_TO_LEARN:
        raise InputError(
            f"{name} has {len(rows)} pairs, but imputing it needs at least {LEAST_TO_LEARN} to learn from; give more, "
            "or leave it out."
        )
    table = features_of(main)
    return predict_reference(searched_regressor(table.shape[1], len(rows), seed), table, rows, said)


def features_of(main: Observations) -> FloatArray:
    """Standardised features of the main rows, shape (n, d).

    Raises
    ------
    InputError
        If there are none.
    """
    if main.table is None:
        raise InputError(f"{main.name} has no features, but this rival needs them; give features.")
    return standardise(main.table)


def searched_regressor(width: int, pairs: int, seed: int) -> GridSearchCV:
    """Choice by cross-validation among kernel ridge regressions and nearest neighbours."""
    kernel_ridge = {
        "regressor": [KernelRidge(kernel="rbf")],
        "regressor__alpha": PENALTIES,
        "regressor__gamma": [1.0 / (factor * width) for factor in WIDTHS],
    }
    nearest = {
        "regressor": [KNeighborsRegressor(weights="distance")],
        "regressor__n_neighbors": [count for count in NEIGHBOURS if count <= pairs * (FOLDS - 1) // FOLDS],
    }
    folds = KFold(FOLDS, shuffle=True, random_state=seed)
    pipeline = Pipeline([("regressor", KernelRidge())])
    return GridSearchCV(pipeline, [kernel_ridge, nearest], cv=folds, scoring="neg_mean_squared_error")
