"""Own: the main predictor's scores, as they came and smoothed over the graph of its own features."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.backends.graph import FeatureGraph
from manifuse.columns.column import Column
from manifuse.columns.edges import smooth_later
from manifuse.columns.view import View
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.chebyshev import smooth
from manifuse.tables.classes import Classes
from manifuse.tables.level import Level

#: How the main predictor is smoothed to be a second opinion on its own rows: step size and ``sigma_f^2``.
STEP, SCALE = 10.0, 0.1

#: A classifier is sure of most rows if, in so many of them, the logarithms of its two most probable classes differ by
#: more than the second number, in deviations of its log-ratios.
MOST, SURE = 0.75, 0.7


@dataclass(frozen=True, eq=False)
class Smoothed(Column):
    """Own scores, each averaged with those of the rows whose features are most alike.

    Attributes
    ----------
    start : (n, c) array
        Own scores of the fitted rows.
    degrees : (n,) array
        Of the graph that they weigh.
    averaged : (n, c + 1) array
        What smoothing made of the scores and of a constant.
    level : Level
    """

    start: FloatArray
    degrees: FloatArray
    averaged: FloatArray
    level: Level

    @property
    def fitted(self) -> FloatArray:
        """Smoothed scores of the fitted rows (n, c)."""
        return self.level.apply(self.averaged[:, :-1] / self.averaged[:, -1:])

    @classmethod
    def over(cls, graph: FeatureGraph, own: FloatArray) -> Self:
        """Smooth own scores (n, c) over a graph that they weigh."""
        affinity = graph.affinity(own, SCALE)
        (averaged,) = smooth(affinity, np.column_stack([own, np.ones(len(own))]), [STEP])
        values = averaged[:, :-1] / averaged[:, -1:]
        return cls(own, graph.degrees(own, SCALE), averaged, Level.of(values))

    def add_to(self, rows: View, name: str) -> View:
        """Smooth rows that came later with their nearest fitted rows; see `Column.add_to`."""
        assert rows.edges is not None, "fitted rows are smoothed with each other"
        own = rows["own"]
        carried = rows.edges.average(self.averaged, own, self.start, self.degrees, SCALE)
        smoothed = smooth_later(own, STEP, carried[:, :-1], carried[:, -1:])
        return rows.with_column(name, self.level.apply(smoothed))


def sureness(own: FloatArray, classes: Classes | None) -> float:
    """How much more references must count beside a classifier that is sure of most rows; 1 beside others.

    If it only names a class, its class has the same lead in every row. References that agree on another one would
    hardly ever overcome this lead.

    Parameters
    ----------
    own : (n, c) array
        Standardised scores. With two classes they are one score a row, and are refined as any score.
    classes : Classes or None
    """
    if classes is None or own.shape[1] == 1:
        return 1.0
    second, first = np.sort(classes.logarithms(own), axis=1)[:, -2:].T
    return max(1.0, float(np.quantile(first - second, 1.0 - MOST)) / SURE)
