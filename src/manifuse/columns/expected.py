"""Expected: own scores plus the references' scores, as far as these agree.

This is what is known of a row without labels. Classes that no reference can speak of keep their own probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.columns.column import Column, FittedViews
from manifuse.columns.covered import CoveredClasses
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
    """

    pulls: FloatArray
    means: FloatArray
    level: Level
    covered: CoveredClasses | None = None

    @classmethod
    def of(
        cls, known: FittedViews, pulls: FloatArray, covered: CoveredClasses | None = None
    ) -> tuple[Self, FittedViews]:
        """Add the column "expected"."""
        column = cls.measured(known.held_out, pulls, covered)
        held_out = column.at(known.held_out)
        return column, known.add("expected", column.at(known.fitted), held_out).add("imputed expected", held_out)

    @classmethod
    def measured(cls, rows: View, pulls: FloatArray, covered: CoveredClasses | None = None) -> Self:
        """Return the column whose means and level are those of some rows."""
        means = rows["references"].mean(axis=0)
        return cls(pulls, means, Level.of(_pulled(rows["own"], rows["references"] - means, pulls)), covered)

    def at(self, rows: View) -> FloatArray:
        """Add own scores and references; see `Column.at`."""
        return self._from(rows["own"], rows["references"])

    def add_to(self, rows: View, name: str) -> View:
        """Add the values, and "imputed expected": those from imputed scores; see `Column.add_to`."""
        imputed = self._from(rows["own"], rows["imputed"])
        return rows.with_column(name, self.at(rows)).with_column("imputed expected", imputed)

    def _from(self, own: FloatArray, references: FloatArray) -> FloatArray:
        values = self.level.apply(_pulled(own, references - self.means, self.pulls))
        return values if self.covered is None else self.covered.keep_others(values, own, self.pulls)


def _pulled(own: FloatArray, references: FloatArray, pulls: FloatArray) -> FloatArray:
    """Own scores (q, c), and centred scores of references (q, m, c) times their pulls (m,)."""
    return np.asarray(own + np.einsum("qmc,m->qc", references, pulls))
