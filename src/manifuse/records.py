"""Records: what a file holds of a noun, as named arrays and plain values, read with checks.

A noun writes itself as a dictionary of arrays, numbers, text, lists and dictionaries, and reads itself back from a
`Record`. Names of classes stand in no file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from manifuse.kernels.arrays import SparseMatrix

Entry = TypeVar("Entry")

#: The kind of array and its number of dimensions for a field of a dataclass, by the field's annotation.
COLUMNS = {"int": ("i", 1), "float": ("f", 1), "str": ("U", 1), "tuple[float, ...]": ("f", 2)}


class Record:
    """What a file holds of one noun. Every method refuses a value of another kind, size or range.

    Parameters
    ----------
    values : mapping
    path : str
        Names the record in messages.

    Raises
    ------
    ValueError
        From every method, if the value is missing or not what it must be.
    """

    def __init__(self, values: object, path: str = "") -> None:
        if not isinstance(values, Mapping):
            raise ValueError(f"{path or 'the whole'} is not a group of values")
        self._values = values
        self._path = path
        self._read: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether there is a value that is not null."""
        return self._get(name) is not None

    def holds(self, name: str) -> bool:
        """Whether there is a value of this name."""
        return name in self._values

    def text(self, name: str) -> str:
        """Read a text."""
        value = self._get(name)
        self._demand(isinstance(value, str), name, "a text")
        return str(value)

    def flag(self, name: str) -> bool:
        """Read true or false."""
        value = self._get(name)
        self._demand(isinstance(value, bool), name, "true or false")
        return bool(value)

    def whole(self, name: str, least: int = 0, most: int = 2**63) -> int:
        """Read a whole number in [least, most]."""
        value = self._get(name)
        fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        self._demand(fits, name, f"a whole number in [{least}, {most}]")
        return int(value)

    def number(self, name: str, *, positive: bool = False, finite: bool = True) -> float:
        """Read a number; infinities and NaN are written as text."""
        value = read_number(self._get(name))
        self._demand(isinstance(value, int | float) and not isinstance(value, bool), name, "a number")
        number = float(value)
        self._demand(np.isfinite(number) or not finite, name, "a finite number")
        self._demand(number > 0 or not positive, name, "a positive number")
        return number

    def options(self, name: str, kind: type, count: int) -> tuple[Any, ...]:
        """Read a list of so many values of a kind, or null."""
        value = self._get(name)
        fits = isinstance(value, list) and len(value) == count
        self._demand(fits and all(entry is None or type(entry) is kind for entry in value), name, f"{count} values")
        return tuple(value)

    def plain(self, name: str) -> Any:
        """Read a value of any kind, which its reader checks."""
        return self._get(name)

    def array(self, name: str, *shape: int | None, kind: str = "f", finite: bool = True) -> NDArray[Any]:
        """Read an array of numbers (``kind`` "f" or "i"), text ("U") or truth values ("b"); None is any length."""
        value = self._get(name)
        self._demand(isinstance(value, np.ndarray) and value.dtype.kind == kind, name, f"an array of kind {kind!r}")
        fits = value.ndim == len(shape) and all(
            wanted in (None, size) for wanted, size in zip(shape, value.shape, strict=True)
        )
        self._demand(fits, name, f"of shape {shape}")
        self._demand(kind != "f" or not finite or np.isfinite(value).all(), name, "finite")
        array: NDArray[Any] = value
        return array

    def numbers(self) -> dict[str, float]:
        """Read all values as numbers, by name."""
        return {name: self.number(name, finite=False) for name in self._values}

    def table(self, name: str, kind: type[Entry]) -> tuple[Entry, ...]:
        """Read entries of a flat dataclass from its columns, which `write_table` gives; at least one."""
        record = self.child(name)
        columns = []
        for field in fields(kind):  # type: ignore[arg-type]
            letter, dimensions = COLUMNS[str(field.type)]
            columns.append(record.array(field.name, *[None] * dimensions, kind=letter, finite=False))
        self._demand(len({len(column) for column in columns}) == 1 and len(columns[0]), name, "columns of one length")
        record.done()
        lists = [[tuple(entry) if column.ndim > 1 else entry for entry in column.tolist()] for column in columns]
        return tuple(kind(*values) for values in zip(*lists, strict=True))

    def rows(self, name: str, among: int) -> NDArray[Any]:
        """Read row numbers of a table of ``among`` rows."""
        rows = self.array(name, None, kind="i")
        self._demand(len(rows) > 0 and 0 <= rows.min() <= rows.max() < among, name, f"rows of a table of {among}")
        return rows

    def sparse(self, name: str, size: int) -> SparseMatrix:
        """Read a square sparse matrix of non-negative numbers."""
        parts = self.child(name)
        triple = (parts.array("data", None), *(parts.array(part, None, kind="i") for part in ("indices", "indptr")))
        parts.done()
        matrix = sparse.csr_array(triple, shape=(size, size))
        matrix.check_format(full_check=True)
        self._demand(matrix.data.min(initial=0.0) >= 0, name, "numbers of at least 0")
        return matrix

    def child(self, name: str) -> Record:
        """Read a group of values."""
        return Record(self._get(name), f"{self._path}{name}/")

    def children(self, name: str) -> list[Record]:
        """Read a list of groups of values."""
        values = self._get(name)
        self._demand(isinstance(values, list), name, "a list")
        return [Record(value, f"{self._path}{name}/{position}/") for position, value in enumerate(values)]

    def done(self) -> None:
        """Refuse values that were not read."""
        unknown = sorted(set(self._values) - self._read)
        if unknown:
            raise ValueError(f"{self._path}{unknown[0]} is unknown")

    def refuse(self, reason: str) -> None:
        """Refuse values that do not fit together."""
        raise ValueError(f"{self._path.rstrip('/') or 'the whole'} {reason}")

    def _get(self, name: str) -> Any:
        if name not in self._values:
            raise ValueError(f"{self._path}{name} is missing")
        self._read.add(name)
        return self._values[name]

    def _demand(self, fits: object, name: str, expected: str) -> None:
        if not fits:
            raise ValueError(f"{self._path}{name} is not {expected}")


def write_sparse(matrix: SparseMatrix) -> dict[str, NDArray[Any]]:
    """Return the arrays of a sparse matrix, for `Record.sparse`."""
    return {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}


def write_table(entries: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of entries of a flat dataclass, for `Record.table`; at least one entry."""
    return {
        field.name: np.array([getattr(entry, field.name) for entry in entries]) for field in fields(type(entries[0]))
    }


def write_number(number: float) -> float | str:
    """Return a number as JSON can hold it: infinities and NaN as text."""
    return float(number) if np.isfinite(number) else str(float(number))


def read_number(value: object) -> Any:
    """Return what `write_number` wrote; other values as they are."""
    return float(value) if isinstance(value, str) and value in ("inf", "-inf", "nan") else value


def flatten(tree: object, arrays: dict[str, NDArray[Any]], path: str = "") -> Any:
    """Move the arrays of a tree of dictionaries and lists to ``arrays``, named by their path; return the rest."""
    if isinstance(tree, Mapping):
        inner = {name: flatten(value, arrays, f"{path}/{name}" if path else name) for name, value in tree.items()}
        return {name: value for name, value in inner.items() if not isinstance(tree[name], np.ndarray)}
    if isinstance(tree, list | tuple):
        return [flatten(value, arrays, f"{path}/{position}") for position, value in enumerate(tree)]
    if isinstance(tree, np.ndarray):
        arrays[path] = tree
    return tree


def unflatten(tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Put arrays back where `flatten` found them.

    Raises
    ------
    LookupError, TypeError, ValueError
        If the tree has no such place.
    """
    for path, array in arrays.items():
        *way, name = path.split("/")
        group = tree
        for step in way:
            group = group[int(step)] if isinstance(group, list) else group[step]
        if not isinstance(group, dict) or name in group:
            raise ValueError(f"{path} stands nowhere")
        group[name] = array
    return tree
