"""Records: nouns as named arrays and plain values, which a file can hold, and back.

`write` turns a dataclass into a dictionary by the names of its fields. `read` makes the dataclass again by the
annotations of its fields. A file holds no name of a class, and nothing in it can make code run. Whether it holds what
was written is asked once, by its seal (`manifuse.run.persistence`).
"""

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
    """A noun that is saved in a form of its own, or that leaves out of copies what it can compute again.

    Other dataclasses need no base: a file holds their fields.
    """

    def to_record(self) -> dict[str, Any]:
        """Return arrays and plain values by name."""
        return {field.name: write(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_record(cls, record: Any) -> Self:
        """Read what `to_record` gave."""
        return cls(**read_fields(cls, record))

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: not what can be computed again."""
        state = vars(self)
        return {field.name: state[field.name] for field in fields(self)} if is_dataclass(self) else dict(state)


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


def read_fields(kind: type, record: Mapping[str, Any], *, omit: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read the fields of a dataclass by their annotations, except those to ``omit``."""
    hints = _hints_of(kind)
    return {each.name: read(hints[each.name], record[each.name]) for each in fields(kind) if each.name not in omit}


@cache
def _hints_of(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def read(hint: Any, value: Any) -> Any:
    """Read what `write` made of a value of the kind that an annotation says."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else read(_kind_of(value, arguments), value)
    if origin is tuple:
        hints = arguments[:1] * len(value) if arguments[1:] == (Ellipsis,) else arguments
        return tuple(read(each, entry) for each, entry in zip(hints, value, strict=True))
    if origin is collections.abc.Mapping:
        return {arguments[0](key): read(arguments[1], entry) for key, entry in value.items()}
    if hint is sparse.csr_array:
        return sparse.csr_array(
            (value["data"], value["indices"], value["indptr"]), shape=2 * (len(value["indptr"]) - 1,)
        )
    kind = origin or hint
    if isinstance(kind, type) and issubclass(kind, Saveable):
        return kind.from_record(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind[value]
    if is_dataclass(kind) and isinstance(kind, type):
        return kind(**read_fields(kind, value))
    return float(value) if hint is float else value


def _kind_of(value: Any, hints: tuple[Any, ...]) -> Any:
    """Return the annotation, of several, that a value was written by."""
    kinds = [each for each in hints if each is not types.NoneType]
    tuples = [each for each in kinds if typing.get_origin(each) is tuple]
    if tuples:
        return tuples[0] if isinstance(value, list) else next(each for each in kinds if each not in tuples)
    # One of several nouns has the fields.
    return next(each for each in kinds if len(kinds) == 1 or {field.name for field in fields(each)} == value.keys())


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
