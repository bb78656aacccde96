"""Expected: own scores plus the references' scores, as far as these agree.

This is what is known of a row without labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from manifuse.columns.column import Column, FittedViews
from manifuse.columns.view import View
from manifuse.kernels.arrays import FloatArray
from manifuse.records import is_amount
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
    """

    pulls: FloatArray
    means: FloatArray
    level: Level

    @classmethod
    def of(cls, known: FittedViews, pulls: FloatArray) -> tuple[Self, FittedViews]:
        """Add the column "expected"."""
        column = cls.measured(known.held_out, pulls)
        return column, known.add("expected", column.at(known.fitted), column.at(known.held_out))

    @classmethod
    def measured(cls, rows: View, pulls: FloatArray) -> Self:
        """Return the column whose means and level are those of some rows."""
        means = rows["references"].mean(axis=0)
        raw = cls(pulls, means, Level(np.zeros(means.shape[1]), 1.0))
        return replace(raw, level=Level.of(raw.at(rows)))

    def at(self, rows: View) -> FloatArray:
        """Add own scores and references; see `Column.at`."""
        said = np.einsum("qmc,m->qc", rows["references"] - self.means, self.pulls)
        return self.level.apply(rows["own"] + said)

    def check(self) -> None:
        """Refuse arrays that do not fit together."""
        if self.means.ndim != 2 or self.pulls.shape != self.means.shape[:1]:
            raise ValueError("the references of what is expected do not fit together")
        if not (is_amount(self.pulls) and np.isfinite(self.means).all()):
            raise ValueError("what is expected is out of range")
