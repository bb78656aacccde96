"""RankSVM, linear and Gaussian (eq. 19-20), by Newton's method in the primal."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from manifuse.errors import InputError
from manifuse.kernels.arrays import BoolArray, FloatArray


class RankSVM(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Rank rows by the squared hinge over all pairs with different labels (eq. 19-20).

    Minimises ``sum over (i, j) of max(0, 1 - (f(x_i) - f(x_j)))² + penalty ||f||²`` where label i exceeds
    label j, over linear ``f`` or over the functions of a Gaussian kernel. Both are solved for the
    coefficients of the training rows, ``f = K a``, so that a step costs O(l³) for l rows, pairs apart.

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
        above = np.asarray(y)[:, None] > np.asarray(y)[None, :]
        self.coefficients_, self.converged_ = solve_ranksvm(
            self._kernel(X), above, self.penalty, steps=self.steps, tolerance=self.tolerance
        )
        return self

    def predict(self, X: Any) -> FloatArray:
        """Scores of rows, shape (q,); only their order and relative distances mean anything."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(self._kernel(X) @ self.coefficients_)

    def _kernel(self, X: FloatArray) -> FloatArray:
        if self.kernel == "linear":
            return np.asarray(linear_kernel(X, self.rows_))
        return np.asarray(rbf_kernel(X, self.rows_, gamma=1.0 / self.width_))


def solve_ranksvm(
    kernel: FloatArray, above: BoolArray, penalty: float, *, steps: int, tolerance: float
) -> tuple[FloatArray, bool]:
    """Minimise the regularised rank energy (eq. 19) over ``f = kernel @ a`` by damped Newton steps.

    With ``A`` the pairs inside the margin and ``L`` the Laplacian of the graph they make, the energy is
    quadratic near ``f``, and its minimiser solves ``(penalty I + L K) a = A 1 - A' 1``.

    Parameters
    ----------
    kernel : (l, l) array
    above : (l, l) array of bool
        Whether row i is to stand above row j.
    penalty : float

    Returns
    -------
    a : (l,) array
    converged : bool
    """
    a = np.zeros(len(kernel))
    energy, inside = _energy(a, kernel, above, penalty)
    first = None
    for _ in range(steps):
        laplacian = np.diag(inside.sum(axis=0) + inside.sum(axis=1)) - inside - inside.T
        pull = inside.sum(axis=1) - inside.sum(axis=0)
        residual = penalty * a + laplacian @ (kernel @ a) - pull
        # The gradient is twice kernel @ residual; where the residual vanishes, so does it.
        norm = float(np.linalg.norm(kernel @ residual))
        first = norm if first is None else first
        if norm <= tolerance * first:
            return a, True
        system = laplacian @ kernel
        system[np.diag_indices_from(system)] += penalty
        direction = np.linalg.solve(system, pull) - a
        size = 1.0
        while size > 1e-10:
            candidate = a + size * direction
            reached, within = _energy(candidate, kernel, above, penalty)
            if reached < energy:
                break
            size /= 2.0
        else:
            # No decrease along the Newton direction: the energy is at its floor of rounding.
            return a, True
        a, energy, inside = candidate, reached, within
    return a, False


def _energy(a: FloatArray, kernel: FloatArray, above: BoolArray, penalty: float) -> tuple[float, FloatArray]:
    """Regularised rank energy, and which pairs stand inside the margin, as 0 and 1."""
    scores = kernel @ a
    slack = np.where(above, 1.0 - (scores[:, None] - scores[None, :]), 0.0)
    np.maximum(slack, 0.0, out=slack)
    return float(np.sum(slack**2) + penalty * (a @ scores)), (slack > 0).astype(np.float64)
