"""Fallback: a row without evidence keeps the place of its own score."""

from collections.abc import Callable

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import centre, centred_norm, inner

#: Takes own scores (q,) or (q, c) of rows, and returns what they are refined to if nothing else is known of them.
Fallback = Callable[[FloatArray], FloatArray]


def alone_of(fitted: FloatArray, refined: FloatArray) -> Fallback:
    """What a row is refined to if only its own score is known, from all fitted rows (n,) or (n, c)."""
    return _by_place(fitted, refined) if fitted.ndim == 1 else _by_line(fitted, refined)


def _by_place(fitted: FloatArray, refined: FloatArray) -> Fallback:
    """Give a row the place among the refined scores (n,) that its own score has among the fitted ones (n,).

    Equal ones share their mean. Beyond their ends a row is as far away, in standard deviations.
    """
    levels, counts = np.unique(fitted, return_counts=True)
    sums = np.add.reduceat(np.sort(refined), np.concatenate([[0], np.cumsum(counts)[:-1]]))
    places, ratio = sums / counts, centred_norm(refined) / centred_norm(fitted)

    def at(own: FloatArray) -> FloatArray:
        beyond = own - np.clip(own, levels[0], levels[-1])
        return np.asarray(np.interp(own, levels, places) + ratio * beyond)

    return at


def _by_line(fitted: FloatArray, refined: FloatArray) -> Fallback:
    """Give a row of classes a multiple of its own log-ratios (c,), and an offset, by least squares."""
    centred = centre(fitted)
    slope = inner(centred, refined) / inner(centred, centred)
    offset = refined.mean(axis=0) - slope * fitted.mean(axis=0)
    return lambda own: np.asarray(offset + slope * own)
