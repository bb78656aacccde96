"""Guard: which requests the server listens to at all, and what its answers allow a browser to do."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import re
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Bytes of a request's body above which it is none of the page's.
LARGEST = 1 << 16

#: Seconds that a request's body may take to arrive.
PATIENCE = 10.0

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")

#: The page needs its own scripts, styles and answers, and nothing else.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")


class Guard:
    """Wraps an application: foreign hosts, foreign origins, large and slow bodies are refused before it sees them.

    A page of another site can make a browser send requests here. One that reaches this server under a name of
    its own (DNS rebinding) is told by its Host, one that names this server by its Origin.

    Parameters
    ----------
    app : ASGI application
    names : iterable of str
        Host names under which it may be reached, beside the loopback ones.
    any_address : bool
        Whether it may also be reached under any address in digits, as where it listens on all interfaces. Addresses,
        unlike names, cannot be made to point elsewhere.
    """

    def __init__(self, app: ASGIApp, *, names: Iterable[str] = (), any_address: bool = False) -> None:
        self._app = app
        self._names = {*LOOPBACK, *(name.lower() for name in names)}
        self._any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let it through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name.lower() for name, _ in message["headers"]}
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in present)]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(answer, *refusal)
            return
        body, more = b"", True
        try:
            async with asyncio.timeout(PATIENCE):
                while more and len(body) <= LARGEST:
                    message = await receive()
                    if message["type"] != "http.request":
                        return
                    body, more = body + message.get("body", b""), message.get("more_body", False)
        except TimeoutError:
            await _refuse(answer, 408, f"The request did not arrive within {PATIENCE:g} seconds; send it again.")
            return
        if len(body) > LARGEST:
            await _refuse(answer, 413, f"The request is larger than {LARGEST} bytes, and no request of the page is.")
            return

        given = False

        async def once() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, once, answer)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and sentence, if the request is not to be answered."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        hosts, origins = headers.get(b"host", []), headers.get(b"origin", [])
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return 421, "The request is for another host; open the page under the address that manifuse printed."
        own = b"http://" + hosts[0].lower()
        changes = scope["method"] not in ("GET", "HEAD")
        if (changes and not origins) or any(origin.lower() != own for origin in origins):
            return 403, "The request comes from another page; only this server's own page may send it."
        return None

    def _is_ours(self, host: bytes) -> bool:
        parsed = _HOST.fullmatch(host.decode("latin-1").lower())
        if parsed is None:
            return False
        name = parsed[1]
        if name in self._names:
            return True
        if not self._any_address:
            return False
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True


async def _refuse(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
