"""Presmoothing: the main predictor smoothed over its own graph, as far as the labels say, before references speak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np

from manifuse.backends.backend import Backend, FeatureGraph
from manifuse.backends.host import Host, HostGraph
from manifuse.backends.neighbours import Neighbours
from manifuse.diffusion.edges import Edges
from manifuse.diffusion.observations import Observations
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.chebyshev import smooth
from manifuse.kernels.sphere import spread, standardise

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

    def on_host(self) -> Presmoothing:
        """Return the same smoothing, its graph in this machine's memory."""
        return self if isinstance(self.graph, HostGraph) else replace(self, graph=Host().restore(self.graph.stored()))

    def stages(self) -> list[FloatArray]:
        """Standardised scores after no round, one, and so on, shape (n,) each."""
        return [scores for scores, _ in self._course] + [_averages(self._course[-1][1])]

    def scores(self) -> FloatArray:
        """Return the scores after the last round, with the mean and spread of those of ``main``, shape (n,)."""
        return in_units(self.main, self.stages()[-1])

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
        """Smooth rows that come later with their nearest fitted rows, round by round.

        Returns
        -------
        (q,) array
            In the units in which the fitted ones are standardised.

        Raises
        ------
        InputError
            If the new rows have other features than the fitted ones.
        """
        edges = Edges.of(new, self.main, self.graph)
        deviation = float(spread(self.main.scores[:, None])[0]) / np.sqrt(len(self.main))
        current: FloatArray = (new.scores - self.main.scores.mean()) / deviation
        for fitted, smoothed in self._course:
            carried = edges.carry(edges.affinity(current, fitted, self.scale), smoothed)
            # A row of (I + step Laplacian) s = f, solved for its own entry; likewise for the constant.
            block = np.column_stack([current, np.ones(len(current))]) + self.step * carried
            current = _averages(block, like=smoothed)
        return current

    @cached_property
    def _course(self) -> list[tuple[FloatArray, FloatArray]]:
        """For every round, the standardised scores (n,) that it began with, and what smoothing made of it (n, 2)."""
        course: list[tuple[FloatArray, FloatArray]] = []
        current = standardise(self.main.scores)
        for _ in range(self.rounds):
            (smoothed,) = _smooth(self.graph, current, self.scale, [self.step])
            course.append((current, smoothed))
            current = _averages(smoothed)
        return course


def choose_presmoothing(
    main: Observations, searched: Sequence[Neighbours], score: Score, backend: Backend
) -> Presmoothing | None:
    """Choose by the labels among 3 x 4 x 3 settings with one to three rounds on each of the tables searched.

    Parameters
    ----------
    main : Observations
        With features, or neighbours that were given.
    searched : sequence of Neighbours
        Of its features, for the largest of ``NEIGHBOURS``; one for each way to scale them.
    score : Score
    backend : Backend
        Keeps the graphs.

    Returns
    -------
    Presmoothing or None
        None if no smoothing scores above the scores as they came.
    """
    start = standardise(main.scores)

    def height(scores: FloatArray) -> float:
        return float(score.evaluate(in_units(main, scores)[score.rows, None])[0])

    best, highest = None, height(start)
    for table, count in product(searched, NEIGHBOURS):
        graph = backend.graph(table, count)
        for scale in SCALES:
            # All steps begin on the same graph, and share its products.
            for step, smoothed in zip(STEPS, _smooth(graph, start, scale, STEPS), strict=True):
                for rounds in range(1, ROUNDS + 1):
                    scores = _averages(smoothed)
                    reached = height(scores)
                    if reached > highest:
                        best, highest = Presmoothing(main, graph, step, scale, rounds), reached
                    if rounds < ROUNDS:
                        (smoothed,) = _smooth(graph, scores, scale, [step])
    return best


def in_units(main: Observations, standardised: FloatArray) -> FloatArray:
    """Give standardised scores (n,) the mean and the spread of those of ``main``."""
    deviation = float(spread(main.scores[:, None])[0]) / np.sqrt(len(main))
    return np.asarray(main.scores.mean() + deviation * standardised)


def _smooth(graph: FeatureGraph, scores: FloatArray, scale: float, steps: Sequence[float]) -> FloatArray:
    """Smooth standardised scores (n,) and a constant over the graph that they re-weigh, shape (steps, n, 2)."""
    return smooth(graph.affinity(scores, scale), np.column_stack([scores, np.ones(len(scores))]), steps)


def _averages(smoothed: FloatArray, *, like: FloatArray | None = None) -> FloatArray:
    """Smoothed scores over the smoothed constant, standardised; as those of ``like`` would be, if given."""
    averages = smoothed[:, 0] / smoothed[:, 1]
    if like is None:
        return standardise(averages)
    fitted = like[:, 0] / like[:, 1]
    deviation = float(spread(fitted[:, None])[0]) / np.sqrt(len(fitted))
    return np.asarray((averages - fitted.mean()) / deviation)
