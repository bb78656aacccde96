"""The f-diffusion of one round (section 2.2.1): steps of eq. 7."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from manifuse.diffusion.algorithm1 import Algorithm1
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.spectral import diffusion_step


@dataclass(frozen=True, eq=False)
class PredictionRun:
    """What the f-diffusion of one round came to.

    Attributes
    ----------
    path : (steps + 1, m + 1) array
        Coefficients from the start to the last step.
    scores : (steps + 1,) array
        The score of each step on the labels; NaN where they do not choose.
    gram : (m + 1, m + 1) array
        ``Z' Z``, the alignments of the columns with each other (eq. 3).
    cell : (float, float)
        The step size (delta) and the weight scale (sigma²).
    """

    path: FloatArray
    scores: FloatArray
    gram: FloatArray
    cell: tuple[float, float]


#: Runs the f-diffusion of one round; the parameters are those of `take_steps`.
Run = Callable[[Algorithm1, FloatArray, FloatArray, FloatArray], PredictionRun]


def take_steps(algorithm: Algorithm1, columns: FloatArray, origin: FloatArray, active: FloatArray) -> PredictionRun:
    """Take the steps of a round, with the first step size and weight scale of the algorithm.

    Parameters
    ----------
    algorithm : Algorithm1
    columns : (n, m + 1) or (n c, m + 1) array
        ``Z``: the current prediction, then the references, all on the sphere.
    origin : (n,) or (n c,) array
        ``f(0)``, with which the first round began, on the sphere. It decides the sign (eq. 10).
    active : (m,) array
        1 for references that take part, 0 for the others.
    """
    gram, towards = columns.T @ columns, columns.T @ origin
    (step_size, *_), (weight_scale, *_) = algorithm.grid
    cell = np.array([step_size]), np.array([weight_scale])
    path: list[FloatArray] = [np.eye(1, columns.shape[1])]
    for _ in range(algorithm.steps):
        path.append(diffusion_step(path[-1], gram, towards, active, *cell))
    return PredictionRun(np.concatenate(path), np.full(len(path), np.nan), gram, (step_size, weight_scale))
