"""Listener: the web server of the page, which waits for nobody for long."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds that a client may take to send the headers of a request, and that open requests have when the server ends.
PATIENCE, FAREWELL = 10.0, 1


class Impatient(H11Protocol):
    """HTTP as uvicorn speaks it, except that a request whose headers are not whole in time ends the connection."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the headers of the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the headers, or no longer, if they are there."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._wait()
        else:
            self._wait_no_longer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._wait_no_longer()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(PATIENCE, self.transport.close)

    def _wait_no_longer(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def server_of(application: Any) -> uvicorn.Server:
    """Return a server of a page; ``run`` of it serves until an interrupt."""
    return uvicorn.Server(
        uvicorn.Config(
            application, http=Impatient, log_level="warning", server_header=False, timeout_graceful_shutdown=FAREWELL
        )
    )
