"""FeatureGraph: the neighbour graph of one feature table, re-weighted by predictions (eq. 14)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np

from manifuse.errors import InputError, ManifuseWarning, require
from manifuse.kernels.arrays import FloatArray, IndexArray, SparseMatrix
from manifuse.kernels.laplacian import (
    edge_ends,
    edge_pattern,
    edge_values,
    feature_weights,
    local_scales,
    normalised_affinity,
    prediction_weights,
    squared_distances,
)
from manifuse.kernels.neighbours import approximate_neighbours, exact_is_affordable, exact_neighbours
from manifuse.kernels.sphere import centre, is_constant, standardise

Search = Literal["auto", "exact", "approximate"]

#: Recall below which the user is warned that the neighbour search missed too much.
LEAST_RECALL = 0.95


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest neighbours of every row of a feature table: searched once, shared by every graph on it.

    Attributes
    ----------
    features : (n, d) array
        The features as distances see them, centred, and standardised or not.
    indices : (n, N) array
        Other rows, nearest first, so that the first columns are the table of a smaller N.
    distances : (n, N) array
        Squared distances to them.
    recall : float
        Share of the true neighbours found, 1 for exact search, else measured on a sample.
    standardised : bool
    """

    features: FloatArray
    indices: IndexArray
    distances: FloatArray
    recall: float
    standardised: bool

    @classmethod
    def of(
        cls,
        features: FloatArray,
        count: int,
        *,
        name: str,
        standardised: bool,
        search: Search = "auto",
        rng: np.random.Generator,
    ) -> Neighbours:
        """Search the ``count`` nearest rows of every row (all others where there are fewer).

        Parameters
        ----------
        features : (n, d) array
        count : int
            At least 1.
        name : str
            What the table is called in messages.
        standardised : bool
            Bring every column to mean 0 and standard deviation 1 first; constant columns then count
            nothing.
        search : {"auto", "exact", "approximate"}
            ``"auto"`` is exact while n² d stays within 5e11 multiply-adds.
        rng : numpy.random.Generator
            Draws the sample on which the recall is measured.

        Raises
        ------
        InputError
            If all rows are the same point, so that there are no neighbours to speak of.
        MissingExtraError
            If approximate search is called for and faiss is not installed.
        """
        if bool(is_constant(features).all()):
            raise InputError(
                f"All feature rows of {name} are equal, so they say nothing about which rows are alike; "
                "give other features, or none if all ids are common."
            )
        table = scaled(features, standardised=standardised)
        count = min(count, len(table) - 1)
        if search == "exact" or (search == "auto" and exact_is_affordable(table)):
            return cls._measured(table, exact_neighbours(table, count), 1.0, standardised)
        faiss = require("faiss", extra="neighbours", purpose=f"Approximate neighbour search over {len(table):,} rows")
        indices, recall = approximate_neighbours(table, count, faiss=faiss, rng=rng)
        if recall < LEAST_RECALL:
            warnings.warn(
                f"The neighbour search over {name} found {recall:.0%} of the true neighbours; project the features "
                "to fewer dimensions, or ask for exact search.",
                ManifuseWarning,
                stacklevel=2,
            )
        return cls._measured(table, indices, recall, standardised)

    @classmethod
    def _measured(cls, table: FloatArray, indices: IndexArray, recall: float, standardised: bool) -> Neighbours:
        start = np.repeat(np.arange(len(table)), indices.shape[1])
        distances = squared_distances(table, start, indices.ravel()).reshape(indices.shape)
        return cls(table, indices, distances, recall, standardised)


@dataclass(frozen=True, eq=False)
class FeatureGraph:
    """Neighbour graph with feature weights ``W^x``; predictions re-weight it, the edges stay.

    Attributes
    ----------
    pattern : (n, n) CSR array of ones
    weights : (edges,) array
        ``W^x`` in the storage order of ``pattern``.
    scales : (n,) array
        Local scales, twice the mean squared distance to the neighbours.
    neighbours : int
        Of every row (N).
    standardised : bool
        Whether the features were, before distances were taken.
    """

    pattern: SparseMatrix
    weights: FloatArray
    scales: FloatArray
    neighbours: int
    standardised: bool

    @classmethod
    def of(cls, neighbours: Neighbours, count: int) -> FeatureGraph:
        """Build the graph of the ``count`` nearest neighbours, joined where either end names the other."""
        indices, distances = neighbours.indices[:, :count], neighbours.distances[:, :count]
        scales = local_scales(distances)
        pattern = edge_pattern(indices)
        start, stop = edge_ends(pattern)
        weights = feature_weights(edge_values(pattern, indices, distances), scales[start], scales[stop])
        return cls(pattern, weights, scales, indices.shape[1], neighbours.standardised)

    def affinity(self, predictions: FloatArray, scale: float) -> SparseMatrix:
        """Normalised affinity ``I - Laplacian`` under the weights ``W^x * W^f`` (eq. 14).

        Parameters
        ----------
        predictions : (n,) array
            Standardised, so that ``scale`` has no unit.
        scale : float
            ``sigma_f^2``, positive; infinity leaves the features alone to weigh.
        """
        return normalised_affinity(self.pattern, self.joint_weights(predictions, scale))

    def degrees(self, predictions: FloatArray, scale: float) -> FloatArray:
        """Row sums of ``W^x * W^f``, the diagonal of ``D`` in eq. 14, shape (n,)."""
        start, _ = edge_ends(self.pattern)
        weights = self.joint_weights(predictions, scale)
        return np.bincount(start, weights, minlength=len(self.scales)).astype(np.float64)

    def joint_weights(self, predictions: FloatArray, scale: float) -> FloatArray:
        """``W^x * W^f`` per edge."""
        start, stop = edge_ends(self.pattern)
        return np.asarray(self.weights * prediction_weights(predictions[start] - predictions[stop], scale))


def scaled(features: FloatArray, *, standardised: bool, like: FloatArray | None = None) -> FloatArray:
    """Features as distances see them: centred, even where they are not standardised, so that no offset costs digits.

    Parameters
    ----------
    features : (q, d) array
    standardised : bool
    like : (n, d) array, optional
        Whose means and deviations are taken, if not their own.
    """
    if like is None:
        return standardise(features) if standardised else centre(features)
    table: FloatArray = features - like.mean(axis=0)
    return table / np.where(is_constant(like), np.inf, like.std(axis=0)) if standardised else table
