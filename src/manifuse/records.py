"""Records: nouns as named arrays and plain values, which a file can hold, and back.

`write` turns a dataclass into a dictionary by the names of its fields. `read` makes the dataclass again by the
annotations of its fields, and refuses everything else. A file holds no name of a class, and nothing in it can make
code run.
"""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Self

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray


class Saveable:
    """A noun that files can hold.

    For most dataclasses this base is enough: a file holds their fields. A noun that a file holds in another form has
    its own `to_record` and `from_record`.
    """

    def to_record(self) -> dict[str, Any]:
        """Return arrays and plain values by name."""
        return {field.name: write(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_record(cls, record: Any) -> Self:
        """Read what `to_record` gives.

        Raises
        ------
        LookupError, TypeError, ValueError
            If a value is missing, unknown, of another kind or out of range, or values do not fit together.
        """
        made = cls(**read_fields(cls, record))
        made.check()
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: not what can be computed again."""
        state = vars(self)
        return {field.name: state[field.name] for field in fields(self)} if is_dataclass(self) else dict(state)

    def check(self) -> None:
        """Refuse values that do not fit together with a ``ValueError``; by default they all do."""


def write(value: Any) -> Any:
    """Return a value as a tree of dictionaries, lists, arrays and plain values; infinities and NaN become text."""
    if isinstance(value, Saveable):
        return value.to_record()
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    if isinstance(value, sparse.csr_array):
        return {name: getattr(value, name) for name in ("data", "indices", "indptr")}
    if isinstance(value, Mapping):
        return {str(name): write(entry) for name, entry in value.items()}
    if isinstance(value, tuple):
        return [write(entry) for entry in value]
    if is_dataclass(value):
        return {field.name: write(getattr(value, field.name)) for field in fields(value)}
    return value


def read_fields(kind: type, record: Any, *, omit: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read the fields of a dataclass by their annotations, except those to ``omit``; see `Saveable.from_record`."""
    hints = _hints_of(kind)
    names = [field.name for field in fields(kind) if field.name not in omit]
    if not isinstance(record, Mapping) or set(names) != record.keys():
        raise ValueError(f"it should have {', '.join(names)}, and no more")
    return {name: read(hints[name], record[name], name) for name in names}


@cache
def _hints_of(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def read(hint: Any, value: Any, name: str) -> Any:
    """Read a value of the kind that an annotation says; see `Saveable.from_record`. ``name`` is for messages."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _read_any(arguments, value, name)
    if origin is np.ndarray:
        return _read_array(arguments, value, name)
    if origin is tuple and isinstance(value, list):
        hints = arguments[:1] * len(value) if arguments[1:] == (Ellipsis,) else arguments
        return tuple(read(each, entry, name) for each, entry in zip(hints, value, strict=True))
    if origin is collections.abc.Mapping and isinstance(value, Mapping):
        return {arguments[0](key): read(arguments[1], entry, name) for key, entry in value.items()}
    if hint is float and value in ("inf", "-inf", "nan"):
        return float(value)
    if hint is sparse.csr_array:
        return _read_sparse(value)
    kind = origin or hint
    if isinstance(kind, type) and issubclass(kind, Saveable):
        return kind.from_record(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind[value]
    if is_dataclass(kind) and isinstance(kind, type):
        return kind(**read_fields(kind, value))
    if not _is_plain(hint, value):
        raise TypeError(f"{name} is not a {hint}")
    return float(value) if hint is float else value


def flatten(tree: Any, arrays: dict[str, NDArray[Any]], path: str) -> Any:
    """Move the arrays of a tree to ``arrays``, named by their path; return the rest."""
    if isinstance(tree, np.ndarray):
        arrays[path] = tree
        return {"array": path}
    if isinstance(tree, Mapping):
        return {name: flatten(value, arrays, f"{path}/{name}") for name, value in tree.items()}
    if isinstance(tree, list):
        return [flatten(value, arrays, f"{path}/{number}") for number, value in enumerate(tree)]
    return tree


def unflatten(tree: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Put the arrays back to where `flatten` found them; a missing one is a ``KeyError``."""
    if isinstance(tree, list):
        return [unflatten(value, arrays) for value in tree]
    if isinstance(tree, Mapping):
        if tree.keys() == {"array"}:
            return arrays[tree["array"]]
        return {name: unflatten(value, arrays) for name, value in tree.items()}
    return tree


def _read_any(hints: tuple[Any, ...], value: Any, name: str) -> Any:
    """Read a value of one of several kinds."""
    # What is wrong with a value that is there is not that it should be none.
    for hint in [hint for hint in hints if hint is not types.NoneType] if value is not None else hints:
        try:
            return read(hint, value, name)
        except (LookupError, TypeError, ValueError) as error:
            refusal = error
    raise refusal


def _read_array(arguments: tuple[Any, ...], value: Any, name: str) -> NDArray[Any]:
    """Read an array of the numbers that an annotation says."""
    (numbers,) = typing.get_args(arguments[1])
    if not isinstance(value, np.ndarray) or not np.issubdtype(value.dtype, typing.get_origin(numbers) or numbers):
        raise TypeError(f"{name} is not an array of {numbers}")
    if value.dtype.kind in "iuf" and value.dtype not in (np.int32, np.int64, np.float32, np.float64):
        raise TypeError(f"{name} holds numbers as {value.dtype}")
    return value


def _read_sparse(value: Any) -> sparse.csr_array:
    """Read a square sparse matrix of finite numbers of at least 0."""
    data, indices, starts = (value[name] for name in ("data", "indices", "indptr"))
    if data.dtype.kind != "f" or not {indices.dtype, starts.dtype} <= {np.dtype(np.int32), np.dtype(np.int64)}:
        raise TypeError("a sparse matrix has other numbers than floats and row numbers")
    matrix = sparse.csr_array((data, indices, starts), shape=(len(starts) - 1, len(starts) - 1))
    matrix.check_format(full_check=True)
    if not is_amount(data) or np.any(np.diff(starts) < 0):
        raise ValueError("a sparse matrix has numbers below 0, or row pointers that fall")
    return matrix


def _is_plain(hint: Any, value: Any) -> bool:
    """Whether a plain value is what an annotation says."""
    if typing.get_origin(hint) is typing.Literal:
        return value in typing.get_args(hint)
    if hint in (float, int) and isinstance(value, bool):
        return False
    kind = typing.get_origin(hint) or hint
    return kind is not Any and isinstance(value, float | int if kind is float else kind)


def demand_counts(*values: int) -> None:
    """Refuse numbers of rows or steps that are below 0 or beyond 64 bits with a ``ValueError``."""
    if not all(0 <= value < 2**63 for value in values):
        raise ValueError("a count is out of range")


def is_amount(values: NDArray[Any]) -> bool:
    """Whether all numbers are finite and at least 0."""
    return bool(np.isfinite(values).all() and np.min(values, initial=0.0) >= 0)
