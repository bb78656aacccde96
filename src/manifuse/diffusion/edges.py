"""Edges from rows that come later to their nearest fitted rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import NearestNeighbors

from manifuse.backends.backend import FeatureGraph
from manifuse.backends.neighbours import Scaling
from manifuse.diffusion.observations import Observations
from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.laplacian import feature_weights, local_scales, prediction_weights


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges from later rows to their nearest fitted rows.

    Attributes
    ----------
    graph : FeatureGraph
        Of the fitted rows.
    indices : (q, N) array of int
        The fitted rows.
    weights : (q, N) array
        ``W^x`` of eq. 14.
    """

    graph: FeatureGraph
    indices: IndexArray
    weights: FloatArray

    @classmethod
    def of(cls, new: Observations, main: Observations, graph: FeatureGraph) -> Edges:
        """Find the nearest fitted rows of every later row; there are none if the graph has no edges.

        The features of ``new`` are in the order of ``main``; see `Observations.arranged_like`.

        Raises
        ------
        InputError
            If the fitted rows had no features.
        """
        if graph.neighbours == 0:
            return cls(graph, np.empty((len(new), 0), dtype=np.intp), np.empty((len(new), 0)))
        if main.table is None:
            raise InputError(
                f"{main.name} was fitted on neighbours that were given, so {new.name} cannot be compared with it; "
                "fit on features to apply to rows that come later."
            )
        assert new.table is not None, "later rows were not compared with the fitted table"
        scaling = Scaling.of(main.table, standardised=graph.standardised is True, name=main.name)
        search = NearestNeighbors(n_neighbors=graph.neighbours, algorithm="brute").fit(scaling.apply(main.table))
        distances, indices = search.kneighbors(scaling.apply(new.table))
        squares = distances**2
        return cls(graph, indices, feature_weights(squares, local_scales(squares)[:, None], graph.scales[indices]))

    def affinity(self, new: FloatArray, fitted: FloatArray, scale: float) -> FloatArray:
        """Normalised affinity (eq. 14) of later rows to their fitted neighbours, shape (q, N).

        Parameters
        ----------
        new, fitted : (q,) and (n,) array
            Predictions, standardised by the fitted ones.
        scale : float
            ``sigma_f^2``.
        """
        weights = self.weights * prediction_weights(new[:, None] - fitted[self.indices], scale)
        own = weights.sum(axis=1, keepdims=True)
        theirs = self.graph.degrees(fitted, scale)[self.indices]
        roots = np.sqrt(own * theirs)
        return np.asarray(np.divide(weights, roots, out=np.zeros_like(weights), where=roots > 0))

    def carry(self, affinity: FloatArray, values: FloatArray) -> FloatArray:
        """Average ``values`` (n, c) of the fitted neighbours by ``affinity``, shape (q, c)."""
        return np.asarray(np.einsum("qN,qNc->qc", affinity, values[self.indices]))


def smooth_later(current: FloatArray, step: float, carried: FloatArray, row_sums: FloatArray) -> FloatArray:
    """Smooth later rows with their fitted neighbours.

    A later row is a row of ``(I + step Laplacian) s = f``, solved for its own entry.

    Parameters
    ----------
    current : (q,) array
        The predictions of the later rows.
    step : float
    carried, row_sums : (q,) array
        What the neighbours' smoothed predictions and their smoothed constant average to.
    """
    return np.asarray((current + step * carried) / (1.0 + step * row_sums))
