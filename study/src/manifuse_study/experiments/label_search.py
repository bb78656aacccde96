"""Label search: labels choose the step size and the weight scale of every round, as in the paper's Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from manifuse.diffusion.algorithm1 import Algorithm1
from manifuse.diffusion.joint import PredictionRun
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.spectral import diffusion_step
from manifuse.tables.problem import Problem

#: A function from the coefficients (cells, m + 1) of candidates ``Z a`` to their scores (cells,).
Evaluate = Callable[[FloatArray], FloatArray]


class LabelSearch:
    """Runs the f-diffusion of a round in all cells of the grid, and takes the one of the best score.

    Parameters
    ----------
    score : Score
        What the labels say of candidate predictions; larger is better.
    problem : Problem

    Attributes
    ----------
    surface : (step sizes, weight scales) array or None
        Best score of every cell in the first round; None before it.
    """

    def __init__(self, score: Score, problem: Problem) -> None:
        self._score, self._problem = score, problem
        self.surface: FloatArray | None = None

    def __call__(
        self, algorithm: Algorithm1, columns: FloatArray, origin: FloatArray, active: FloatArray
    ) -> PredictionRun:
        """Run one round; see `manifuse.diffusion.joint.take_steps`."""
        rows = columns[self._score.rows]

        def evaluate(coefficients: FloatArray) -> FloatArray:
            return self._score.evaluate(in_units(self._problem, rows @ coefficients.T))

        run, surface = search_cells(algorithm, columns, origin, active, evaluate)
        self.surface = surface if self.surface is None else self.surface
        return run


def in_units(problem: Problem, points: FloatArray) -> FloatArray:
    """Give points of the manifold the offset and scale of the main predictor again (section 2.1, regression)."""
    return problem.units.undo(problem.standardised(points))


def search_cells(
    algorithm: Algorithm1, columns: FloatArray, origin: FloatArray, active: FloatArray, evaluate: Evaluate
) -> tuple[PredictionRun, FloatArray]:
    """Run the f-diffusion from the first of ``columns`` in all cells at once: the T2 f-steps of Algorithm 1.

    A cell stops before the first step that does not raise its score. The cell with the best score is chosen; of equal
    ones, the first.

    Parameters
    ----------
    algorithm, columns, origin, active
        As of `manifuse.diffusion.joint.take_steps`.
    evaluate : callable
        Computes the scores of candidates.

    Returns
    -------
    run : PredictionRun
    surface : (step sizes, weight scales) array
        Best score of every cell.
    """
    gram, towards, grid = columns.T @ columns, columns.T @ origin, algorithm.grid
    step, scale = (axis.ravel() for axis in np.meshgrid(*grid, indexing="ij"))
    first = np.zeros(columns.shape[1])
    first[0] = 1.0
    current = np.tile(first, (len(step), 1))
    heights = np.full(len(step), evaluate(first[None])[0])
    start = heights[0]
    trails: list[list[FloatArray]] = [[first] for _ in step]
    scores: list[list[float]] = [[start] for _ in step]
    alive = np.arange(len(step))
    for _ in range(algorithm.steps):
        candidates = diffusion_step(current[alive], gram, towards, active, step[alive], scale[alive])
        reached = evaluate(candidates)
        rising = reached > heights[alive]
        alive, candidates, reached = alive[rising], candidates[rising], reached[rising]
        if len(alive) == 0:
            break
        current[alive], heights[alive] = candidates, reached
        for cell, coefficients, height in zip(alive, candidates, reached, strict=True):
            trails[cell].append(coefficients)
            scores[cell].append(float(height))
    best = int(np.argmax(heights))
    chosen = (float(step[best]), float(scale[best]))
    run = PredictionRun(np.array(trails[best]), np.array(scores[best]), gram, chosen)
    return run, heights.reshape(len(grid[0]), len(grid[1]))
