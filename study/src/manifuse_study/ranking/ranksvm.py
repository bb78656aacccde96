"""RankSVM, linear and Gaussian (eq. 19-20), by Newton's method in the primal, without listing the pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse_study.ranking.pair_ranges import PairRanges, pairs_within

#: ``K @ x`` for vectors (l,) of the training rows.
KernelProduct = Callable[[FloatArray], FloatArray]

#: Upper bound on Newton steps.
STEPS = 100


@dataclass(eq=False, repr=False)
class RankSVM(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Rank rows by the squared hinge over all pairs with different labels (eq. 19-20).

    Minimises ``sum over (i, j) of max(0, 1 - (f(x_i) - f(x_j)))² + penalty ||f||²`` where label i exceeds
    label j, over linear ``f`` or over the functions of a Gaussian kernel. Both are solved for the
    coefficients of the training rows, ``f = K a``.

    Parameters
    ----------
    kernel : {"linear", "gaussian"}
        ``"gaussian"`` is ``exp(-||x - x'||² / width)``.
    penalty : float
        Regularisation (lambda^S), positive.
    width : float or None
        Kernel width (sigma_S²), positive; None: the mean squared distance of the training rows.

    Attributes
    ----------
    coefficients_ : (l,) array
    rows_ : (l, d) array
        The training rows.
    width_ : float
        The kernel width used.
    converged_ : bool
        Whether the gradient became small enough within the steps allowed.

    Notes
    -----
    The l(l - 1)/2 pairs are never listed: those inside the margin are O(l log l) ranges of sorted rows, and a
    product with their Laplacian costs as much. The Newton system is solved by conjugate gradients with one
    product with the kernel per iteration.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0)[:, None]
    >>> RankSVM(kernel="linear").fit(X, [0, 0, 1, 1, 2, 2]).predict(X).argsort().tolist()
    [0, 1, 2, 3, 4, 5]
    """

    kernel: Literal["linear", "gaussian"] = "linear"
    _: KW_ONLY
    penalty: float = 1.0
    width: float | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Learn to order rows by their labels.

        Parameters
        ----------
        X : (l, d) array
        y : (l,) array of numbers
            Graded labels, larger is better.

        Raises
        ------
        InputError
            If a parameter is out of range.
        """
        if self.kernel not in ("linear", "gaussian"):
            raise InputError(f"kernel={self.kernel!r} came, but 'linear' or 'gaussian' was expected.")
        if not self.penalty > 0 or not (self.width is None or self.width > 0):
            raise InputError(
                f"penalty={self.penalty!r} and width={self.width!r} came, but positive numbers were expected."
            )
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self.rows_ = X
        self.width_ = float(self.width or 2.0 * X.var(axis=0).sum() or 1.0)
        self.coefficients_, self.converged_ = solve_ranksvm(self._product(X), ranks(np.asarray(y)), self.penalty)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Scores of rows, shape (q,); only their order and relative distances mean anything."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        if self.kernel == "linear":
            return np.asarray(X @ (self.rows_.T @ self.coefficients_))
        return np.asarray(self.kernel_between(X, self.rows_) @ self.coefficients_)

    def kernel_between(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Kernel values of rows (p, d) and rows (q, d), shape (p, q)."""
        return np.asarray(
            linear_kernel(a, b) if self.kernel == "linear" else rbf_kernel(a, b, gamma=1.0 / self.width_)
        )

    def _product(self, X: FloatArray) -> KernelProduct:
        if self.kernel == "linear" and 2 * X.shape[1] < len(X):
            return lambda x: np.asarray(X @ (X.T @ x))
        return product_with(self.kernel_between(X, X))


def product_with(kernel: FloatArray) -> KernelProduct:
    """Products with a kernel matrix (l, l)."""
    return lambda x: np.asarray(kernel @ x)


@dataclass(frozen=True, eq=False)
class _State:
    """Coefficients with their scores, their energy (eq. 19), and the graph of the pairs inside the margin.

    Attributes
    ----------
    a : (l,) array
    image : (l,) array
        ``K a``.
    scores : (l,) array
    energy : float
    inside : PairRanges
        The pairs inside the margin, ``A``.
    degrees : (l,) array
        Pairs of each row, ``A 1 + A' 1``.
    pull : (l,) array
        ``A 1 - A' 1``.
    """

    a: FloatArray
    image: FloatArray
    scores: FloatArray
    energy: float
    inside: PairRanges
    degrees: FloatArray
    pull: FloatArray

    def laplacian(self, values: FloatArray) -> FloatArray:
        """``L values`` with the Laplacian of the graph of pairs, shape (l,)."""
        return np.asarray(self.degrees * values - self.inside.sum_lower(values) - self.inside.sum_upper(values))


def ranks(labels: FloatArray) -> IndexArray:
    """Rank graded labels from 0, with equal ranks for equal labels, shape (n,)."""
    return np.asarray(np.unique(labels, return_inverse=True)[1])


def solve_ranksvm(
    kernel: KernelProduct,
    grades: IndexArray,
    penalty: float,
    *,
    offset: FloatArray | None = None,
    start: FloatArray | None = None,
    tolerance: float = 1e-8,
) -> tuple[FloatArray, bool]:
    """Minimise the regularised rank energy (eq. 19) over ``f = offset + K a`` by damped Newton steps.

    ``A`` are the pairs inside the margin and ``L`` is the Laplacian of the graph they make. Near ``f`` the energy is
    quadratic, and half its gradient is ``K (penalty a + L f - (A 1 - A' 1))``.

    Parameters
    ----------
    kernel : callable
        ``K @ x``.
    grades : (l,) array of int
        Ranks of the labels, counted from 0.
    penalty : float
        Of ``a' K a``.
    offset : (l,) array, optional
        Scores that are not penalised.
    start : (l,) array, optional
        Coefficients to start from; zero by default.
    tolerance : float
        Newton steps end when the gradient's norm is below this share of its largest value so far.

    Returns
    -------
    a : (l,) array
    converged : bool
        Whether the steps ended before their upper bound.
    """
    ones = np.ones(len(grades))
    base = np.zeros(len(grades)) if offset is None else offset

    def state(a: FloatArray, image: FloatArray) -> _State:
        scores = base + image
        inside = pairs_within(scores, grades, 1.0)
        lower, upper = inside.sum_lower(ones), inside.sum_upper(ones)
        # The sum over pairs of (1 - f_i + f_j)², multiplied out.
        slack, crossed = 1.0 - scores, inside.sum_lower(scores)
        loss = np.sum(lower * slack**2 + 2.0 * slack * crossed) + upper @ scores**2
        energy = float(loss + penalty * (a @ image))
        return _State(a, image, scores, energy, inside, lower + upper, lower - upper)

    first = np.zeros(len(grades)) if start is None else start
    current = state(first, kernel(first))
    largest = 0.0
    for _ in range(STEPS):
        residual = penalty * current.a + current.laplacian(current.scores) - current.pull
        norm = float(np.linalg.norm(kernel(residual)))
        largest = max(largest, norm)
        if norm <= tolerance * largest:
            return current.a, True
        accuracy = min(0.1, np.sqrt(norm / largest) / 10)
        direction, image = _newton_direction(kernel, current, penalty, residual, accuracy=accuracy)
        size = 1.0
        while size > 1e-10:
            candidate = state(current.a + size * direction, current.image + size * image)
            if candidate.energy < current.energy:
                break
            size /= 2.0
        else:
            # The energy does not decrease along the Newton direction, so it is minimal up to rounding.
            return current.a, True
        current = candidate
    return current.a, False


def _newton_direction(
    kernel: KernelProduct, state: _State, penalty: float, residual: FloatArray, *, accuracy: float
) -> tuple[FloatArray, FloatArray]:
    """Solve ``(penalty I + L K) d = -residual`` by conjugate gradients; return d and K d.

    The matrix is self-adjoint and positive in the inner product of ``K``, in which the iteration runs. So the kernel
    may be singular, and it needs no factor.
    """
    d, image = np.zeros_like(residual), np.zeros_like(residual)
    left = -residual
    left_image = kernel(left)
    direction, direction_image = left, left_image
    size = first = float(left @ left_image)
    for _ in range(len(residual)):
        if size <= accuracy**2 * first or size <= 0.0:
            break
        applied = penalty * direction + state.laplacian(direction_image)
        length = size / float(direction_image @ applied)
        d, image = d + length * direction, image + length * direction_image
        left = left - length * applied
        left_image = kernel(left)
        size, before = float(left @ left_image), size
        direction, direction_image = left + size / before * direction, left_image + size / before * direction_image
    return d, image
