"""TPC: predictor combination at test time (section 3.2.1, B), for coupled data.

We did not have the paper that proposed it. This is a reconstruction that agrees with what later papers say about it,
and every number that we show for TPC says so. Given the current ``f``, an outer step minimises

    E(p) = D(p, f) + delta * sum over k of w_k D(p, g_k),    w_k = exp(-D(f, g_k) / sigma²)

over standardised ``p``. In mode ``kl``, ``D`` is the normalised divergence of Gaussians of unit variance,
``1 - correlation``. In mode ``rank``, only the order of pairs of rows counts in the references. For deterministic
predictors mode ``kl`` has a closed form, which is as cheap as one step of joint diffusion.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse_study.baselines.learned import RefittableLesson

#: The grid: step sizes, and scales in units of the median divergence of f(0) from the references.
STEP_SIZES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
SCALE_FACTORS = (1 / 16, 1 / 4, 1.0, 4.0, 16.0)
STEPS, ITERATIONS = 20, 100

#: Mode ``rank`` uses all pairs of up to so many rows, and of more rows ten pairs per row, drawn once.
FEW_ROWS, PAIRS_PER_ROW = 500, 10

Mode = Literal["kl", "rank"]

#: Score of a prediction (n,); larger is better.
Evaluate = Callable[[FloatArray], float]

#: Energy of an unstandardised ``p`` and its gradient.
Energy = Callable[[FloatArray], tuple[float, FloatArray]]


def tpc(
    main: FloatArray,
    references: FloatArray,
    evaluate: Evaluate,
    *,
    mode: Mode,
    closed_form: bool = False,
    rng: np.random.Generator,
) -> RefittableLesson:
    """Combine predictors evaluated on the same rows, the grid chosen by ``evaluate``.

    Parameters
    ----------
    main : (n,) array
        Not constant.
    references : (n, m) array
    evaluate : callable
        Score on validation rows; the steps of a cell end when it does not rise.
    mode : {"kl", "rank"}
    closed_form : bool
        Use the exact minimiser of mode ``kl`` instead of L-BFGS.
    rng : numpy.random.Generator
        Draws the pairs of mode ``rank``.

    Returns
    -------
    Learned
        Standardised predictions. The hyperparameters are ``step_size``, ``scale``, and the outer ``steps`` taken.
    """
    start, columns = np.asarray(standardise(main)), np.asarray(standardise(references))
    pairs = _draw_pairs(len(start), rng) if mode == "rank" else None
    unit = float(np.median(divergences(start, columns))) or 1.0
    start_score = evaluate(start)
    best = RefittableLesson(start, start_score, {"step_size": STEP_SIZES[0], "scale": unit, "steps": 0})
    for step_size, factor in product(STEP_SIZES, SCALE_FACTORS):
        current, reached = start, start_score
        for step in range(1, STEPS + 1):
            weights = step_size * np.exp(-divergences(current, columns) / (factor * unit))
            if closed_form:
                following = exact_minimiser(current, columns, weights)
            elif pairs is None:
                following = descend(kl_energy(current, columns, weights), current)
            else:
                following = descend(rank_energy(current, columns, weights, pairs), current)
            score = evaluate(following)
            if score <= reached:
                break
            current, reached = following, score
            if reached > best.validation_accuracy:
                best = RefittableLesson(
                    current, reached, {"step_size": step_size, "scale": factor * unit, "steps": step}
                )
    return best


def divergences(p: FloatArray, columns: FloatArray) -> FloatArray:
    """``1 - correlation`` of a standardised prediction (n,) with standardised columns (n, m), in [0, 2]."""
    return np.asarray(1.0 - columns.T @ p / len(p))


def exact_minimiser(current: FloatArray, columns: FloatArray, weights: FloatArray) -> FloatArray:
    """Minimiser of mode ``kl`` for deterministic predictors: a weighted, signed mean, standardised."""
    mean = current + columns @ weights
    return np.asarray(standardise(mean)) if np.ptp(mean) > 0 else current


def descend(energy: Energy, start: FloatArray) -> FloatArray:
    """Minimise by L-BFGS from the current prediction, and standardise."""
    found = minimize(
        energy, start, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS, "ftol": 1e-15, "gtol": 1e-10}
    )
    return np.asarray(standardise(np.asarray(found.x)))


def kl_energy(current: FloatArray, columns: FloatArray, weights: FloatArray) -> Energy:
    """Energy of mode ``kl``; the sums over references are computed once."""
    n = len(current)
    target, total = current + columns @ weights, 1.0 + float(weights.sum())

    def energy(p: FloatArray) -> tuple[float, FloatArray]:
        unit, pull_back = _standardised(p)
        return total - float(unit @ target) / n, pull_back(-target / n)

    return energy


def rank_energy(
    current: FloatArray, columns: FloatArray, weights: FloatArray, pairs: tuple[IndexArray, IndexArray]
) -> Energy:
    """Energy of mode ``rank``: squared hinges (eq. 20) that ask for the order of every source at every pair.

    The sources are the current prediction and the references. A pair has one hinge for each order, weighted by the
    sources that order it so.
    """
    i, j = pairs
    n, count = len(current), len(i)
    sources = np.column_stack([current, columns])
    trust = np.concatenate([[1.0], weights])
    up, down = (sources[i] > sources[j]) @ trust, (sources[i] < sources[j]) @ trust

    def energy(p: FloatArray) -> tuple[float, FloatArray]:
        unit, pull_back = _standardised(p)
        difference = unit[i] - unit[j]
        above, below = np.maximum(1.0 - difference, 0.0), np.maximum(1.0 + difference, 0.0)
        slope = 2.0 * (down * below - up * above) / count
        gradient = np.asarray(
            np.bincount(i, slope, minlength=n) - np.bincount(j, slope, minlength=n), dtype=np.float64
        )
        return float(up @ above**2 + down @ below**2) / count, pull_back(gradient)

    return energy


def _standardised(p: FloatArray) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """Standardised ``p``, and the map of gradients back through standardising.

    The map centres a gradient, removes its part along ``p``, and divides by the standard deviation of ``p``.
    """
    centred = p - p.mean()
    deviation = float(np.sqrt(np.mean(centred**2)))
    unit = centred / deviation

    def pull_back(gradient: FloatArray) -> FloatArray:
        gradient = gradient - gradient.mean()
        return np.asarray((gradient - unit * (unit @ gradient) / len(unit)) / deviation)

    return unit, pull_back


def _draw_pairs(n: int, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
    """All pairs of few rows, or ten pairs per row."""
    if n <= FEW_ROWS:
        first, second = np.triu_indices(n, 1)
        return first, second
    first = rng.integers(n, size=PAIRS_PER_ROW * n)
    return first, (first + rng.integers(1, n, size=len(first))) % n
