"""What a user with decoupled scores would do: learn each reference's score from one's own features on the pairs.

Six lines of scikit-learn: fit "my features to your score" on the rows known on both sides, predict it on all one's own
rows, and go on as if the data were coupled.
"""

from __future__ import annotations

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import Pipeline

from manifuse.diffusion.problem import Problem
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import standardise

#: What cross-validation on the pairs chooses from, for each reference: kernel ridge (penalties; kernel widths in units
#: of the features' number) or nearest neighbours.
PENALTIES = (0.01, 0.1, 1.0)
WIDTHS = (0.3, 1.0, 3.0)
NEIGHBOURS = (3, 5, 10, 20)
FOLDS = 5


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
    features = problem.main.table
    assert features is not None, "decoupled tables have features"
    table = standardise(features)
    columns: list[FloatArray] = []
    chosen: dict[str, object] = {}
    for reference in problem.references:
        rows, known = reference.main_rows, reference.paired
        search = _search(table.shape[1], len(rows), seed).fit(table[rows], known)
        column = np.asarray(search.predict(table))
        column[rows] = known
        columns.append(column)
        chosen[reference.name] = str(search.best_params_["regressor"])
    return np.column_stack(columns), chosen


def _search(width: int, pairs: int, seed: int) -> GridSearchCV:
    """Cross-validated choice among kernel ridge regressions and nearest neighbours."""
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
