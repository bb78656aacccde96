"""Features that stay in columns of a file, and are read when they are needed."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from manifuse.tables.column_file import ColumnFile


@dataclass(frozen=True, eq=False)
class FileFeatures:
    """Features in columns of a file; rows are taken as of an array.

    Attributes
    ----------
    file : ColumnFile
    names : tuple of str
        Of the columns.
    """

    file: ColumnFile
    names: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.file.rows, len(self.names)

    def __getitem__(self, rows: NDArray[Any] | slice) -> NDArray[Any]:
        """Read the features of some rows, (q, d); of a slice of rows, without the others."""
        if isinstance(rows, slice):
            first, stop, _ = rows.indices(self.file.rows)
            return self.file.window(first, stop - first).take_matrix(self.names)
        return self.file.take_matrix(self.names, rows)
