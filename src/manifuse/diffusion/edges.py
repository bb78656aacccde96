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
    """Edges from new rows to their nearest fitted rows.

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
        """Find the nearest fitted rows of every new row.

        Raises
        ------
        InputError
            If the new rows have other features than the fitted ones, or these had none.
        """
        if main.table is None:
            raise InputError(
                f"{main.name} was fitted on neighbours that were given, so there is nothing to place {new.name} by; "
                "fit on features to apply to rows that come later."
            )
        if new.table is None or new.table.shape[1] != main.table.shape[1]:
            came = 0 if new.table is None else new.table.shape[1]
            raise InputError(
                f"{new.name} came with {came} features, but {main.name} was fitted with {main.table.shape[1]}; "
                "give the same columns."
            )
        scaling = Scaling.of(main.table, standardised=graph.standardised is True, name=main.name)
        search = NearestNeighbors(n_neighbors=graph.neighbours, algorithm="brute").fit(scaling.apply(main.table))
        distances, indices = search.kneighbors(scaling.apply(new.table))
        squares = distances**2
        return cls(graph, indices, feature_weights(squares, local_scales(squares)[:, None], graph.scales[indices]))

    def affinity(self, new: FloatArray, fitted: FloatArray, scale: float) -> FloatArray:
        """Normalised affinity (eq. 14) of new rows to their fitted neighbours, shape (q, N).

        Parameters
        ----------
        new, fitted : (q,) and (n,) array
            Predictions, in units of the standard deviation of the fitted ones.
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
