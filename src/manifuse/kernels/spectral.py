"""One step of the f-diffusion (eq. 4 to 7, 9 and 10) in coefficient space, for a whole batch of hyperparameters.

The columns ``Z = [unit(f), unit(B g^1), ...]`` stay fixed, and every iterate is ``Z a``. Eq. 9 becomes ``S = Z M``
with ``M = [a, diag(sqrt(d w))]``. Its leading left singular vector (eq. 10) is ``Z M v``, where ``v`` is the
leading eigenvector of ``M' K M`` and ``K = Z' Z``. So a step costs O(m³) for any number of rows.
"""

import numpy as np

from manifuse.kernels.arrays import FloatArray


def reference_weights(alignments: FloatArray, scale: FloatArray) -> FloatArray:
    """Compute ``exp(-(1 - <f, g>²) / sigma²)`` (eq. 5, with the sign that the paper's text describes), in (0, 1]."""
    return np.asarray(np.exp(-(1.0 - alignments**2) / scale))


def diffusion_step(
    coefficients: FloatArray,
    gram: FloatArray,
    origin: FloatArray,
    active: FloatArray,
    step: FloatArray,
    scale: FloatArray,
) -> FloatArray:
    """Advance ``f`` in every cell to the maximiser of the score functional (eq. 7).

    The paper diffuses all predictors over their graph (eq. 4), by implicit Euler steps (eq. 6). It keeps the
    references fixed and replaces the step of ``f`` by eq. 7. The maximiser is the leading left singular
    vector (eq. 10) of the matrix ``S`` of ``f`` and the weighted references (eq. 9). The weights (eq. 5) are those of
    the current ``f``.

    Parameters
    ----------
    coefficients : (cells, m + 1) array
        The current ``f = Z a``, of unit norm.
    gram : (m + 1, m + 1) array
        ``Z' Z``.
    origin : (m + 1,) array
        ``Z' unit(f(0))``. The new ``f`` gets the sign that agrees with ``f(0)`` (eq. 10, whose print turns it around).
    active : (m,) array
        1 for a reference that takes part, 0 for one that does not.
    step : (cells,) array
        The step size (delta) of each cell.
    scale : (cells,) array
        The weight scale (sigma²) of each cell.

    Returns
    -------
    (cells, m + 1) array
        The new ``f``, of unit norm.
    """
    alignments = coefficients @ gram[:, 1:]
    shares = step[:, None] * reference_weights(alignments, scale[:, None]) * active
    mixing = np.zeros((*coefficients.shape, coefficients.shape[1]))
    mixing[:, :, 0] = coefficients
    reference = np.arange(1, coefficients.shape[1])
    mixing[:, reference, reference] = np.sqrt(shares)
    small = np.swapaxes(mixing, 1, 2) @ gram @ mixing
    leading = np.linalg.eigh(small).eigenvectors[:, :, -1:]
    advanced = (mixing @ leading)[:, :, 0]
    norms = np.sqrt(np.einsum("ci,ij,cj->c", advanced, gram, advanced))
    signs = np.where(advanced @ origin < 0, -1.0, 1.0)
    return np.asarray(advanced * (signs / norms)[:, None])
