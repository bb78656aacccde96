"""The f-diffusion (section 2.2.1): steps of eq. 7, in all cells of the (delta, sigma²) grid at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.spectral import diffusion_step

#: A function from the coefficients (cells, m + 1) of candidates ``Z a`` to their scores (cells,).
Evaluate = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class PredictionRun:
    """What the f-diffusion of one round chose, and what it measured.

    Attributes
    ----------
    path : (steps + 1, m + 1) array
        Coefficients of the chosen cell, from the start to its best step.
    scores : (steps + 1,) array
        The score of each step; NaN without labels.
    gram : (m + 1, m + 1) array
        ``Z' Z``, the alignments of the columns with each other (eq. 3).
    cell : (float, float)
        The chosen step size (delta) and weight scale (sigma²).
    surface : (step sizes, weight scales) array or None
        Best score of every cell.
    """

    path: FloatArray
    scores: FloatArray
    gram: FloatArray
    cell: tuple[float, float]
    surface: FloatArray | None


def diffuse_prediction(
    columns: FloatArray,
    origin: FloatArray,
    *,
    active: FloatArray,
    grid: tuple[Sequence[float], Sequence[float]],
    steps: int,
    evaluate: Evaluate | None,
) -> PredictionRun:
    """Run the f-diffusion from the first of ``columns``: the T2 f-steps of Algorithm 1.

    A cell stops before the first step that does not raise its score. The cell with the best score is chosen; of equal
    ones, the first. Without ``evaluate``, the first cell is chosen, and every cell takes all its steps.

    Parameters
    ----------
    columns : (n, m + 1) or (n c, m + 1) array
        ``Z``: the current prediction, then the references, all on the sphere.
    origin : (n,) or (n c,) array
        ``f(0)``, with which the first round began, on the sphere. It decides the sign (eq. 10).
    active : (m,) array
        1 for references that take part, 0 for the others.
    grid : pair of sequences
        Step sizes (delta) and weight scales (sigma²).
    steps : int
        Upper bound on the number of steps (T2).
    evaluate : callable or None
        Computes the scores of candidates. None without labels.
    """
    gram, towards = columns.T @ columns, columns.T @ origin
    step, scale = (axis.ravel() for axis in np.meshgrid(*grid, indexing="ij"))
    first = np.zeros(columns.shape[1])
    first[0] = 1.0
    current = np.tile(first, (len(step), 1))
    heights = np.full(len(step), np.nan if evaluate is None else evaluate(first[None])[0])
    start = heights[0]
    trails: list[list[FloatArray]] = [[first] for _ in step]
    scores: list[list[float]] = [[start] for _ in step]
    alive = np.arange(len(step))
    for _ in range(steps):
        candidates = diffusion_step(current[alive], gram, towards, active, step[alive], scale[alive])
        reached = np.full(len(alive), np.nan) if evaluate is None else evaluate(candidates)
        rising = np.ones(len(alive), dtype=bool) if evaluate is None else reached > heights[alive]
        alive, candidates, reached = alive[rising], candidates[rising], reached[rising]
        if len(alive) == 0:
            break
        current[alive], heights[alive] = candidates, reached
        for cell, coefficients, height in zip(alive, candidates, reached, strict=True):
            trails[cell].append(coefficients)
            scores[cell].append(float(height))
    best = 0 if evaluate is None else int(np.argmax(heights))
    return PredictionRun(
        path=np.array(trails[best]),
        scores=np.array(scores[best]),
        gram=gram,
        cell=(float(step[best]), float(scale[best])),
        surface=None if evaluate is None else heights.reshape(len(grid[0]), len(grid[1])),
    )
