"""Standard: the mean and the standard deviation that values of fitted and of later rows are measured by.

Standardised values can be added by their shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import is_constant
from manifuse.records import Saved


@dataclass(frozen=True)
class Standard(Saved):
    """Mean and standard deviation of values at the fitted rows.

    Attributes
    ----------
    mean : float
    deviation : float
        Positive; infinite if the values are constant, so that they become zeros.
    """

    mean: float
    deviation: float

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Measure values (n,)."""
        constant = bool(is_constant(values[:, None])[0])
        return cls(float(values.mean()), np.inf if constant else float(values.std()))

    def apply(self, values: FloatArray) -> FloatArray:
        """Bring values (q,) to the mean 0 and the standard deviation 1 of the fitted rows."""
        return np.asarray((values - self.mean) / self.deviation)

    def check(self) -> None:
        """Refuse values out of range."""
        if not (np.isfinite(self.mean) and self.deviation > 0):
            raise ValueError("a mean or a standard deviation is out of range")


def mixed(share: float | FloatArray, one: FloatArray, other: FloatArray) -> FloatArray:
    """Add standardised values, the ``other`` by its share and the ``one`` by the rest."""
    return np.asarray((1.0 - share) * one + share * other)
