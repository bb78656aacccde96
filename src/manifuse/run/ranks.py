"""Ranks: the fallback for a row without evidence. The row keeps the place of its own score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import centre, centred_norm, inner


@dataclass(frozen=True, eq=False)
class Ranks:
    """The refined score that a row has if only its own score is known.

    A row has the place among the refined scores that its own score has among the fitted ones. Beyond their ends it is
    as far away, in standard deviations.

    Attributes
    ----------
    levels, places : (k,) array
        Different scores of the fitted rows, rising, and the refined score in the place of each.
    ratio : float
        Standard deviation of the refined scores, in those of the fitted ones.
    """

    levels: FloatArray
    places: FloatArray
    ratio: float

    @classmethod
    def of(cls, fitted: FloatArray, refined: FloatArray) -> Self:
        """Put refined scores (n,) in the order of the fitted ones (n,); equal ones share their mean."""
        levels, counts = np.unique(fitted, return_counts=True)
        sums = np.add.reduceat(np.sort(refined), np.concatenate([[0], np.cumsum(counts)[:-1]]))
        return cls(levels, sums / counts, centred_norm(refined) / centred_norm(fitted))

    def at(self, own: FloatArray) -> FloatArray:
        """Refined scores of rows with their ``own`` scores (q,)."""
        beyond = own - np.clip(own, self.levels[0], self.levels[-1])
        return np.asarray(np.interp(own, self.levels, self.places) + self.ratio * beyond)


@dataclass(frozen=True, eq=False)
class Stretch:
    """The refined log-ratios that a row of classes has if only its own are known: a multiple of them, and an offset.

    Attributes
    ----------
    offset : (c,) array
    slope : float
    """

    offset: FloatArray
    slope: float

    @classmethod
    def of(cls, fitted: FloatArray, refined: FloatArray) -> Self:
        """Fit refined log-ratios (n, c) by own ones (n, c), by least squares."""
        centred = centre(fitted)
        slope = inner(centred, refined) / inner(centred, centred)
        return cls(refined.mean(axis=0) - slope * fitted.mean(axis=0), slope)

    def at(self, own: FloatArray) -> FloatArray:
        """Refined log-ratios of rows with their ``own`` ones (q, c)."""
        return np.asarray(self.offset + self.slope * own)


def alone_of(fitted: FloatArray, refined: FloatArray) -> Ranks | Stretch:
    """What a row is refined to if only its own score is known, from all fitted rows (n,) or (n, c)."""
    return Ranks.of(fitted, refined) if fitted.ndim == 1 else Stretch.of(fitted, refined)
