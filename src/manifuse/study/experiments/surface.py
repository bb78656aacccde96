"""The accuracy surface over the two hyperparameters of the f-diffusion, as result rows hold it."""

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
        NaN where a cell has none.
    step_sizes, weight_scales : tuple of float
        The axes, delta and sigma², in logarithmic steps.
    step_size, weight_scale : float
        What was chosen.
    """

    dataset: str
    task: str
    trial: int
    values: FloatArray
    step_sizes: tuple[float, ...]
    weight_scales: tuple[float, ...]
    step_size: float
    weight_scale: float


def surfaces_of(rows: Sequence[Row]) -> list[Surface]:
    """Surfaces of the rows that hold one."""
    return [
        Surface(
            dataset=row.dataset,
            task=row.task,
            trial=row.trial,
            values=np.array(row.hyperparameters["surface"], dtype=float),
            step_sizes=tuple(row.hyperparameters["step_sizes"]),
            weight_scales=tuple(row.hyperparameters["weight_scales"]),
            step_size=row.hyperparameters["step_size"],
            weight_scale=row.hyperparameters["weight_scale"],
        )
        for row in rows
        if row.hyperparameters.get("surface")
    ]


def roughness(values: FloatArray) -> float:
    """How little neighbouring cells know of each other: Geary's C, 0 if smooth, 1 in the mean if in any order.

    The mean squared difference of neighbours against that of any two cells. Unlike the fit of a quadratic it
    does not ask a smooth surface to have one top, and unlike differences against the range it does not hang on
    the two most extreme cells.

    Parameters
    ----------
    values : (p, q) array
        NaN is left out.

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
