"""Presmoothing: the main predictor smoothed over its own graph, as far as the labels say, before references speak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from manifuse.diffusion.edges import Edges
from manifuse.diffusion.graph import FeatureGraph, Neighbours
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.score import Score
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.laplacian import smooth
from manifuse.kernels.sphere import standardise

#: What the labels choose from: neighbours, step sizes, prediction scales, and rounds of re-weighting.
NEIGHBOURS = (5, 10, 20)
STEPS = (1.0, 3.0, 10.0, 30.0)
SCALES = (0.1, 0.3, np.inf)
ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Presmoothing:
    """One way of smoothing a predictor over its own graph, in rounds that each re-weigh the graph.

    Attributes
    ----------
    main : Observations
    searched : Neighbours
    graph : FeatureGraph
    neighbours : int
        Of every row in the graph (N).
    step : float
        Step size of the smoothing.
    scale : float
        ``sigma_f^2``, in variances of the scores.
    rounds : int
    """

    main: Observations
    searched: Neighbours
    graph: FeatureGraph
    neighbours: int
    step: float
    scale: float
    rounds: int

    def stages(self) -> list[FloatArray]:
        """Scores after no round, one, and so on, shape (n,) each, all with the mean and spread of the first."""
        scores = [self.main.scores]
        for _ in range(self.rounds):
            smoothed = self._smooth(scores[-1])
            averages = smoothed[:, 0] / smoothed[:, 1]
            scores.append(self._put_back(averages, averages))
        return scores

    def hyperparameters(self) -> dict[str, float | int | bool | None]:
        """What was chosen, as plain data; a scale of None is infinite."""
        return {
            "neighbours": self.neighbours,
            "standardised": self.searched.standardised,
            "step": self.step,
            "scale": self.scale if np.isfinite(self.scale) else None,
            "rounds": self.rounds,
        }

    def extend(self, new: Observations) -> FloatArray:
        """Smooth rows that come later with their nearest fitted rows, round by round, shape (q,).

        Raises
        ------
        InputError
            If the new rows have other features than the fitted ones.
        """
        edges = Edges.of(new, self.main, self.searched, self.graph, self.neighbours)
        current: FloatArray = new.scores
        offset, unit = self.main.scores.mean(), self.main.scores.std()
        for fitted in self.stages()[:-1]:
            smoothed = self._smooth(fitted)
            affinity = edges.affinity((current - offset) / unit, (fitted - offset) / unit, self.scale)
            carried = edges.carry(affinity, smoothed)
            # A row of (I + step Laplacian) s = f, solved for its own entry; likewise for the constant.
            averages = (current + self.step * carried[:, 0]) / (1.0 + self.step * carried[:, 1])
            current = self._put_back(averages, smoothed[:, 0] / smoothed[:, 1])
        return current

    def _put_back(self, averages: FloatArray, fitted: FloatArray) -> FloatArray:
        """Bring ``averages`` to where ``fitted`` would have the mean and spread of the scores as they came."""
        scores = self.main.scores
        return np.asarray(scores.mean() + scores.std() / fitted.std() * (averages - fitted.mean()))

    def _smooth(self, scores: FloatArray) -> FloatArray:
        """Smooth scores and a constant, shape (n, 2); each row is to be divided by what it makes of the constant."""
        affinity = self.graph.affinity(standardise(scores), self.scale)
        return smooth(affinity, np.column_stack([scores, np.ones(len(scores))]), self.step)


def choose_presmoothing(main: Observations, searched: Sequence[Neighbours], score: Score) -> Presmoothing | None:
    """Choose by the labels among 3 x 4 x 3 settings with one to three rounds on each of the tables searched.

    Parameters
    ----------
    main : Observations
        With features.
    searched : sequence of Neighbours
        Of its features, for the largest of ``NEIGHBOURS``; one for each way to scale them.
    score : Score

    Returns
    -------
    Presmoothing or None
        None if no smoothing scores above the scores as they came.
    """
    best, height = None, _height(score, main.scores)
    for table, count in product(searched, NEIGHBOURS):
        graph = FeatureGraph.of(table, count)
        for step, scale in product(STEPS, SCALES):
            stages = Presmoothing(main, table, graph, count, step, scale, ROUNDS).stages()
            for rounds, scores in enumerate(stages):
                reached = _height(score, scores)
                if reached > height:
                    best, height = Presmoothing(main, table, graph, count, step, scale, rounds), reached
    return best


def _height(score: Score, scores: FloatArray) -> float:
    return float(score.evaluate(scores[score.rows, None])[0])
