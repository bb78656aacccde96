"""The entry of the command line. It answers signals before and after the command runs, too."""

from __future__ import annotations

import signal

from manifuse.cli.stopping import STOPPING, interrupt, stop


def start() -> None:
    """Run the command line; a signal after it has ended changes nothing."""
    # What a shell's background job ignores, or a run under nohup, it goes on to ignore.
    heard = [each for each in STOPPING if signal.getsignal(each) in (signal.SIG_DFL, signal.default_int_handler)]
    for each in heard:
        signal.signal(each, stop)
    from manifuse.cli.app import main

    try:
        for each in heard:
            signal.signal(each, interrupt)
        main()
    finally:
        for each in STOPPING:
            signal.signal(each, signal.SIG_IGN)


if __name__ == "__main__":
    start()
