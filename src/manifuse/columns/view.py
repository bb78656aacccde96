"""View: what is known of some rows, column by column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from manifuse.columns.edges import Edges
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import is_constant
from manifuse.records import Saveable
from manifuse.tables.classes import Classes
from manifuse.tables.observations import Observations


@dataclass(frozen=True, eq=False)
class View:
    """What is known of some rows.

    Attributes
    ----------
    features : (q, d) array
        As they came; no columns if there are none.
    columns : mapping of str to (q, c) arrays
        By the name of the column. That of the references has the shape (q, m, c).
    known : (q, m) array
        Whether each reference knows the row itself.
    edges : Edges or None
        To the nearest fitted rows, of rows that came later.
    """

    features: FloatArray
    columns: Mapping[str, FloatArray]
    known: FloatArray
    edges: Edges | None = None

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, name: str) -> FloatArray:
        return self.columns[name]

    def with_column(self, name: str, values: FloatArray) -> Self:
        """Return the same rows with one more column."""
        return replace(self, columns={**self.columns, name: values})

    def take(self, rows: IndexArray | slice) -> Self:
        """Return some of the rows."""
        # In one order of memory, so that sums over features are rounded alike whatever a table comes as.
        features = np.ascontiguousarray(self.features[rows], dtype=np.float64)
        columns = {name: values[rows] for name, values in self.columns.items()}
        return replace(self, features=features, columns=columns, known=self.known[rows], edges=None)

    def points(self, names: tuple[str, ...]) -> FloatArray:
        """Put columns side by side, shape (q, k); those that there are not are left out."""
        found = [self.columns[name].reshape(len(self), -1) for name in names if name in self.columns]
        return np.column_stack(found) if found else np.empty((len(self), 0))


@dataclass(frozen=True, eq=False)
class Level(Saveable):
    """The mean and the deviation of a column over the fitted rows. Columns that are measured by it can be added.

    Attributes
    ----------
    mean : (c,) array
    deviation : float
        Root of the mean squared entry, less the mean of its column: one number for all c. It is infinite if the column
        is constant, so that it becomes zeros.
    """

    mean: FloatArray
    deviation: float

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Measure values (n, c)."""
        mean = values.mean(axis=0)
        if is_constant(values).all():
            return cls(mean, np.inf)
        # Divided by the largest first, so that squares stay in range.
        largest = float(np.abs(values - mean).max())
        return cls(mean, largest * float(np.sqrt(np.mean(((values - mean) / largest) ** 2))))

    def apply(self, values: FloatArray) -> FloatArray:
        """Bring values (..., c) to the mean 0 and the deviation 1 of the fitted rows."""
        return np.asarray((values - self.mean) / self.deviation)

    def undo(self, values: FloatArray) -> FloatArray:
        """Give values (..., c) of mean 0 and deviation 1 the mean and the deviation again."""
        return np.asarray(self.mean + self.deviation * values)

    def check(self) -> None:
        """Refuse values out of range."""
        if self.mean.ndim != 1 or not np.isfinite(self.mean).all() or not self.deviation > 0:
            raise ValueError("a mean or a deviation is out of range")


@dataclass(frozen=True, eq=False)
class LogRatios(Saveable):
    """How a mixture of probabilities, in coordinates, becomes standardised log-ratios.

    Attributes
    ----------
    classes : Classes
    level : Level
        Of the log-ratios.
    """

    classes: Classes
    level: Level

    def of_mixture(self, values: FloatArray) -> FloatArray:
        """Log-ratios of probabilities (..., c), before they are standardised."""
        return self.classes.log_ratios(np.log(self.classes.probabilities(values)))

    def apply(self, values: FloatArray) -> FloatArray:
        """Standardised log-ratios of probabilities (..., c)."""
        return self.level.apply(self.of_mixture(values))

    @classmethod
    def of(cls, classes: Classes, values: FloatArray) -> Self:
        """Measure the log-ratios of probabilities (n, c)."""
        raw = cls(classes, Level(np.zeros(values.shape[1]), 1.0))
        return cls(classes, Level.of(raw.of_mixture(values)))


def features_of(table: Observations) -> FloatArray:
    """The features of a table (n, d); no columns if it has none."""
    return np.empty((len(table), 0)) if table.table is None else table.table
