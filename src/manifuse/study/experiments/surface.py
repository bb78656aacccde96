"""The accuracy surface over the two hyperparameters of the f-diffusion, which result rows of JMD have.

A cell is the accuracy on the validation labels in the first round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.study.experiments.store import Row


def with_surface(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that have a surface."""
    return [row for row in rows if row.hyperparameters.get("surface")]


def values_of(row: Row) -> FloatArray:
    """Return the surface of a row, (step sizes, weight scales): accuracies in [0, 1], NaN where there is none."""
    return np.array(row.hyperparameters["surface"], dtype=np.float64)


def roughness(values: FloatArray) -> float:
    """Return Geary's C: 0 if neighbouring cells are alike, 1 in the mean if the cells are in any order.

    It divides the mean squared difference of neighbours by that of any two cells. A smooth surface may have
    several peaks, which the fit of a quadratic would not allow. Dividing by the range instead would make the
    result depend on the two most extreme cells.

    Parameters
    ----------
    values : (p, q) array
        Cells that are NaN are left out.

    Returns
    -------
    float
        0 for a surface that is constant.

    References
    ----------
    .. [1] Geary, R. C. "The contiguity ratio and statistical mapping", The Incorporated Statistician 5, 1954.

    Examples
    --------
    >>> roughness(np.array([[0.0, 1.0, 2.0, 3.0]]))
    0.3
    >>> roughness(np.array([[0.0, 1.0], [1.0, 0.0]]))
    1.5
    """
    cells = values[np.isfinite(values)]
    if len(cells) < 2 or np.ptp(cells) == 0:
        return 0.0
    steps = np.concatenate([np.diff(values, axis=axis).ravel() for axis in (0, 1)])
    return float(np.nanmean(steps**2) / (2 * cells.var(ddof=1)))
