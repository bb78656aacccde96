"""Level: the mean and the deviation of scores or of a column, and so how they are standardised and brought back."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import is_constant


@dataclass(frozen=True, eq=False)
class Level:
    """The mean and the deviation of a column over some rows. Standardised columns can be added.

    The level of a table's scores is its units: a score is ``mean + deviation * z`` with ``z`` standardised.

    Attributes
    ----------
    mean : () or (c,) array
        Without an axis if a row has one score.
    deviation : float
        Root of the mean squared entry, less the mean of its column: one number for all c. It is infinite if the column
        is constant, so that it becomes zeros.
    """

    mean: FloatArray
    deviation: float

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Measure values (n,) or (n, c)."""
        mean = np.asarray(values.mean(axis=0))
        if is_constant(values).all():
            return cls(mean, np.inf)
        # Divided by the largest first, so that squares stay in range.
        largest = float(np.abs(values - mean).max())
        return cls(mean, largest * float(np.sqrt(np.mean(((values - mean) / largest) ** 2))))

    def apply(self, values: FloatArray) -> FloatArray:
        """Bring values (...) or (..., c) to the mean 0 and the deviation 1 of the measured rows."""
        return np.asarray((values - self.mean) / self.deviation)

    def undo(self, values: FloatArray) -> FloatArray:
        """Give values (...) or (..., c) of mean 0 and deviation 1 the mean and the deviation again."""
        return np.asarray(self.mean + self.deviation * values)

    def scaled(self, factor: float, offset: FloatArray | float = 0.0) -> Self:
        """Return the level of values that are larger by a factor, and then by an offset, one number or (c,)."""
        return type(self)(np.asarray(factor * self.mean + offset), factor * self.deviation)
