"""Where the features of a table are: in memory, or in columns of a file that are read when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from manifuse.tables.column_file import ColumnFile

#: Row numbers, a range of them, or None for all rows.
Rows = NDArray[Any] | range | None


@dataclass(frozen=True, eq=False)
class Source:
    """The features of a table.

    Attributes
    ----------
    take : callable
        Takes `Rows`, and returns their features, (q, d). Of a file, it reads a range of rows without the others.
    width : int
        The number of features.
    is_read : bool
        Whether all of them are in memory.
    """

    take: Callable[[Rows], NDArray[Any]]
    width: int
    is_read: bool

    @classmethod
    def loaded(cls, matrix: NDArray[Any]) -> Self:
        """Return features (n, d) in memory."""

        def take(rows: Rows) -> NDArray[Any]:
            if isinstance(rows, range):
                return matrix[rows.start : rows.stop]
            return matrix if rows is None else np.asarray(matrix[rows])

        return cls(take, matrix.shape[1] if matrix.ndim > 1 else 1, is_read=True)

    @classmethod
    def if_any(cls, matrix: NDArray[Any] | None) -> Self | None:
        """Return features in memory; None if there are none."""
        return None if matrix is None else cls.loaded(matrix)

    @classmethod
    def in_file(cls, file: ColumnFile, names: tuple[str, ...]) -> Self:
        """Return features in columns of a file, by their names."""

        def take(rows: Rows) -> NDArray[Any]:
            if isinstance(rows, range):
                return file.window(rows.start, len(rows)).take_matrix(names)
            return file.take_matrix(names, rows)

        return cls(take, len(names), is_read=False)
