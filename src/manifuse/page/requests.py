"""Requests: what the page asks of the server, checked on arrival."""

import asyncio
import json
import re
from collections.abc import Collection
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from manifuse.errors import InputError
from manifuse.files import shorten

#: Upper bound on the bytes of a request, which names references.
LARGEST = 1 << 16

#: Seconds in which a request has to arrive.
PATIENCE = 10.0


async def read_request(request: Request, names: Collection[str]) -> dict[str, Any]:
    """Read and check the body of a request for a refinement.

    Parameters
    ----------
    request : Request
    names : collection of str
        Of the references.

    Returns
    -------
    dict
        ``ignored``, a list of such names, and ``same_target``, a truth value or None.

    Raises
    ------
    HTTPException
        If the body is too large or too slow.
    InputError
        If it is anything else than one JSON object of these two.
    """
    try:
        body = json.loads(await _receive(request))
    except (ValueError, RecursionError):
        raise InputError("The request is not valid JSON; send one JSON object.") from None
    if not isinstance(body, dict) or body.keys() != {"ignored", "same_target"}:
        raise InputError("The request must be one JSON object with exactly these fields: ignored, same_target.")
    ignored, same_target = body["ignored"], body["same_target"]
    if not isinstance(ignored, list) or any(name not in names for name in ignored):
        raise _refusal("ignored", ignored, "a list of names of references")
    if not isinstance(same_target, bool | None):
        raise _refusal("same_target", same_target, "true, false or null")
    return body


def read_row(text: str) -> int:
    """Read the number of a row in an address.

    Raises
    ------
    InputError
        If it is no whole number in digits, or has more than eighteen of them.
    """
    if re.fullmatch("-?[0-9]{1,18}", text) is None:
        raise InputError(f"The row {shorten(text)} came, but a whole number was expected.")
    return int(text)


def _refusal(name: str, value: Any, expected: str) -> InputError:
    return InputError(f"{name} = {shorten(repr(value))} came, but {expected} was expected.")


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
