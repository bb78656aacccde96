"""Listener: the web server of the page, which waits for nobody for long."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds for which a client may send no whole request or read no part of an answer, and that open requests have when
#: the server ends.
PATIENCE, FAREWELL = 10.0, 1


class TimedProtocol(H11Protocol):
    """HTTP as uvicorn speaks it, except that a client that is waited for too long loses the connection.

    The server waits for the headers of a request, and for a client to read. It does not wait while it answers, and a
    part of a request buys no time.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the headers of the first request."""
        super().connection_made(transport)
        self._look()

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of the headers, or no longer, if they are there."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the answer to be read, and for the next request."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        """Wait for the client to read no longer."""
        super().resume_writing()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        self._wait_no_longer()

    def _look(self) -> None:
        """Wait, or wait no longer, by what is open."""
        answering = self.cycle is not None and not self.cycle.response_complete
        if answering and not self.flow.write_paused:
            self._wait_no_longer()
        elif self._deadline is None:
            # What a client does not read would keep a connection that is only closed.
            self._deadline = self.loop.call_later(PATIENCE, self.transport.abort)

    def _wait_no_longer(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


class Server(uvicorn.Server):
    """A server that a closed terminal ends as an interrupt does."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take all signals that stop a run as requests to end; uvicorn knows ctrl-C and SIGTERM."""
        with super().capture_signals(), ExitStack() as opened:
            # Only the main thread gets signals, and Windows has no such one.
            if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
                before = signal.signal(signal.SIGHUP, self.handle_exit)
                opened.callback(signal.signal, signal.SIGHUP, before)
            yield


def server_of(application: Any) -> uvicorn.Server:
    """Return a server of a page; ``run`` of it serves until an interrupt."""
    return Server(
        uvicorn.Config(
            application,
            http=TimedProtocol,
            ws="none",
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=FAREWELL,
        )
    )
