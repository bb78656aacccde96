"""Smoothing: the main predictor smoothed over its own graph, in rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from manifuse.backends.backend import FeatureGraph
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.chebyshev import smooth
from manifuse.kernels.sphere import standardise
from manifuse.records import Saved
from manifuse.tables.observations import Observations
from manifuse.tables.units import Units

#: Upper bound on the rounds.
ROUNDS = 3


@dataclass(frozen=True)
class SmoothingSetting(Saved):
    """How a predictor was smoothed over its own graph.

    Attributes
    ----------
    neighbours : int
        Of every row (N).
    standardised : bool or None
        Whether features were standardised; None if the neighbours were given.
    step : float
        Step size of the smoothing.
    scale : float
        ``sigma_f^2``, in variances of the scores.
    rounds : int
    """

    neighbours: int
    standardised: bool | None
    step: float
    scale: float
    rounds: int

    def check(self) -> None:
        """Refuse values out of range."""
        if not (0 < self.step < np.inf and self.scale > 0 and 1 <= self.rounds <= ROUNDS):
            raise ValueError("the smoothing is out of range")


class Stage(NamedTuple):
    """One round of smoothing.

    Attributes
    ----------
    start : (n,) array
        The standardised scores that it began with.
    degrees : (n,) array
        Of the graph that they weigh.
    smoothed : (n, 2) array
        What smoothing made of the scores and of a constant.
    units : Units
        Of the smoothed averages.
    """

    start: FloatArray
    degrees: FloatArray
    smoothed: FloatArray
    units: Units


@dataclass(frozen=True, eq=False)
class Smoothing:
    """One way of smoothing a predictor over its own graph, in rounds that each weigh the graph by the predictions.

    Attributes
    ----------
    main : Observations
    graph : FeatureGraph
    setting : SmoothingSetting
    """

    main: Observations
    graph: FeatureGraph
    setting: SmoothingSetting

    def smoothed(self) -> FloatArray:
        """Standardised scores after the last round, shape (n,)."""
        return averages(self._course[-1].smoothed)

    def scores(self) -> FloatArray:
        """Scores after the last round, with the mean and the norm of those of ``main``, shape (n,)."""
        return Units.of(self.main.scores).from_standardised(self.smoothed())

    @cached_property
    def _course(self) -> list[Stage]:
        """What every round worked on."""
        course: list[Stage] = []
        current = standardise(self.main.scores)
        for _ in range(self.setting.rounds):
            (smoothed,) = smooth_scores(self.graph, current, self.setting.scale, [self.setting.step])
            degrees = self.graph.degrees(current, self.setting.scale)
            course.append(Stage(current, degrees, smoothed, Units.of(smoothed[:, 0] / smoothed[:, 1])))
            current = averages(smoothed)
        return course


def smooth_scores(graph: FeatureGraph, scores: FloatArray, scale: float, steps: Sequence[float]) -> FloatArray:
    """Smooth standardised scores (n,) and a constant over the graph that they weigh, shape (steps, n, 2)."""
    return smooth(graph.affinity(scores, scale), np.column_stack([scores, np.ones(len(scores))]), steps)


def averages(smoothed: FloatArray) -> FloatArray:
    """Divide smoothed scores by the smoothed constant (n, 2), and standardise, shape (n,)."""
    return standardise(smoothed[:, 0] / smoothed[:, 1])
