"""RankSVM, linear and Gaussian (eq. 19-20), by Newton's method in the primal, without ever listing the pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.order import PairRanges, pairs_within, ranks

#: ``K @ x`` for vectors (l,) of the training rows.
KernelProduct = Callable[[FloatArray], FloatArray]


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
    steps : int
        Upper bound on Newton steps.
    tolerance : float
        Newton steps end when the gradient's norm is below this share of its first value.

    Attributes
    ----------
    coefficients_ : (l,) array
    rows_ : (l, d) array
        The training rows.
    width_ : float
        The kernel width used.
    converged_ : bool
        Whether the tolerance was met within the steps allowed.

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

    def __init__(
        self,
        kernel: Literal["linear", "gaussian"] = "linear",
        *,
        penalty: float = 1.0,
        width: float | None = None,
        steps: int = 100,
        tolerance: float = 1e-8,
    ) -> None:
        self.kernel = kernel
        self.penalty = penalty
        self.width = width
        self.steps = steps
        self.tolerance = tolerance

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
        spread = 2.0 * X.var(axis=0).sum()
        self.width_ = float(self.width if self.width is not None else spread if spread > 0 else 1.0)
        self.coefficients_, self.converged_ = solve_ranksvm(
            self._product(X), ranks(np.asarray(y)), self.penalty, steps=self.steps, tolerance=self.tolerance
        )
        return self

    def predict(self, X: Any) -> FloatArray:
        """Scores of rows, shape (q,); only their order and relative distances mean anything."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        if self.kernel == "linear":
            return np.asarray(X @ (self.rows_.T @ self.coefficients_))
        return np.asarray(rbf_kernel(X, self.rows_, gamma=1.0 / self.width_) @ self.coefficients_)

    def _product(self, X: FloatArray) -> KernelProduct:
        if self.kernel == "gaussian":
            return product_with(rbf_kernel(X, gamma=1.0 / self.width_))
        if 2 * X.shape[1] < len(X):
            return lambda x: np.asarray(X @ (X.T @ x))
        return product_with(linear_kernel(X))


def product_with(kernel: FloatArray) -> KernelProduct:
    """Products with a kernel matrix (l, l)."""
    return lambda x: np.asarray(kernel @ x)


@dataclass(frozen=True, eq=False)
class _State:
    """Coefficients, the scores they make, the pairs inside the margin and the energy (eq. 19)."""

    a: FloatArray
    image: FloatArray
    scores: FloatArray
    inside: PairRanges
    energy: float


def solve_ranksvm(
    kernel: KernelProduct,
    grades: IndexArray,
    penalty: float,
    *,
    offset: FloatArray | None = None,
    start: FloatArray | None = None,
    steps: int = 100,
    tolerance: float = 1e-8,
) -> tuple[FloatArray, bool]:
    """Minimise the regularised rank energy (eq. 19) over ``f = offset + K a`` by damped Newton steps.

    With ``A`` the pairs inside the margin and ``L`` the Laplacian of the graph they make, the energy is
    quadratic near ``f``, and half its gradient is ``K (penalty a + L f - (A 1 - A' 1))``.

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

    Returns
    -------
    a : (l,) array
    converged : bool
    """
    ones = np.ones(len(grades))
    base = np.zeros(len(grades)) if offset is None else offset

    def state(a: FloatArray, image: FloatArray) -> _State:
        scores = base + image
        inside = pairs_within(scores, grades, 1.0)
        # The sum over pairs of (1 - f_i + f_j)², multiplied out.
        slack, count = 1.0 - scores, inside.sum_lower(ones)
        crossed = inside.sum_lower(scores)
        loss = np.sum(count * slack**2 + 2.0 * slack * crossed) + inside.sum_upper(ones) @ scores**2
        return _State(a, image, scores, inside, float(loss + penalty * (a @ image)))

    first = np.zeros(len(grades)) if start is None else start
    current = state(first, kernel(first))
    largest = None
    for _ in range(steps):
        inside = current.inside
        degrees = inside.sum_lower(ones) + inside.sum_upper(ones)
        pull = inside.sum_lower(ones) - inside.sum_upper(ones)
        residual = penalty * current.a + _laplacian(inside, degrees, current.scores) - pull
        norm = float(np.linalg.norm(kernel(residual)))
        largest = norm if largest is None else max(largest, norm)
        if norm <= tolerance * largest:
            return current.a, True
        direction, image = _newton_direction(
            kernel, inside, degrees, penalty, residual, accuracy=min(0.1, np.sqrt(norm / largest) / 10)
        )
        size = 1.0
        while size > 1e-10:
            candidate = state(current.a + size * direction, current.image + size * image)
            if candidate.energy < current.energy:
                break
            size /= 2.0
        else:
            # No decrease along the Newton direction: the energy is at its floor of rounding.
            return current.a, True
        current = candidate
    return current.a, False


def _laplacian(inside: PairRanges, degrees: FloatArray, values: FloatArray) -> FloatArray:
    """``L values`` with the Laplacian of the graph of pairs."""
    return np.asarray(degrees * values - inside.sum_lower(values) - inside.sum_upper(values))


def _newton_direction(
    kernel: KernelProduct,
    inside: PairRanges,
    degrees: FloatArray,
    penalty: float,
    residual: FloatArray,
    *,
    accuracy: float,
) -> tuple[FloatArray, FloatArray]:
    """Solve ``(penalty I + L K) d = -residual`` by conjugate gradients; return d and K d.

    The matrix is self-adjoint and positive in the inner product of ``K``, in which the iteration is run: the kernel
    may be singular, and needs no factor.
    """
    d, image = np.zeros_like(residual), np.zeros_like(residual)
    left = -residual
    left_image = kernel(left)
    way, way_image = left, left_image
    size = first = float(left @ left_image)
    for _ in range(len(residual)):
        if size <= accuracy**2 * first or size <= 0.0:
            break
        turned = penalty * way + _laplacian(inside, degrees, way_image)
        length = size / float(way_image @ turned)
        d, image = d + length * way, image + length * way_image
        left = left - length * turned
        left_image = kernel(left)
        size, before = float(left @ left_image), size
        way, way_image = left + size / before * way, left_image + size / before * way_image
    return d, image
