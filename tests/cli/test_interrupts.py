"""Signals that stop a run: before the command runs, twice in a row, and after it has ended."""

import os
import shlex
import signal
import subprocess
import sys

import pytest

from manifuse.cli.stopping import STOPPED, Interrupt

BEFORE = """
class Finder:
    def find_spec(self, name, *_):
        if name == "manifuse.cli.app":
            signal.raise_signal(number)

sys.meta_path.insert(0, Finder())
"""
BETWEEN = """
from manifuse.cli import app
app._demand_folder = lambda: signal.raise_signal(number)
"""
COMMAND = """
from types import SimpleNamespace
import manifuse.cli
sys.modules["manifuse.cli.show_command"] = SimpleNamespace(
    lines_of_model=None, run_show=lambda model: exec("signal.raise_signal(number)")
)
"""
AFTER = "atexit.register(signal.raise_signal, number)\n"


@pytest.mark.parametrize(
    "when, status, says",
    [(BEFORE, None, STOPPED), (BETWEEN, None, STOPPED), (COMMAND, None, STOPPED), (AFTER, 0, "")],
    ids=["while it starts", "before a command runs", "in a text that a command executes", "after it has ended"],
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_in_a_sentence_or_changes_nothing(number, when, status, says, tmp_path):
    code = (
        "import atexit, signal, sys\n"
        f"number = {int(number)}\n"
        f"signal.signal(number, signal.{'default_int_handler' if number == signal.SIGINT else 'SIG_DFL'})\n"
        f"{when}"
        f"sys.argv = ['manifuse', *{['show', 'a'] if when is COMMAND else ['--version']}]\n"
        "from manifuse.__main__ import start\n"
        "start()\n"
    )
    # Python ends a module by SIGINT where it ends a script or a text by the status that was asked for.
    (tmp_path / "begun.py").write_text(code)
    done = subprocess.run([sys.executable, "-m", "begun"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.rstrip("\n")) == (128 + number if status is None else status, says)


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "ascii"])
def test_output_in_another_encoding_is_no_failure(encoding):
    code = (
        "import sys\n"
        "from manifuse.cli import app\n"
        "app.main = lambda: print('“ours” ──')\n"
        "from manifuse.__main__ import start\n"
        "start()\n"
    )
    env = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert done.stdout.decode(encoding).strip().replace("?", "").strip("“” ") == "ours"


@pytest.mark.parametrize("number", ["SIGINT", "SIGHUP"])
def test_a_background_job_and_one_under_nohup_go_on_ignoring_it(number):
    code = (
        "import signal, sys\n"
        f"signal.signal(signal.{number}, signal.SIG_IGN)\n"
        "from manifuse.cli import app\n"
        f"app.main = lambda: signal.raise_signal(signal.{number})\n"
        "from manifuse.__main__ import start\n"
        "start()\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_second_signal_does_not_interrupt_what_the_first_began():
    answers = Interrupt()
    answers.catching = True
    with pytest.raises(KeyboardInterrupt):
        answers(signal.SIGHUP, None)
    answers(signal.SIGTERM, None)
    assert answers.number == signal.SIGHUP


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["--help"], ["show", "--help"], ["refine", "main.csv", "--labels", "labels.csv", "--json"]],
)
def test_a_result_that_cannot_be_printed_ends_in_a_sentence(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "main.csv").write_text("id,score,x\n" + "".join(f"m{k},{k % 7},{k % 5}\n" for k in range(60)))
    (tmp_path / "labels.csv").write_text("id,label\n" + "".join(f"m{k},{k}\n" for k in range(0, 60, 3)))
    out = ["--out", "out.csv"] if "--json" in arguments else []
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "manifuse", *arguments, *out]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith(
        "manifuse: The result cannot be printed (No space left on device); send standard output elsewhere. Files "
        "that were written are complete.\n"
    )
    assert "Traceback" not in done.stderr
    assert os.path.exists("out.csv") == bool(out)


def test_a_result_without_a_standard_output_ends_in_a_sentence():
    command = f"{shlex.quote(sys.executable)} -m manifuse --version >&-"
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("manifuse: The result cannot be printed (Bad file descriptor)")


def test_a_working_directory_that_is_gone_is_named(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); sys.argv = ['manifuse', 'demo']; "
    code += "from manifuse.__main__ import start; start()"
    done = subprocess.run([sys.executable, "-c", code], cwd=gone, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "manifuse: The working directory cannot be found (No such file or directory); change to another.\n"
    )
