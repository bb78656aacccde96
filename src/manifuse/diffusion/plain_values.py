"""Hyperparameters as plain values, which JSON and TOML can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from manifuse.diffusion.explicit_euler import ExplicitEuler
from manifuse.diffusion.implicit_euler import ImplicitEuler
from manifuse.diffusion.schemes import BridgeScheme
from manifuse.records import read_number, write_number

#: Every scheme by what files and messages call it.
SCHEMES: Mapping[str, type[ImplicitEuler] | type[ExplicitEuler]] = {
    scheme.kind: scheme for scheme in (ImplicitEuler, ExplicitEuler)
}


def scheme_from(parameters: Mapping[str, Any]) -> BridgeScheme[Any]:
    """Make a scheme from what `BridgeScheme.to_plain` gives.

    Raises
    ------
    KeyError, TypeError
        If there is no such scheme, or it has no such hyperparameter.
    InputError
        If a hyperparameter is out of range.
    """
    named = {name: read_number(value) for name, value in parameters.items()}
    return SCHEMES[named.pop("scheme")](**named)


def to_plain(value: Any) -> Any:
    """Return a hyperparameter as JSON can hold it."""
    if isinstance(value, BridgeScheme):
        return value.to_plain()
    if isinstance(value, tuple):
        return [to_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return write_number(value) if isinstance(value, float) else value


def from_plain(value: Any) -> Any:
    """Return the hyperparameter that `to_plain` describes."""
    if isinstance(value, list):
        return tuple(from_plain(entry) for entry in value)
    return scheme_from(value) if isinstance(value, Mapping) else read_number(value)
