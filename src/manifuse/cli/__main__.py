"""The entry of the command line. It answers an interrupt (ctrl-C) before and after the command runs, too."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from manifuse.cli import INTERRUPTED, STOPPED


def stop(number: int, frame: FrameType | None) -> None:
    """Answer an interrupt while Python imports the commands, when nothing has been written yet."""
    del number, frame
    sys.stderr.write(f"{STOPPED}\n")
    sys.stderr.flush()
    os._exit(INTERRUPTED)


def start() -> None:
    """Run the command line; an interrupt after it has ended changes nothing."""
    # A shell's background job ignores interrupts, and goes on doing so.
    hears = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if hears:
        signal.signal(signal.SIGINT, stop)
    from manifuse.cli.app import main

    try:
        if hears:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    start()
