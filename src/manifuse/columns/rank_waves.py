"""Rank waves: smooth functions of one feature each, which depend neither on its unit nor on its outliers."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.stats import rankdata

from manifuse.kernels.arrays import FloatArray, IndexArray

#: How much each wave of a feature counts.
AMPLITUDES = (1.0, 1.0 / 2.0, 1.0 / 3.0)


@dataclass(frozen=True, eq=False)
class RankWaves:
    """Every feature as cosines of its rank: half a wave, a whole one, one and a half.

    A function that is linear in them is a sum of smooth functions of one feature each, as in a generalised additive
    model. Sums of all waves, the k-th of which counts 1 / k, are the linear splines over the ranks; three are enough.

    Attributes
    ----------
    places : (d,) array of int
        Where the features that vary stand in the table.
    values : (k, d) array
        Values of these features in the rows that measured them, in rising order.
    cosines : (k, d) array
        Half a wave over the ranks of these values: from about 1 at the smallest to about -1 at the largest.
    means : (w d,) array
        Of the waves over these rows.
    """

    places: IndexArray
    values: FloatArray
    cosines: FloatArray
    means: FloatArray

    @classmethod
    def of(cls, features: FloatArray) -> Self:
        """Measure features (k, d)."""
        places = np.flatnonzero((features != features[0]).any(axis=0))
        values = np.sort(features[:, places], axis=0)
        # Equal values have one rank, the mean of theirs.
        ranks = rankdata(values, axis=0) - 0.5
        cosines = np.cos(np.pi * ranks / len(values))
        raw = cls(places, values, cosines, np.zeros(len(AMPLITUDES) * len(places)))
        return cls(places, values, cosines, raw.apply(features).mean(axis=0))

    def apply(self, features: FloatArray) -> FloatArray:
        """Waves (q, w d) of rows (q, d) of the table, or of another one with the same columns."""
        count = len(self.places)
        waves = np.empty((len(features), len(AMPLITUDES) * count))
        half = waves[:, :count]
        for column, place in enumerate(self.places):
            half[:, column] = np.interp(features[:, place], self.values[:, column], self.cosines[:, column])
        # The cosine of a multiple of an angle is a polynomial of the angle's cosine.
        waves[:, count : 2 * count] = 2.0 * half**2 - 1.0
        waves[:, 2 * count :] = half * (4.0 * half**2 - 3.0)
        waves *= np.sqrt(2.0) * np.repeat(AMPLITUDES, count)
        waves -= self.means
        return waves
