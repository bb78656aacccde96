"""An interrupt (ctrl-C) before the command runs, and after it has ended."""

import subprocess
import sys

import pytest

BEFORE = """
class Finder:
    def find_spec(self, name, *_):
        if name == "manifuse.cli.app":
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""
AFTER = "atexit.register(signal.raise_signal, signal.SIGINT)\n"


@pytest.mark.parametrize(
    "when, status, says",
    [(BEFORE, 130, "manifuse: Stopped; no unfinished file was written.\n"), (AFTER, 0, "")],
    ids=["while it starts", "after it has ended"],
)
def test_it_ends_in_a_sentence_or_changes_nothing(when, status, says):
    code = (
        "import atexit, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"{when}"
        "sys.argv = ['manifuse', '--help']\n"
        "from manifuse.cli.__main__ import start\n"
        "start()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, says)


def test_a_background_job_goes_on_ignoring_it():
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from manifuse.cli import app\n"
        "app.main = lambda: signal.raise_signal(signal.SIGINT)\n"
        "from manifuse.cli.__main__ import start\n"
        "start()\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
