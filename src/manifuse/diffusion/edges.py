"""Edges from rows that come later to their nearest fitted rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sparse

from manifuse.backends.backend import FeatureGraph
from manifuse.backends.index import Index
from manifuse.diffusion.later_rows import LaterRows
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.laplacian import feature_weights, prediction_weights


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
    nearest : (q,) array
        Distance to the nearest of them; 0 if there are no edges.
    """

    graph: FeatureGraph
    indices: IndexArray
    weights: FloatArray
    nearest: FloatArray

    @classmethod
    def of(cls, new: LaterRows, index: Index | None, graph: FeatureGraph) -> Self:
        """Find the nearest fitted rows of every later row; there are none without an index of the fitted rows."""
        if index is None:
            return cls(graph, np.empty((len(new), 0), dtype=np.intp), np.empty((len(new), 0)), np.zeros(len(new)))
        assert new.features is not None, "later rows were not compared with the fitted table"
        squares, indices = index.nearest(new.features, graph.neighbours)
        own = 2.0 * squares.mean(axis=1)
        # A row whose neighbours are all copies of it has the mean scale of the fitted rows.
        own = np.where(own > 0, own, graph.scales.mean())
        weights = feature_weights(squares, own[:, None], graph.scales[indices])
        return cls(graph, indices, weights, np.sqrt(squares[:, 0]))

    def affinity(self, new: FloatArray, fitted: FloatArray, degrees: FloatArray, scale: float) -> FloatArray:
        """Normalised affinity (eq. 14) of later rows to their fitted neighbours, shape (q, N).

        Parameters
        ----------
        new, fitted : (q,) and (n,) array
            Predictions, standardised by the fitted ones.
        degrees : (n,) array
            Of the graph that ``fitted`` weighs.
        scale : float
            ``sigma_f^2``.
        """
        weights = self.weights * prediction_weights(new[:, None] - fitted[self.indices], scale)
        own = weights.sum(axis=1, keepdims=True)
        roots = np.sqrt(own * degrees[self.indices])
        return np.asarray(np.divide(weights, roots, out=np.zeros_like(weights), where=roots > 0))

    def carry(self, affinity: FloatArray, values: FloatArray) -> FloatArray:
        """Average ``values`` (n, c) of the fitted neighbours by ``affinity``, shape (q, c)."""
        rows, count = self.indices.shape
        starts = np.arange(0, rows * count + 1, count) if count else np.zeros(rows + 1, dtype=np.intp)
        matrix = sparse.csr_array((affinity.ravel(), self.indices.ravel(), starts), shape=(rows, len(values)))
        return np.asarray(matrix @ values)


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
