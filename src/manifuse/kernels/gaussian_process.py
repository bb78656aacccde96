"""Gaussian process regression in closed form: one factorisation of an observations by observations matrix.

The covariance is a sum of given matrices, each with a variance, and of noise. The variances have a log-normal prior
and are set to their most probable values, so that a matrix that explains nothing ends near zero.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg.lapack import dpftrf, dpftri, dpftrs, dtrttf
from scipy.optimize import minimize

from manifuse.kernels.arrays import FloatArray, IndexArray

#: The prior of the logarithms of variances, in units of the variance of the targets: mean and standard deviation, of
#: the matrices and of the noise.
PART_PRIOR, NOISE_PRIOR = (-3.0, 1.5), (float(np.log(0.3)), 1.0)

#: The least variance of the noise. Features may explain a reference's scores exactly. Without any noise, rounding
#: would then decide where the search ends.
LEAST_NOISE = 1e-6

#: Standard deviations of the prior within which variances are searched, because a step may go far; and the height
#: outside, or where the covariance has no factor.
FARTHEST, OUTSIDE = 20.0, 1e6

#: When the search for the variances ends: after so many iterations, or with a gain or slopes as small as these. With
#: larger ones it ends where rounding tells it to, sometimes far from the best variances.
ITERATIONS, LEAST_GAIN, LEAST_SLOPE = 60, 1e-12, 1e-6


def fit_variances(parts: FloatArray, fixed: FloatArray, targets: FloatArray) -> FloatArray:
    """Find the most probable variances.

    Parameters
    ----------
    parts : (k, p, p) array
        Covariances of the observations that a variance each multiplies.
    fixed : (p, p) array
        A covariance that is added as it is.
    targets : (p, t) array
        Observations of t functions, about mean 0 and variance 1, that have the variances in common.

    Returns
    -------
    (k + 1,) array
        Positive; the noise comes last.
    """
    count, (size, functions) = len(parts), targets.shape
    means = np.array([PART_PRIOR[0]] * count + [NOISE_PRIOR[0]])
    deviations = np.array([PART_PRIOR[1]] * count + [NOISE_PRIOR[1]])
    least = np.array([0.0] * count + [LEAST_NOISE])
    # Of symmetric matrices one half is enough. LAPACK packs it into a rectangle, and keeps its speed.
    places = dtrttf(np.arange(size * size, dtype=np.float64).reshape(size, size))[0].astype(np.intp)
    rows, columns = np.divmod(places, size)
    halves, fixed_half = parts.reshape(count, -1)[:, places], fixed.ravel()[places]
    diagonal = rows == columns
    times = np.where(diagonal, 1.0, 2.0)

    def negative_log_posterior(place: FloatArray) -> tuple[float, FloatArray]:
        # A place has logarithms of variances, in deviations of the prior: so they vary alike, and the search is short.
        # Outside the value is finite, because the search would go on from an infinity with NaN.
        outside = OUTSIDE * (1.0 + float(place @ place)), 2.0 * OUTSIDE * place
        if np.abs(place).max() > FARTHEST:
            return outside
        varying = np.exp(means + deviations * place)
        variances = varying + least
        packed = variances[:-1] @ halves + fixed_half + variances[-1] * diagonal
        factor, failed = dpftrf(size, packed, overwrite_a=True)
        if failed:
            return outside
        weights = dpftrs(size, factor, targets)[0]
        likelihood = 0.5 * np.sum(targets * weights) + functions * np.log(factor[diagonal]).sum()
        slopes = functions * dpftri(size, factor, overwrite_a=True)[0] - (weights @ weights.T)[rows, columns]
        of_parts = halves @ (slopes * times)
        gradient = 0.5 * varying * np.append(of_parts, slopes[diagonal].sum())
        return float(likelihood + 0.5 * place @ place), deviations * gradient + place

    found = minimize(
        negative_log_posterior,
        np.zeros(count + 1),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": ITERATIONS, "ftol": LEAST_GAIN, "gtol": LEAST_SLOPE},
    )
    return np.asarray(np.exp(means + deviations * found.x) + least)


def covariance_of(parts: FloatArray, fixed: FloatArray, variances: FloatArray) -> FloatArray:
    """Add the parts (k, p, p) by their variances (k + 1,), the fixed covariance and the noise, shape (p, p)."""
    total = np.tensordot(variances[:-1], parts, axes=1) + fixed
    total[np.diag_indices(len(total))] += variances[-1]
    return np.asarray(total)


def predict_without(
    inverse: FloatArray,
    targets: FloatArray,
    crossing: FloatArray,
    prior: FloatArray,
    rows: Sequence[IndexArray],
    unseen: Sequence[IndexArray],
) -> tuple[FloatArray, FloatArray]:
    """Predict rows, fold by fold, by the observations that are left when some are taken out.

    Parameters
    ----------
    inverse : (p, p) array
        Of the covariance of the observations.
    targets : (p, t) array
    crossing : (l, p) array
        Covariances of the rows with the observations.
    prior : (l,) array
        Variances of the rows before anything is observed.
    rows, unseen : sequences of arrays of int
        The rows of each fold, and the observations that they must not see.

    Returns
    -------
    values : (l, t) array
        Rows that are in no fold are predicted by all observations.
    variances : (l,) array
        Without the noise.
    """
    weights, gains = inverse @ targets, crossing @ inverse
    values, variances = crossing @ weights, prior - np.einsum("lp,lp->l", gains, crossing)
    for fold, out in zip(rows, unseen, strict=True):
        # The block formula of the inverse: what the observations say, as if ``out`` had never been observed.
        lost = np.linalg.solve(inverse[np.ix_(out, out)], gains[np.ix_(fold, out)].T).T
        values[fold] -= lost @ weights[out]
        variances[fold] += np.einsum("fo,fo->f", lost, gains[np.ix_(fold, out)])
    return values, np.maximum(variances, 0.0)
