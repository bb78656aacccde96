"""MTL¹ and MTL²: multi-task learners that pull a ranker towards given references (section 3.2.1, C and D).

Both see what the paper's method never asks for: the references' parameters, and the features of all. All functions
are in the space of one kernel; linear functions are in that of the linear kernel. In both baselines the penalty is
``total ||f - f_bar||²`` up to a constant, where ``f_bar`` is a mixture of the references. So one RankSVM with the
offset ``f_bar`` solves it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import block_diag

from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse_study.baselines.learned import RefittableLesson
from manifuse_study.ranking.ranksvm import RankSVM, product_with, ranks, solve_ranksvm

#: The grid of MTL¹: factors of Ind's own penalty, pulls in units of it, and scales of the squared distances of the
#: references from the ranker that the labels alone give. These are 60 cells; the paper's method has 56.
PENALTY_FACTORS = (0.1, 1.0, 10.0)
PULLS = (0.01, 0.1, 1.0, 10.0, 100.0)
SCALES = (0.1, 0.3, 1.0, np.inf)

#: Rounds of re-weighting (eq. 21 has weights that depend on the solution), and the change of weights that ends them.
ROUNDS, SETTLED = 10, 1e-3

#: Coefficients of the training rows (l,), those of the references (m,), and the hyperparameters that lead to them.
Cell = tuple[FloatArray, FloatArray, dict[str, object]]

#: Pulls of MTL², in units of Ind's own penalty.
SINGLE_PULLS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True, eq=False)
class SharedSpace:
    """One kernel space with everything that the two learners need.

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
        Kernel between the rows to predict and the training rows.
    outside : (q, m) array
        Reference functions on the rows to predict.
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
            Rows to predict.
        """
        kernel = main.kernel_between
        support = np.vstack([reference.rows_ for reference in references])
        coefficients = block_diag(*(reference.coefficients_[:, None] for reference in references))
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
        """Minimise the rank energy with ``total ||f - sum of mixture * references||²``.

        Returns
        -------
        (l,) array
            Coefficients of what is added to the mixture.
        """
        a, _ = solve_ranksvm(
            product_with(self.kernel), self.grades, total, offset=self.inside @ mixture, start=start, tolerance=1e-5
        )
        return a

    def squared_distances(self, a: FloatArray, mixture: FloatArray) -> FloatArray:
        """``||f - f^k||²`` for ``f = K a + sum of mixture * references`` and every reference ``f^k``, shape (m,)."""
        with_references = self.inside.T @ a + self.gram @ mixture
        own = a @ self.kernel @ a + 2.0 * mixture @ (self.inside.T @ a) + mixture @ self.gram @ mixture
        return np.asarray(np.maximum(own - 2.0 * with_references + np.diag(self.gram), 0.0))

    def predict(self, a: FloatArray, mixture: FloatArray) -> FloatArray:
        """Scores of the rows to predict, shape (q,)."""
        return np.asarray(self.crossing @ a + self.outside @ mixture)


def mtl1(space: SharedSpace, validation: IndexArray, labels: FloatArray) -> RefittableLesson:
    """Evgeniou and Pontil's penalty on deviations with adaptive weights (eq. 21), tuned on validation rows.

    Parameters
    ----------
    space : SharedSpace
    validation : (v,) array of int
        Indices among the rows to predict.
    labels : (v,) array

    Notes
    -----
    The weights ``exp(-||w - w^k||² / sigma_w²)`` depend on the solution. They are computed from the last solution,
    at first from the ranker without references, until they settle.
    """

    def cells() -> Iterator[Cell]:
        nothing = np.zeros(len(space.gram))
        for factor in PENALTY_FACTORS:
            penalty = factor * space.penalty
            alone = space.solve(penalty, nothing, None)
            unit = float(np.median(space.squared_distances(alone, nothing))) or 1.0
            for pull, scale in product((each * space.penalty for each in PULLS), SCALES):
                a, mixture = solve_mtl1(space, penalty, pull, scale * unit, alone)
                # JSON has no infinity.
                shown = scale * unit if np.isfinite(scale) else "infinite"
                yield a, mixture, {"penalty": penalty, "pull": pull, "scale": shown}

    return _best(space, cells(), validation, labels)


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


def mtl2(space: SharedSpace, validation: IndexArray, labels: FloatArray) -> RefittableLesson:
    """Pentina et al.'s pull towards the single best reference, both chosen on validation rows; see `mtl1`."""

    def cells() -> Iterator[Cell]:
        for reference, mixture in enumerate(np.eye(len(space.gram))):
            a = None
            for pull in reversed(SINGLE_PULLS):
                a = space.solve(pull * space.penalty, mixture, a)
                yield a, mixture, {"reference": reference, "pull": pull * space.penalty}

    return _best(space, cells(), validation, labels)


def _best(space: SharedSpace, cells: Iterable[Cell], validation: IndexArray, labels: FloatArray) -> RefittableLesson:
    """The cell that is best on the validation rows, the first of equals."""
    predicted = ((space.predict(a, mixture), hyperparameters) for a, mixture, hyperparameters in cells)
    learned = (RefittableLesson(p, ranking_accuracy(labels, p[validation]), chosen) for p, chosen in predicted)
    return max(learned, key=lambda each: each.validation_accuracy)
