"""Where the features of a table are: in memory, or in columns of a file that are read when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from manifuse.tables.column_file import ColumnFile


class Source(Protocol):
    """The features of a table."""

    @property
    def is_read(self) -> bool:
        """Whether all of them are in memory."""

    @property
    def width(self) -> int:
        """The number of features."""

    def take(self, rows: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return the features of some rows, or of all."""

    def window(self, first: int, count: int) -> NDArray[Any]:
        """Return the features of ``count`` rows from ``first`` on."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """Features in memory.

    Attributes
    ----------
    matrix : (n, d) array
    """

    matrix: NDArray[Any]
    is_read = True

    @property
    def width(self) -> int:
        """The number of features."""
        return self.matrix.shape[1] if self.matrix.ndim > 1 else 1

    def take(self, rows: NDArray[Any] | None = None) -> NDArray[Any]:
        """Return some rows; see `Source.take`."""
        return self.matrix if rows is None else np.asarray(self.matrix[rows])

    def window(self, first: int, count: int) -> NDArray[Any]:
        """Return rows that follow each other; see `Source.window`."""
        return self.matrix[first : first + count]


@dataclass(frozen=True, eq=False)
class InFile:
    """Features in columns of a file.

    Attributes
    ----------
    file : ColumnFile
    names : tuple of str
    """

    file: ColumnFile
    names: tuple[str, ...]
    is_read = False

    @property
    def width(self) -> int:
        """The number of features."""
        return len(self.names)

    def take(self, rows: NDArray[Any] | None = None) -> NDArray[Any]:
        """Read some rows, column by column; see `Source.take`."""
        return self.file.take_matrix(self.names, rows)

    def window(self, first: int, count: int) -> NDArray[Any]:
        """Read rows that follow each other; see `Source.window`."""
        return self.file.window(first, count).take_matrix(self.names)
