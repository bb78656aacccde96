"""Spoken directions: those of log-ratios that each reference says something of, if some say nothing of the others.

A reference that is one score beside three classes or more, or that tells coarser classes apart, is turned into
log-ratios of the main predictor (see `Turning`). These lie in fewer directions than own log-ratios do. In all other
directions the reference is silent, and must not count as if it said that rows are alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.tables.problem import Reference

#: This share of the mean variance of own log-ratios is added to their variance in every direction, because they may
#: hardly vary in some.
LEAST_VARIANCE = 0.1


@dataclass(frozen=True, eq=False)
class SpokenDirections:
    """What of c log-ratios each reference speaks of.

    Attributes
    ----------
    projections : (m, c, c) array
        Project log-ratios (q, c), from the left, on the directions of a reference. Of own scores, what a projection
        takes away does not correlate with what it leaves.
    shares : (m,) array
        How far own scores vary there, by their norms; 1 in all directions. A reference counts as if it varied as far.
    """

    projections: FloatArray
    shares: FloatArray

    @classmethod
    def of(cls, own: FloatArray, references: Mapping[int, Reference]) -> Self | None:
        """Find the directions of references by own scores (n, c) about their mean; None if all speak of all."""
        width = own.shape[1]
        every = np.eye(width)
        matrices = [every if each.turning is None else each.turning.matrix for each in references.values()]
        if width == 1 or all(len(matrix) >= width for matrix in matrices):
            return None
        variance = np.cov(own.T)
        inverse = np.linalg.inv(variance + LEAST_VARIANCE * np.trace(variance) / width * every)
        projections = np.array([_projection(matrix, inverse) for matrix in matrices])
        return cls(projections, np.linalg.norm(own @ projections, axis=(1, 2)) / np.linalg.norm(own))

    def added(self, own: FloatArray, references: FloatArray, pulls: FloatArray) -> FloatArray:
        """Mix own scores (q, c) and centred ones of references (q, m, c): in each direction, those that speak of it.

        A reference counts its pull (m,), where own scores count 1.
        """
        total = own + np.einsum("qmc,m->qc", references, pulls * self.shares)
        counts = np.eye(own.shape[1]) + np.einsum("mcd,m->cd", self.projections, pulls)
        return np.asarray(total @ np.linalg.inv(counts))


def _projection(matrix: FloatArray, inverse: FloatArray) -> FloatArray:
    """The projection (c, c) on the rows of a matrix (c', c) with orthonormal rows or columns.

    ``inverse`` (c, c) is that of the variance.
    """
    if len(matrix) >= matrix.shape[1]:
        return np.eye(matrix.shape[1])
    return np.asarray(inverse @ matrix.T @ np.linalg.inv(matrix @ inverse @ matrix.T) @ matrix)
