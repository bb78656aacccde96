"""One factor: whether predictors predict the same thing, by how their scores correlate.

If they do, each is the common truth times its loading, plus noise of its own (Spearman 1904). Its loading is its
correlation with that truth, and two predictors correlate by the product of their loadings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.kernels.arrays import BoolArray, FloatArray

#: Root mean square of the correlations that one factor leaves, above which the predictors do not predict the same.
MOST_RESIDUAL = 0.1

#: A smaller loading means that a predictor has nothing to do with the others.
LEAST_LOADING = 0.1

#: A reference with a smaller loading predicts a related thing in reverse. Then others may predict related things, too.
MOST_OPPOSED = -0.4

#: Fewest references for which one factor can fail, and fewest pairs that two references must have in common.
FEWEST_REFERENCES, FEWEST_SHARED = 3, 10

#: Bounds on a predictor's common variance, and iterations that find it.
COMMON, ITERATIONS = (0.01, 0.97), 300


@dataclass(frozen=True, eq=False)
class OneFactor:
    """The one-factor model of a main predictor and its references.

    Attributes
    ----------
    correlated : (m + 1, m + 1) array
        Correlations of the main predictor and of the references; NaN where two share too few pairs.
    loadings : (m + 1,) array
        In [-1, 1]; their sum is not negative. NaN if there is no reference, or a correlation is not known.
    """

    correlated: FloatArray
    loadings: FloatArray

    @classmethod
    def of(cls, main: FloatArray, known: FloatArray) -> Self:
        """Fit the model to scores: of the main predictor (n,), and of references (n, m), NaN but at their pairs."""
        return cls.of_correlations(correlations(np.column_stack([main, known])))

    @classmethod
    def of_correlations(cls, correlated: FloatArray) -> Self:
        """Fit the model to correlations (m + 1, m + 1) by principal axes."""
        count = len(correlated)
        if count == 1 or not np.isfinite(correlated).all():
            return cls(correlated, np.full(count, np.nan))
        if count == 2:
            # Two predictors say only the product of their loadings.
            loading = np.sqrt(abs(correlated[0, 1]))
            return cls(correlated, np.array([loading, np.copysign(loading, correlated[0, 1])]))
        reduced, common = correlated.copy(), np.full(count, 0.5)
        loadings = np.sqrt(common)
        for _ in range(ITERATIONS):
            np.fill_diagonal(reduced, common)
            values, vectors = np.linalg.eigh(reduced)
            loadings = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
            common = np.clip(loadings**2, *COMMON)
        return cls(correlated, loadings * (1.0 if loadings.sum() >= 0 else -1.0))

    @property
    def left(self) -> FloatArray:
        """What the model leaves of the correlations (m + 1, m + 1); 0 on the diagonal."""
        left = self.correlated - np.outer(self.loadings, self.loadings)
        np.fill_diagonal(left, 0.0)
        return left

    @property
    def residual(self) -> float:
        """Root mean square of the correlations that are left; NaN if there are no loadings."""
        count = len(self.loadings)
        return float(np.sqrt(np.sum(self.left**2) / (count * (count - 1)))) if count > 1 else np.nan

    @property
    def fails(self) -> bool:
        """Whether not all predict the same thing; without loadings, whether a reference speaks in reverse."""
        if np.isnan(self.loadings).any():
            return bool((self.correlated[0, 1:] < 0).any())
        return bool(self.residual > MOST_RESIDUAL or self.loadings.min() < LEAST_LOADING)

    @property
    def share(self) -> float:
        """The main predictor's loading, in units of the references' mean; NaN if they cannot be had."""
        return float(self.loadings[0] / self.loadings[1:].mean()) if len(self.loadings) > 1 else np.nan

    @property
    def weights(self) -> FloatArray:
        """Weights (m,) of the references in the consensus that predicts the common truth best; alike if not known."""
        references = self.loadings[1:]
        if np.isnan(references).any():
            return np.where(self.correlated[0, 1:] < 0, -1.0, 1.0)
        return np.asarray(references / (1.0 - np.clip(references**2, *COMMON)))

    @property
    def worst(self) -> int:
        """The predictor that has least to do with the others; if all have, the one that the model fits worst."""
        if self.loadings.min() < LEAST_LOADING:
            return int(self.loadings.argmin())
        return int((self.left**2).sum(axis=0).argmax())

    def of_most(self) -> tuple[BoolArray, OneFactor]:
        """Leave out the few references that predict something else than the main predictor and the others do.

        While the model fails, the predictor that fits it worst is left out. None is left out if that is the main
        predictor, if it predicts a related thing in reverse, or if fewer than `FEWEST_REFERENCES` or not more than
        half of the references would be left.

        Returns
        -------
        kept : (m,) array of bool
            The references that are left.
        model : OneFactor
            Of the main predictor and of these.
        """
        count, model = len(self.loadings) - 1, self
        left = np.arange(count + 1)
        while model.fails and np.isfinite(model.loadings).all():
            worst = model.worst
            left = np.delete(left, worst)
            references = len(left) - 1
            few = references < FEWEST_REFERENCES or 2 * references <= count
            if few or worst == 0 or model.loadings[worst] < MOST_OPPOSED:
                return np.full(count, True), self
            model = OneFactor.of_correlations(self.correlated[np.ix_(left, left)])
        return np.isin(np.arange(1, count + 1), left), model


def correlations(columns: FloatArray) -> FloatArray:
    """Correlations of columns (n, k) at the rows that both have; NaN where these are too few."""
    count = columns.shape[1]
    found = np.eye(count)
    for i in range(count):
        for j in range(i):
            both = np.isfinite(columns[:, i]) & np.isfinite(columns[:, j])
            enough = both.sum() >= FEWEST_SHARED
            found[i, j] = found[j, i] = correlation(columns[both, i], columns[both, j]) if enough else np.nan
    return found


def correlation(a: FloatArray, b: FloatArray) -> float:
    """Correlation of two columns (n,); 0 if one is constant."""
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / norm if norm > 0 else 0.0
