"""View: what is known of some rows, column by column."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from manifuse.columns.edges import Edges
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.classes import Classes
from manifuse.tables.level import Level
from manifuse.tables.observations import Observations


@dataclass(frozen=True, eq=False)
class View:
    """What is known of some rows.

    Attributes
    ----------
    features : (q, d) array
        As they came; no columns if there are none.
    columns : mapping of str to arrays
        By their names, see below.
    known : (q, m) array
        Whether each reference knows the row itself.
    edges : Edges or None
        To the nearest fitted rows, of rows that came later.

    Notes
    -----
    The columns, whose order stands in `run_order`. All are standardised, unless said otherwise.

    ===================  =========  ================================================================================
    name                 shape      what it is
    ===================  =========  ================================================================================
    ``own``              (q, c)     scores as they came
    ``smoothed``         (q, c)     own scores, averaged over the graph
    ``looked up``        (q, m, c)  scores of later rows that references know themselves, else 0
    ``references``       (q, m, c)  scores of references: known or, elsewhere, imputed
    ``imputed``          (q, m, c)  the same, but imputed at all rows if the reference knows few: lessons read these
    ``unseen``           (q, m, c)  the same, imputed at all rows; of fitted rows alone
    ``doubt``            (q, m)     how little is known of each, as a share of its variance; 0 where it is known
    ``known itself``     (q,)       1 if the row is a pair of a reference that does not know all rows, else 0
    ``expected``         (q, c)     own scores and references, as far as these are followed
    ``imputed expected`` (q, c)     the same of imputed scores
    ``calibrated``       (q, c)     probabilities of classes, as labels calibrate them, in coordinates
    ``learned``          (q, c)     what labels taught
    ``variance``         (q,)       how far the truth may be from that
    ``taught``           (q, c)     what was known before, and what was learned
    ``diffused``         (q, c)     what Algorithm 1 made of the column before
    ``refined``          (q, c)     that column, and what was diffused of it
    ===================  =========  ================================================================================
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
class LogRatios:
    """How a mixture of probabilities, in coordinates, becomes standardised log-ratios.

    Attributes
    ----------
    classes : Classes
    level : Level
        Of the log-ratios.
    """

    classes: Classes
    level: Level

    def apply(self, values: FloatArray) -> FloatArray:
        """Standardised log-ratios of probabilities (..., c)."""
        return self.level.apply(self.classes.log_ratios(np.log(self.classes.probabilities(values))))

    @classmethod
    def of(cls, classes: Classes, values: FloatArray) -> Self:
        """Measure the log-ratios of probabilities (n, c)."""
        return cls(classes, Level.of(classes.log_ratios(np.log(classes.probabilities(values)))))


def features_of(table: Observations) -> FloatArray:
    """The features of a table (n, d); no columns if it has none."""
    return np.empty((len(table), 0)) if table.table is None else table.table
