"""Wishes: what the page asks the server for, checked where it comes in."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manifuse.diffusion.method import JointDiffusion, choices
from manifuse.diffusion.schemes import ExplicitEuler, ImplicitEuler
from manifuse.errors import InputError
from manifuse.page.exploration import MOST_STEPS

#: Upper bound on N that the page may ask for; more is no neighbourhood.
MOST_NEIGHBOURS = 200


@dataclass(frozen=True)
class DiffusionWish:
    """The f-diffusion as the sliders and switches stand.

    Attributes
    ----------
    bridges : str
        The job that built the bridges.
    step_size, weight_scale : float
    steps : int
    ignored : tuple of str
    """

    bridges: str
    step_size: float
    weight_scale: float
    steps: int
    ignored: tuple[str, ...]

    @classmethod
    def of(cls, body: Mapping[str, Any], names: Collection[str]) -> DiffusionWish:
        """Check a wish; ``names`` are those of the references."""
        _demand_keys(body, "bridges", "step_size", "weight_scale", "steps", "ignored")
        bridges, ignored = body["bridges"], body["ignored"]
        if not isinstance(bridges, str):
            raise InputError("bridges is no text, but the name of a job was expected.")
        if not isinstance(ignored, list) or any(not isinstance(name, str) or name not in names for name in ignored):
            raise InputError("ignored is no list of names of references.")
        return cls(
            bridges,
            _number(body, "step_size"),
            _number(body, "weight_scale"),
            _whole(body, "steps", MOST_STEPS),
            tuple(dict.fromkeys(ignored)),
        )


def read_wish(content: bytes) -> Mapping[str, Any]:
    """Read the body of a request: one JSON object.

    Raises
    ------
    InputError
        If it is anything else.
    """
    try:
        body = json.loads(content, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InputError("The request holds no JSON.") from None
    if not isinstance(body, dict):
        raise InputError("The request holds no JSON object.")
    return body


def bridges_wished(body: Mapping[str, Any], method: JointDiffusion) -> JointDiffusion:
    """Return the method with the graphs and bridges of a wish, or as it is for an empty one."""
    if not body:
        return method
    _demand_keys(body, "neighbours", "score_scale", "step", "candidate")
    scale = np.inf if body["score_scale"] is None else _number(body, "score_scale")
    schemes, candidate = choices(method.bridge), body["candidate"]
    if isinstance(candidate, bool) or candidate not in range(len(schemes)):
        raise InputError("candidate is no place among the bridges to choose from.")
    scheme = schemes[candidate]
    assert isinstance(scheme, ImplicitEuler | ExplicitEuler), "there are two schemes"
    return replace(
        method,
        neighbours=_whole(body, "neighbours", MOST_NEIGHBOURS),
        score_scale=float(scale),
        bridge=replace(scheme, step=_number(body, "step")),
    )


def _demand_keys(body: Mapping[str, Any], *names: str) -> None:
    if body.keys() != set(names):
        raise InputError(f"The request does not hold just {', '.join(names)}.")


def _number(body: Mapping[str, Any], name: str) -> float:
    value = body[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1e-12 <= value <= 1e12:
        raise InputError(f"{name} is no number in [1e-12, 1e12].")
    return float(value)


def _whole(body: Mapping[str, Any], name: str, most: int) -> int:
    value = body[name]
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InputError(f"{name} is no whole number from 1 to {most}.")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
