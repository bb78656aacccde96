"""Requests: what the page asks the server for, checked where it comes in."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from manifuse.errors import InputError
from manifuse.files import shorten
from manifuse.page.exploration import MOST_STEPS

#: Upper bound on the bytes of a request; the page sends a few hundred.
LARGEST = 1 << 16

#: Seconds in which a request has to arrive.
PATIENCE = 10.0

#: Upper bound on N that the page may ask for; more rows are not a neighbourhood.
MOST_NEIGHBOURS = 200


#: What one value of a request may be: whether a value is allowed, as it came from JSON, and what is allowed, in words.
Field = tuple[Callable[[Any], bool], str]


def _whole_number(least: int, most: int) -> Field:
    return lambda value: type(value) is int and least <= value <= most, f"a whole number from {least} to {most}"


def _is_number(value: Any) -> bool:
    # The type is compared because a bool is an int, too.
    return type(value) in (int, float) and 1e-12 <= value <= 1e12


_JOB: Field = (lambda value: isinstance(value, str), "the name of a job as text")
_NUMBER = (_is_number, "a number from 1e-12 to 1e12")


def bridge_fields(candidates: int) -> dict[str, Field]:
    """Fields of a request for new bridges, where a method has this many bridges to choose from."""
    return {
        "neighbours": _whole_number(1, MOST_NEIGHBOURS),
        "score_scale": (lambda value: value is None or _is_number(value), "a number from 1e-12 to 1e12, or null"),
        "step": _NUMBER,
        "candidate": _whole_number(0, candidates - 1),
    }


def result_fields(names: Collection[str]) -> dict[str, Field]:
    """Fields of a request for what `refine` gives; ``names`` are those of the references.

    ``ignored`` is null where references take part as `refine` decides.
    """

    def are_names(value: Any) -> bool:
        return value is None or (isinstance(value, list) and all(name in names for name in value))

    return {"bridges": _JOB, "ignored": (are_names, "a list of names of references, or null")}


def diffusion_fields(names: Collection[str]) -> dict[str, Field]:
    """Fields of a request that names what the page shows; ``names`` are those of the references."""
    return {
        "bridges": _JOB,
        "step_size": _NUMBER,
        "weight_scale": _NUMBER,
        "steps": _whole_number(1, MOST_STEPS),
        "ignored": (
            lambda value: isinstance(value, list) and all(name in names for name in value),
            "a list of names of references",
        ),
    }


async def read_request(request: Request, fields: Mapping[str, Field]) -> dict[str, Any]:
    """Read and check the body of a request: one JSON object that has exactly these fields.

    Raises
    ------
    HTTPException
        If the body is too large or too slow.
    InputError
        If it is anything else than such an object.
    """
    try:
        body = json.loads(await _receive(request))
    except (ValueError, RecursionError):
        raise InputError("The request is not valid JSON; send one JSON object.") from None
    if not isinstance(body, dict) or body.keys() != fields.keys():
        raise InputError(f"The request must be one JSON object with exactly these fields: {', '.join(fields)}.")
    for name, (fits, expected) in fields.items():
        if not fits(body[name]):
            raise InputError(f"{name} = {shorten(repr(body[name]))} came, but {expected} was expected.")
    return body


async def _receive(request: Request) -> bytes:
    """Take in the body of a request, as long as it is small and comes soon."""
    body = b""
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                body += part
                if len(body) > LARGEST:
                    raise HTTPException(413, f"The request has more than {LARGEST} bytes; send a smaller one.")
    except (TimeoutError, ClientDisconnect):
        raise HTTPException(408, f"The request did not arrive within {PATIENCE:g} seconds; send it again.") from None
    return body
