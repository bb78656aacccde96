"""MTL¹ and MTL²: multi-task learners that pull a ranker towards given references (section 3.2.1, C and D).

Both see what the method never asks for: the references' parameters, and the features of all. All functions are of one
kernel's space; the linear ones are those of the linear kernel. In either baseline the penalty is
``total ||f - f_bar||²`` up to a constant, with ``f_bar`` a mixture of the references, so that one RankSVM with
``f_bar`` as an offset solves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.order import ranks
from manifuse.study.ranking.accuracy import ranking_accuracy
from manifuse.study.ranking.ranksvm import RankSVM, product_with, solve_ranksvm

#: What validation chooses from: factors of Ind's own penalty, pulls in units of it, and scales of the squared
#: distances of the references from the ranker that the labels alone make. 60 cells; the method looks at 56.
PENALTY_FACTORS = (0.1, 1.0, 10.0)
PULLS = (0.01, 0.1, 1.0, 10.0, 100.0)
SCALES = (0.1, 0.3, 1.0, np.inf)

#: Rounds of re-weighting (eq. 21 has weights that depend on the solution), and the change of weights that ends them.
ROUNDS, SETTLED = 10, 1e-3

#: Pulls of MTL², in units of Ind's own penalty.
SINGLE_PULLS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True, eq=False)
class SharedSpace:
    """One kernel space with everything the two learners need to know of it.

    Attributes
    ----------
    kernel : (l, l) array
        Of the training rows.
    grades : (l,) array of int
    inside : (l, m) array
        Reference functions on the training rows.
    gram : (m, m) array
        Inner products of the reference functions.
    penalty : float
        Ind's own (lambda^S).
    crossing : (q, l) array
        Kernel between the rows to be predicted and the training rows.
    outside : (q, m) array
        Reference functions on the rows to be predicted.
    """

    kernel: FloatArray
    grades: IndexArray
    inside: FloatArray
    gram: FloatArray
    penalty: float
    crossing: FloatArray
    outside: FloatArray

    @classmethod
    def of(cls, main: RankSVM, labels: FloatArray, references: Sequence[RankSVM], rows: FloatArray) -> SharedSpace:
        """Put rankers of one kernel and width together.

        Parameters
        ----------
        main : RankSVM
            Fitted to the training rows and ``labels`` (l,).
        references : sequence of RankSVM
            Fitted to rows of their own, with the same kernel and width.
        rows : (q, d) array
            To be predicted.
        """

        def kernel(a: FloatArray, b: FloatArray) -> FloatArray:
            values: Any = linear_kernel(a, b) if main.kernel == "linear" else rbf_kernel(a, b, gamma=1.0 / main.width_)
            return np.asarray(values)

        support = np.vstack([reference.rows_ for reference in references])
        coefficients = np.zeros((len(support), len(references)))
        first = 0
        for place, reference in enumerate(references):
            coefficients[first : first + len(reference.rows_), place] = reference.coefficients_
            first += len(reference.rows_)
        return cls(
            kernel=kernel(main.rows_, main.rows_),
            grades=ranks(labels),
            inside=kernel(main.rows_, support) @ coefficients,
            gram=coefficients.T @ kernel(support, support) @ coefficients,
            penalty=main.penalty,
            crossing=kernel(rows, main.rows_),
            outside=np.column_stack([reference.predict(rows) for reference in references]),
        )

    def solve(self, total: float, mixture: FloatArray, start: FloatArray | None) -> FloatArray:
        """Minimise the rank energy with ``total ||f - sum of mixture * references||²``; coefficients of the rest."""
        a, _ = solve_ranksvm(
            product_with(self.kernel), self.grades, total, offset=self.inside @ mixture, start=start, tolerance=1e-5
        )
        return a

    def squared_distances(self, a: FloatArray, mixture: FloatArray) -> FloatArray:
        """``||f - f^k||²`` of ``f = K a + sum of mixture * references`` from every reference, shape (m,)."""
        with_references = self.inside.T @ a + self.gram @ mixture
        own = a @ self.kernel @ a + 2.0 * mixture @ (self.inside.T @ a) + mixture @ self.gram @ mixture
        return np.asarray(np.maximum(own - 2.0 * with_references + np.diag(self.gram), 0.0))

    def predict(self, a: FloatArray, mixture: FloatArray) -> FloatArray:
        """Scores of the rows to be predicted, shape (q,)."""
        return np.asarray(self.crossing @ a + self.outside @ mixture)


@dataclass(frozen=True, eq=False)
class Learned:
    """What a learner made of one space.

    Attributes
    ----------
    predictions : (q,) array
    validation_accuracy : float
    hyperparameters : dict
    """

    predictions: FloatArray
    validation_accuracy: float
    hyperparameters: dict[str, object]


def mtl1(space: SharedSpace, validation: IndexArray, labels: FloatArray) -> Learned:
    """Evgeniou and Pontil's penalty on deviations with adaptive weights (eq. 21), tuned on validation rows.

    Parameters
    ----------
    space : SharedSpace
    validation : (v,) array of int
        Places among the rows to be predicted.
    labels : (v,) array

    Notes
    -----
    The weights ``exp(-||w - w^k||² / sigma_w²)`` depend on the solution: they are taken from the last one, first
    from the ranker without references, until they settle.
    """
    m = len(space.gram)
    best = None
    for factor in PENALTY_FACTORS:
        penalty = factor * space.penalty
        alone = space.solve(penalty, np.zeros(m), None)
        unit = float(np.median(space.squared_distances(alone, np.zeros(m)))) or 1.0
        for pull, scale in product(PULLS, SCALES):
            a, mixture = solve_mtl1(space, penalty, pull * space.penalty, scale * unit, alone)
            predictions = space.predict(a, mixture)
            reached = ranking_accuracy(labels, predictions[validation])
            if best is None or reached > best.validation_accuracy:
                chosen = {"penalty": penalty, "pull": pull * space.penalty, "scale": scale * unit}
                best = Learned(predictions, reached, _plain(chosen))
    assert best is not None, "the grid is not empty"
    return best


def solve_mtl1(
    space: SharedSpace, penalty: float, pull: float, scale: float, alone: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Minimise eq. 21, re-weighting until the weights settle.

    Returns
    -------
    a : (l,) array
        Coefficients of the training rows.
    mixture : (m,) array
        Of the references; the solution is ``K a + sum of mixture * references``.
    """
    a, mixture = alone, np.zeros(len(space.gram))
    before = np.full(len(space.gram), np.inf)
    for _ in range(ROUNDS):
        weights = np.exp(-space.squared_distances(a, mixture) / scale)
        if np.abs(weights - before).max() <= SETTLED:
            break
        before = weights
        total = penalty + pull * float(weights.sum())
        mixture = pull * weights / total
        a = space.solve(total, mixture, a)
    return a, mixture


def mtl2(space: SharedSpace, validation: IndexArray, labels: FloatArray) -> Learned:
    """Pentina et al.'s pull towards the single best reference, chosen with its strength on validation rows."""
    best = None
    for reference in range(len(space.gram)):
        mixture = np.zeros(len(space.gram))
        mixture[reference] = 1.0
        a = None
        for pull in reversed(SINGLE_PULLS):
            a = space.solve(pull * space.penalty, mixture, a)
            predictions = space.predict(a, mixture)
            reached = ranking_accuracy(labels, predictions[validation])
            if best is None or reached > best.validation_accuracy:
                best = Learned(predictions, reached, {"reference": reference, "pull": pull * space.penalty})
    assert best is not None, "the grid is not empty"
    return best


def _plain(chosen: dict[str, float]) -> dict[str, object]:
    """Name an infinite scale in words: JSON has no infinity."""
    return {name: value if np.isfinite(value) else "infinite" for name, value in chosen.items()}
