"""The entry of the command line. It answers signals before and after the command runs, too."""

import io
import signal
import sys

from manifuse.cli.stopping import STOPPING, interrupt


def start() -> None:
    """Run the command line; a signal after it has ended changes nothing."""
    for each in STOPPING:
        # What a shell's background job ignores, or a run under nohup, it goes on to ignore.
        if signal.getsignal(each) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(each, interrupt)
    # A character that a terminal or a file of another encoding lacks becomes a question mark.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    from manifuse.cli.app import main

    try:
        main()
    finally:
        for each in STOPPING:
            signal.signal(each, signal.SIG_IGN)


if __name__ == "__main__":
    start()
