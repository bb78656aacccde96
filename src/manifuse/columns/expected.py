"""Expected: own scores plus the references' scores, as far as these agree.

This is what is known of a row without labels. Classes that no reference can speak of keep their own probability, and
directions of log-ratios of which none speaks their own scores.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.columns.column import Column
from manifuse.columns.spoken import CoveredClasses, SpokenDirections
from manifuse.columns.view import View
from manifuse.kernels.arrays import FloatArray
from manifuse.tables.level import Level


@dataclass(frozen=True, eq=False)
class Expected(Column):
    """Own scores plus a multiple of every reference's scores.

    Attributes
    ----------
    pulls : (m,) array
        See `Agreement`.
    means : (m, c) array
        Of the references over the fitted rows.
    level : Level
    covered : CoveredClasses or None
        Which classes references can speak of; None if all.
    spoken : SpokenDirections or None
        Which directions of log-ratios references speak of; None if all.
    """

    pulls: FloatArray
    means: FloatArray
    level: Level
    covered: CoveredClasses | None = None
    spoken: SpokenDirections | None = None

    @classmethod
    def measured(
        cls,
        rows: View,
        pulls: FloatArray,
        covered: CoveredClasses | None = None,
        spoken: SpokenDirections | None = None,
    ) -> Self:
        """Return the column whose means and level are those of some rows."""
        means = rows["references"].mean(axis=0)
        level = Level.of(_added(rows["own"], rows["references"] - means, pulls, spoken))
        return cls(pulls, means, level, covered, spoken)

    def with_pulls(self, rows: View, pulls: FloatArray) -> Self:
        """Return the column, measured by some rows, where references count otherwise."""
        return self.measured(rows, pulls, self.covered, self.spoken)

    def at(self, rows: View) -> FloatArray:
        """Own scores plus references, of any rows (q, c)."""
        return self._from(rows["own"], rows["references"])

    def add_to(self, rows: View, name: str) -> View:
        """Add the values, and "imputed expected": those from imputed scores; see `Column.add_to`."""
        imputed = self._from(rows["own"], rows["imputed"])
        return rows.with_column(name, self.at(rows)).with_column("imputed expected", imputed)

    def _from(self, own: FloatArray, references: FloatArray) -> FloatArray:
        values = self.level.apply(_added(own, references - self.means, self.pulls, self.spoken))
        return values if self.covered is None else self.covered.keep_others(values, own, self.pulls)


def _added(own: FloatArray, references: FloatArray, pulls: FloatArray, spoken: SpokenDirections | None) -> FloatArray:
    """Own scores (q, c), and centred scores of references (q, m, c) times their pulls (m,)."""
    if spoken is not None:
        return spoken.added(own, references, pulls)
    return np.asarray(own + np.einsum("qmc,m->qc", references, pulls))
