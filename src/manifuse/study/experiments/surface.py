"""The accuracy surface over the two hyperparameters of the f-diffusion, which result rows of JMD have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.study.experiments.store import Row


@dataclass(frozen=True, eq=False)
class Surface:
    """Accuracy on the validation labels in the first round, and the cell that was chosen.

    Attributes
    ----------
    dataset, task : str
    trial : int
    values : (step sizes, weight scales) array
        In [0, 1]; NaN where a cell has no value.
    step_sizes, weight_scales : list of float
        The axes, delta and sigma², in logarithmic steps.
    step_size, weight_scale : float
        What was chosen.
    """

    dataset: str
    task: str
    trial: int
    values: FloatArray
    step_sizes: list[float]
    weight_scales: list[float]
    step_size: float
    weight_scale: float


def surfaces_of(rows: Sequence[Row]) -> list[Surface]:
    """Return the surfaces of the rows that have one."""
    axes = ("step_sizes", "weight_scales", "step_size", "weight_scale")
    return [
        Surface(
            row.dataset,
            row.task,
            row.trial,
            np.array(row.hyperparameters["surface"], dtype=float),
            **{name: row.hyperparameters[name] for name in axes},
        )
        for row in rows
        if row.hyperparameters.get("surface")
    ]


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
