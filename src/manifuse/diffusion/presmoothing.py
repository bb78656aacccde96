"""Presmoothing: the main predictor smoothed over its own graph, as far as the labels say, before references speak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from manifuse.diffusion.edges import Edges
from manifuse.diffusion.graph import FeatureGraph, Neighbours
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.score import Score
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.chebyshev import smooth
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
    graph : FeatureGraph
    step : float
        Step size of the smoothing.
    scale : float
        ``sigma_f^2``, in variances of the scores.
    rounds : int
    """

    main: Observations
    graph: FeatureGraph
    step: float
    scale: float
    rounds: int

    def stages(self) -> list[FloatArray]:
        """Scores after no round, one, and so on, shape (n,) each, all with the mean and spread of the first."""
        return [self.main.scores, *self.go_on(self.put_back(self._smooth(self.main.scores)))]

    def go_on(self, scores: FloatArray) -> Iterator[FloatArray]:
        """Yield the scores (n,) after one round, and those after each further round."""
        yield scores
        for _ in range(self.rounds - 1):
            scores = self.put_back(self._smooth(scores))
            yield scores

    def put_back(self, smoothed: FloatArray, block: FloatArray | None = None) -> FloatArray:
        """Divide smoothed scores by the smoothed constant, and bring them to the mean and spread of the first.

        Parameters
        ----------
        smoothed : (n, 2) array
            Of the fitted rows; they settle offset and scale.
        block : (q, 2) array, optional
            Of the rows to be put back, if these are not the fitted ones.
        """
        fitted, scores = smoothed[:, 0] / smoothed[:, 1], self.main.scores
        averages = fitted if block is None else block[:, 0] / block[:, 1]
        return np.asarray(scores.mean() + scores.std() / fitted.std() * (averages - fitted.mean()))

    def hyperparameters(self) -> dict[str, float | int | bool | None]:
        """What was chosen, as plain data; a scale of None is infinite."""
        return {
            "neighbours": self.graph.neighbours,
            "standardised": self.graph.standardised,
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
        edges = Edges.of(new, self.main, self.graph)
        current: FloatArray = new.scores
        offset, unit = self.main.scores.mean(), self.main.scores.std()
        for fitted in self.stages()[:-1]:
            smoothed = self._smooth(fitted)
            affinity = edges.affinity((current - offset) / unit, (fitted - offset) / unit, self.scale)
            carried = edges.carry(affinity, smoothed)
            # A row of (I + step Laplacian) s = f, solved for its own entry; likewise for the constant.
            block = np.column_stack([current, np.ones(len(current))]) + self.step * carried
            current = self.put_back(smoothed, block)
        return current

    def _smooth(self, scores: FloatArray) -> FloatArray:
        """Smooth scores and a constant, shape (n, 2); each row is to be divided by what it makes of the constant."""
        return np.asarray(_smooth(self.graph, scores, self.scale, [self.step])[0])


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
        for scale in SCALES:
            # All steps begin on the same graph, and share its products.
            for step, smoothed in zip(STEPS, _smooth(graph, main.scores, scale, STEPS), strict=True):
                chosen = Presmoothing(main, graph, step, scale, ROUNDS)
                for rounds, scores in enumerate(chosen.go_on(chosen.put_back(smoothed)), start=1):
                    reached = _height(score, scores)
                    if reached > height:
                        best, height = replace(chosen, rounds=rounds), reached
    return best


def _smooth(graph: FeatureGraph, scores: FloatArray, scale: float, steps: Sequence[float]) -> FloatArray:
    """Smooth scores and a constant over the graph that the scores re-weigh, shape (steps, n, 2)."""
    affinity = graph.affinity(standardise(scores), scale)
    return smooth(affinity, np.column_stack([scores, np.ones(len(scores))]), steps)


def _height(score: Score, scores: FloatArray) -> float:
    return float(score.evaluate(scores[score.rows, None])[0])
