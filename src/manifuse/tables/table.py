"""Table: one table of scores as a file holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from manifuse.tables.column_file import FileFeatures
from manifuse.tables.containers import to_floats
from manifuse.tables.observations import Observations
from manifuse.tables.row_names import Counting, rows_as
from manifuse.tables.table_checks import demand_one_length, finite_rows
from manifuse.tables.table_columns import TableColumns


@dataclass(frozen=True, eq=False)
class Table:
    """One table of scores as a file holds it.

    Attributes
    ----------
    name : str
        The file's name without its ending.
    ids : (n,) array
    scores : (n,) or (n, k) array
    source : (n, d) array, FileFeatures or None
        The features; None if there are none.
    feature_names : tuple of str or None
        None if there are no features, or the file has no names for them.
    classes : mapping of str to str
        Of a table of classes, the name of the class in each column of ``scores``; empty of scores.
    counting : tuple of str and int, or of str and (n,) array
        What messages call a row, and the number of the first row or of each; see `counting_in`.
    called : TableColumns
        What its columns are called.
    """

    name: str
    ids: NDArray[Any]
    scores: NDArray[Any]
    source: NDArray[Any] | FileFeatures | None
    feature_names: tuple[str, ...] | None = None
    classes: Mapping[str, str] = field(default_factory=dict)
    counting: Counting = ("row", 0)
    called: TableColumns = field(default_factory=TableColumns)

    @property
    def class_names(self) -> list[str] | None:
        """Names of the classes; None of scores."""
        return list(self.classes.values()) or None

    def __len__(self) -> int:
        return len(self.ids)

    def demand_one_length(self) -> None:
        """Refuse arrays of different lengths, before some rows of all are taken.

        Raises
        ------
        InputError
            If there are such.
        """
        tables = (self.scores, self.ids, self.scores if self.source is None else self.source)
        demand_one_length(self.name, *(each.shape[0] for each in tables))

    def part(self, rows: NDArray[Any] | range) -> Self:
        """Return some rows, with their features read. Of rows that follow each other, a range, no others are read."""
        here = slice(rows.start, rows.stop) if isinstance(rows, range) else rows
        source = None if self.source is None else self.source[here]
        noun, first = self.counting
        numbers = first + np.asarray(rows) if isinstance(first, int) else first[rows]
        return replace(self, ids=self.ids[rows], scores=self.scores[rows], source=source, counting=(noun, numbers))

    @property
    def features(self) -> NDArray[Any] | None:
        """All features, shape (n, d); None if there are none."""
        return self.source[:] if isinstance(self.source, FileFeatures) else self.source

    def observed(self, *, drop: bool, scale: Any = None, unread: bool = False) -> Observations:
        """Check it; rows with values that are not finite are dropped or refused. `Observations` checks ``scale``.

        If features stay ``unread``, those of some rows are read and checked when these rows are taken. Messages count
        rows as the file does.
        """
        with rows_as(self.counting):
            made = Observations(
                self.scores,
                None if unread else self.features,
                ids=self.ids,
                name=self.name,
                feature_names=None if unread else self.feature_names,
                scale=scale,
                classes=self.class_names,
                invalid="drop" if drop else "refuse",
            )
        made.called = self.called
        if unread:
            # They are used as an array is, but for arithmetic.
            made.table, made.feature_names = UnreadFeatures(self, scale), self.feature_names  # type: ignore[assignment]
        return made

    def without_invalid(self) -> Self:
        """Leave out the rows of a table of columns whose numbers are not all finite."""
        features, dimensions = self.features, 2 if self.classes else 1
        scores = to_floats(self.scores, what=f"The scores of {self.name}", dimensions=dimensions)
        if features is not None:
            features = to_floats(features, what=f"The features of {self.name}", dimensions=2)
        # Features in a file are not read again.
        return replace(self, source=features).part(finite_rows(scores, features))


@dataclass(frozen=True, eq=False)
class UnreadFeatures:
    """Features of a table that stay in its file until rows are taken; then they are checked.

    Attributes
    ----------
    table : Table
    scale : str or None
        Of its scores.
    """

    table: Table
    scale: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        assert self.table.source is not None, "there are features"
        return self.table.source.shape[0], self.table.source.shape[1]

    def __getitem__(self, rows: NDArray[Any] | slice) -> NDArray[Any] | None:
        """Read the features of some rows, (q, d)."""
        part = self.table.part(np.arange(len(self.table))[rows])
        return part.observed(drop=False, scale=self.scale).table
