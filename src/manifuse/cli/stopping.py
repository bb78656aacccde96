"""Stopping: how a run answers signals. It is here because it is needed before anything else can be imported."""

import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

#: What a program says that a signal has ended.
STOPPED = "manifuse: Stopped; no unfinished file was written."

#: The signals that stop a run: ctrl-C; ``kill`` or a time limit; a terminal that is closed, which Windows lacks.
STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]

#: Seconds in which further signals are taken as the same one: a terminal that is closed may send several.
GRACE = 1.0


def status_of(number: int) -> int:
    """Return the exit status of a program that the signal of this number ended, by the custom of shells."""
    return 128 + number


class Stopped(KeyboardInterrupt):
    """What a signal raises. After a plain KeyboardInterrupt in ``exec`` of a text, Python forgets the exit status."""


class Interrupt:
    """Answers signals: before and after a command it ends the program, and a command that runs it interrupts.

    Attributes
    ----------
    number : int or None
        Of the last signal; None before there was one.
    catching : bool
        Whether a command runs, which catches what this raises.
    """

    number: int | None = None
    catching = False
    _since = -GRACE

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Stop the program, unless a signal has just done so."""
        now = time.monotonic()
        if now - self._since < GRACE:
            return
        self.number, self._since = number, now
        if self.catching:
            raise Stopped
        # Nothing has been written yet.
        with suppress(OSError):  # A terminal that was closed cannot be told.
            sys.stderr.write(f"{STOPPED}\n")
            sys.stderr.flush()
        os._exit(status_of(number))


interrupt = Interrupt()
