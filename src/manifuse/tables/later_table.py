"""Tables of later rows in files, window by window."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from manifuse.tables.column_names import ColumnNames, demand_there, demand_used
from manifuse.tables.formats import BY_COLUMN, FORMATS
from manifuse.tables.score_tables import open_table, read_table
from manifuse.tables.table import Table

#: Rows of a window.
WINDOW = 1 << 17


@dataclass(frozen=True)
class LaterTable:
    """A table in a file, as later rows are read from it.

    Attributes
    ----------
    given : str
        As `read_table` takes it.
    features : str or None
    fitted : tuple of str or None
        The features that are read; None if they have no names.
    columns : ColumnNames
    drop : tuple of str
        Columns to leave out that must be there.
    """

    given: str
    features: str | None
    fitted: tuple[str, ...] | None
    columns: ColumnNames
    drop: tuple[str, ...] = ()

    @property
    def is_windowed(self) -> bool:
        """Whether its format allows to read some rows alone."""
        return os.path.isdir(self.given) or FORMATS.get(Path(self.given).suffix.lower()) in BY_COLUMN

    def open(self) -> tuple[int, Callable[[int, int], Table]]:
        """Return the number of rows, and a function that returns so many of them from a first one on."""
        if self.is_windowed:
            rows, read = open_table(Path(self.given), self.features, self.fitted, self.columns)
        else:
            table = read_table(self.given, features=self.features, fitted=self.fitted, columns=self.columns)
            rows, read = len(table), lambda first, count: table.part(range(first, min(first + count, len(table))))
        called = read(0, 1).called
        demand_there(self.drop, [called.drop])
        demand_used(self.columns, [called])
        return rows, read
