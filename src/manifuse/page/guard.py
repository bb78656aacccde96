"""Guard: which hosts and origins the server answers, and what its answers allow a browser to do."""

import ipaddress
import re
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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

#: What browsers say of requests that the server's own page sends, or the user by an address.
OWN_SITES = frozenset({"same-origin", "none"})

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")


class Guard:
    """Wraps an application, and refuses requests to other hosts and from other origins.

    A page of another site can make a browser send requests here. If it reaches this server under a name of
    its own (DNS rebinding), the Host header shows it. If it uses this server's name, the Origin header shows it; of
    requests that have none, as for images, Sec-Fetch-Site shows it.

    Parameters
    ----------
    app : ASGI application
    names : iterable of str
        Host names under which the server may be reached, beside the loopback ones.
    any_address : bool
        Whether the server may also be reached under any numeric address, as when it listens on all interfaces. Nobody
        can make an address lead elsewhere, as one can with a name.
    """

    def __init__(self, app: ASGIApp, *, names: Iterable[str] = (), any_address: bool = False) -> None:
        self._app = app
        self._names = {*LOOPBACK, *(name.lower() for name in names)}
        self._any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let it through; every answer gets `HEADERS`."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        await (refusal or self._app)(scope, receive, answer)

    def _refusal(self, method: str, headers: Headers) -> JSONResponse | None:
        """Return the answer to a request that is refused, None where it may pass."""
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._is_ours(hosts[0].lower()):
            return _refuse(421, "The request is for another host; open the page at the address that manifuse printed.")
        own = f"http://{hosts[0].lower()}"
        changes = method not in ("GET", "HEAD")
        sites = headers.getlist("sec-fetch-site")
        if (
            (changes and not origins)
            or any(origin.lower() != own for origin in origins)
            or not OWN_SITES.issuperset(sites)
        ):
            return _refuse(403, "The request comes from another page; only this server's own page may send it.")
        return None

    def _is_ours(self, host: str) -> bool:
        parsed = _HOST.fullmatch(host)
        return parsed is not None and (parsed[1] in self._names or (self._any_address and _is_address(parsed[1])))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _refuse(status: int, sentence: str) -> JSONResponse:
    return JSONResponse({"error": sentence}, status)
