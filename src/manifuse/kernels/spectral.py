"""One step of the f-diffusion (eq. 5-10), for a whole batch of hyperparameters, in coefficient space.

With ``Z = [unit(f), unit(B g^1), ...]`` every iterate is ``Z a``. The leading left singular vector of
``S = Z M``, ``M = [a, diag(sqrt(d w))]``, is ``Z M v`` with ``v`` the leading eigenvector of ``M' K M`` and
``K = Z' Z``: a step costs O(m³) whatever the number of rows.
"""

import numpy as np

from manifuse.kernels.arrays import FloatArray


def reference_weights(alignments: FloatArray, scale: FloatArray) -> FloatArray:
    """``exp(-(1 - <f, g>²) / sigma²)`` (eq. 5, with the sign that its text calls for), in (0, 1]."""
    return np.asarray(np.exp(-(1.0 - alignments**2) / scale))


def diffusion_step(
    coefficients: FloatArray,
    gram: FloatArray,
    origin: FloatArray,
    active: FloatArray,
    step: FloatArray,
    scale: FloatArray,
) -> FloatArray:
    """Advance ``f`` by one maximisation of the score functional (eq. 7), cell by cell.

    Parameters
    ----------
    coefficients : (cells, m + 1) array
        The current ``f = Z a``, of unit norm.
    gram : (m + 1, m + 1) array
        ``Z' Z``.
    origin : (m + 1,) array
        ``Z' unit(f(0))``: the sign of the new ``f`` is the one that agrees with ``f(0)``.
    active : (m,) array
        1 for a reference that takes part, 0 for one that does not.
    step : (cells,) array
        The step size (delta) of each cell.
    scale : (cells,) array
        The weight scale (sigma²) of each cell.

    Returns
    -------
    (cells, m + 1) array
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
