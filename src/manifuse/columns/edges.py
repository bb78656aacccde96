"""Edges from rows that come later to their nearest fitted rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sparse

from manifuse.backends.index import Index
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.laplacian import feature_weights, prediction_weights


@dataclass(frozen=True, eq=False)
class Joining:
    """How later rows are joined to the graph of the fitted ones.

    Attributes
    ----------
    neighbours : int
        Nearest fitted rows of each (N).
    standardised : bool
        Whether distances are of standardised features.
    scales : (n,) array
        ``sigma_x^2`` of every fitted row.
    """

    neighbours: int
    standardised: bool
    scales: FloatArray


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges from later rows to their nearest fitted rows.

    Attributes
    ----------
    indices : (q, N) array of int
        The fitted rows.
    weights : (q, N) array
        ``W^x`` of eq. 14.
    nearest : (q,) array
        Distance to the nearest of them; 0 if there are no edges.
    """

    indices: IndexArray
    weights: FloatArray
    nearest: FloatArray

    @classmethod
    def of(cls, features: FloatArray, index: Index | None, joining: Joining | None) -> Self:
        """Find the nearest fitted rows of every later row (q, d); there are none without an index of these."""
        if index is None or joining is None:
            rows = len(features)
            return cls(np.empty((rows, 0), dtype=np.intp), np.empty((rows, 0)), np.zeros(rows))
        squares, indices = index.nearest(features, joining.neighbours)
        own = 2.0 * squares.mean(axis=1)
        # A row whose neighbours are all copies of it has the mean scale of the fitted rows.
        own = np.where(own > 0, own, joining.scales.mean())
        weights = feature_weights(squares, own[:, None], joining.scales[indices])
        return cls(indices, weights, np.sqrt(squares[:, 0]))

    def average(
        self, values: FloatArray, new: FloatArray, fitted: FloatArray, degrees: FloatArray, scale: float
    ) -> FloatArray:
        """Average values of the fitted neighbours by the normalised affinity (eq. 14) of later rows to these (q, c).

        Parameters
        ----------
        values : (n, c) array
        new, fitted : (q,) and (n,), or (q, c) and (n, c) array
            Predictions, standardised by the fitted ones.
        degrees : (n,) array
            Of the graph that ``fitted`` weighs.
        scale : float
            ``sigma_f^2``.
        """
        weights = self.weights * prediction_weights(new, np.arange(len(new))[:, None], fitted, self.indices, scale)
        own = weights.sum(axis=1, keepdims=True)
        roots = np.sqrt(own * degrees[self.indices])
        affinity = np.divide(weights, roots, out=np.zeros_like(weights), where=roots > 0)
        rows, count = self.indices.shape
        starts = count * np.arange(rows + 1)
        matrix = sparse.csr_array((affinity.ravel(), self.indices.ravel(), starts), shape=(rows, len(values)))
        return np.asarray(matrix @ values)


def smooth_later(current: FloatArray, step: float, carried: FloatArray, row_sums: FloatArray) -> FloatArray:
    """Smooth later rows with their fitted neighbours.

    A later row is a row of ``(I + step Laplacian) s = f``, solved for its own entry.

    Parameters
    ----------
    current : (q, ...) array
        The predictions of the later rows.
    step : float
    carried, row_sums : arrays that fit to it
        Averages of the neighbours' smoothed predictions, and of their smoothed constant.
    """
    return np.asarray((current + step * carried) / (1.0 + step * row_sums))
