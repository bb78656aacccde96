"""Trouble beside the content of tables: memory, permissions, full disks, interrupts, saved refinements."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.printed import sentence_of
from tests.problems import draw, write_table

import manifuse as mf
from manifuse import files
from manifuse.cli import app, commands
from manifuse.cli.stopping import Interrupt
from manifuse.run import file_runs as refine_module
from manifuse.run.persistence import FORMAT
from manifuse.tables import output as output_module
from manifuse.tables import paths

#: For each case: the exit status, and what the message contains.
TROUBLE = {
    "a table of 10 GB on a machine with 16 GB free": (2, "takes about 20.0 GB, but 16.0 GB of memory are free"),
    "a run whose memory runs out": (1, "The memory ran out and nothing was written"),
    "a Parquet table that packs more than memory holds": (2, "GB of memory are free; use a part of the file"),
    "an archive that packs more than memory holds": (2, "GB of memory are free; use a part of the file"),
    "a table that may not be read": (2, "cannot be read as csv (Permission denied"),
    "a folder that may not be looked into": (2, "cannot be found (Permission denied)"),
    "an output folder that may not be written": (2, "cannot be written (Permission denied)"),
    "a full disk": (2, "cannot be written ("),
    "an interrupt (ctrl-C) while writing": (130, "Stopped; no unfinished file was written."),
    "a time limit or `kill` (SIGTERM) while writing": (143, "Stopped; no unfinished file was written."),
    "a terminal that is closed (SIGHUP) while writing": (129, "Stopped; no unfinished file was written."),
    "a result that cannot be printed": (2, "The result cannot be printed (No space left on device)"),
    "a working directory that is gone": (2, "The working directory cannot be found"),
    "a saved refinement of a later version": (2, f"has the format 99, but this version reads {FORMAT};"),
    "a saved refinement that was changed": (2, "was changed after it was saved"),
    "a saved refinement cut short": (2, "is not a saved refinement"),
    "a table in place of a saved refinement": (2, "is not a saved refinement"),
    "later rows and the output in one file": (2, "is an input, which would be overwritten"),
    "a saved refinement and the output in one file": (2, "is an input, which would be overwritten"),
}
NOBODY = 65534


@pytest.fixture
def folder(monkeypatch):
    """A folder that any user may enter; those of pytest allow only their owner."""
    case = draw(0, rows=60, pairs=30, references=1)
    folder = Path(tempfile.mkdtemp(prefix="manifuse-"))
    for name, table in (("main", case.main), ("reference", case.references[0])):
        features = {f"x{k}": column for k, column in enumerate(table.table.T)}
        pl.DataFrame({"id": table.keys, "score": table.scores, **features}).write_csv(folder / f"{name}.csv")
    folder.chmod(0o777)
    monkeypatch.chdir(folder)
    yield folder
    shutil.rmtree(folder)


@contextmanager
def as_nobody():
    """Give up the rights of root for a while, because root may read and write everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


@contextmanager
def small_disk(size):
    """Limit the size of files in bytes, as a full disk does."""
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr("sys.argv", ["manifuse", *arguments])
    with pytest.raises(SystemExit) as left:
        app.main()
    output = capsys.readouterr()
    return left.value.code, output.err


def refine(monkeypatch, capsys, *more, main="main.csv", out="out.csv"):
    return run(monkeypatch, capsys, "refine", main, "--reference", "reference.csv", "--out", out, *more)


def expect(name, answer):
    """Check the exit status, and that the message is one sentence."""
    (status, says), code, sentence = TROUBLE[name], answer[0], sentence_of(answer[1])
    assert code == status, sentence
    assert says in sentence
    assert sentence.startswith("manifuse: ")
    assert sentence.endswith(".")
    assert "Traceback" not in sentence


def names(folder):
    return sorted(path.name for path in folder.iterdir())


class OutOfMemoryError(RuntimeError):
    """Named as the error of torch for a full graphics card."""


@pytest.mark.parametrize("error", [MemoryError, OutOfMemoryError])
def test_a_run_whose_memory_runs_out_says_so(error, folder, monkeypatch, capsys):
    def full(*_, **__):
        raise error

    monkeypatch.setattr(refine_module, "refine", full)
    before = names(folder)
    expect("a run whose memory runs out", refine(monkeypatch, capsys))
    assert names(folder) == before


def test_other_failures_are_not_hidden(folder, monkeypatch):
    monkeypatch.setattr(refine_module, "refine", lambda *_, **__: 1 // 0)
    monkeypatch.setattr(
        "sys.argv", ["manifuse", "refine", "main.csv", "--reference", "reference.csv", "--out", "o.csv"]
    )
    with pytest.raises(ZeroDivisionError):
        app.main()


def test_a_table_larger_than_memory_is_refused_before_it_is_read(folder, monkeypatch, capsys):
    with (folder / "huge.csv").open("wb") as file:
        file.truncate(10_000_000_000)
    monkeypatch.setattr(paths, "available_memory", lambda: 16_000_000_000)
    monkeypatch.setattr(pl, "read_csv", lambda *_, **__: pytest.fail("it was read"))
    expect("a table of 10 GB on a machine with 16 GB free", refine(monkeypatch, capsys, main="huge.csv"))


def test_parquet_is_as_large_as_what_is_packed_in_it(folder, monkeypatch, capsys):
    rows = pl.DataFrame({"id": np.arange(9000), "score": np.arange(9000.0)})
    rows.with_columns(pl.lit(1.0).alias(f"x{k}") for k in range(500)).write_parquet("packed.parquet")
    free = 20_000_000
    assert 4 * os.path.getsize("packed.parquet") < free < 8 * 9000 * 500
    monkeypatch.setattr(paths, "available_memory", lambda: free)
    expect("a Parquet table that packs more than memory holds", refine(monkeypatch, capsys, main="packed.parquet"))


def test_an_archive_is_as_large_as_what_is_packed_in_it(folder, monkeypatch, capsys):
    np.savez_compressed(folder / "packed.npz", ids=np.arange(9), scores=np.zeros(1_250_000))
    monkeypatch.setattr(paths, "available_memory", lambda: 1_000_000)
    assert os.path.getsize("packed.npz") < 1_000_000
    answer = refine(monkeypatch, capsys, main="packed.npz")
    expect("an archive that packs more than memory holds", answer)


def test_what_may_not_be_read_or_written_is_named(folder, monkeypatch, capsys):
    assert refine(monkeypatch, capsys)[0] == 0  # imports what the unprivileged user may not read
    (folder / "out.csv").unlink()
    (folder / "out.run.toml").unlink()
    shutil.copy("main.csv", "secret.csv")
    (folder / "locked").mkdir()
    shutil.copy("main.csv", "locked/main.csv")
    (folder / "ours").mkdir()
    for name, rights in {"secret.csv": 0, "locked": 0, "ours": 0o555}.items():
        (folder / name).chmod(rights)
    before = names(folder)
    with as_nobody():
        answers = {
            "a table that may not be read": refine(monkeypatch, capsys, main="secret.csv"),
            "a folder that may not be looked into": refine(monkeypatch, capsys, main="locked/main.csv"),
            "an output folder that may not be written": refine(monkeypatch, capsys, out="ours/out.csv"),
        }
    assert names(folder) == before
    for name, answer in answers.items():
        expect(name, answer)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "jsonl", "npz"])
def test_a_full_disk_leaves_no_part_of_a_table(ending, folder, monkeypatch, capsys):
    before = names(folder)
    with small_disk(1000):
        answer = refine(monkeypatch, capsys, out=f"out.{ending}")
    expect("a full disk", answer)
    assert "(None)" not in answer[1]
    assert names(folder) == before


def test_all_outputs_of_a_run_appear_or_none(folder, monkeypatch, capsys):
    """The table is written last; if it cannot be, there is no saved model, page or record either."""
    before = names(folder)
    monkeypatch.setattr(output_module, "table_bytes", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    status, said = refine(monkeypatch, capsys, "--save", "model.npz", "--report", "page.html")
    assert (status, "out.csv cannot be written (No space left" in said) == (2, True)
    assert names(folder) == before


def test_what_is_no_regular_file_is_not_replaced_by_one(folder, monkeypatch, capsys):
    os.mkfifo(folder / "pipe.csv")
    status, said = refine(monkeypatch, capsys, out="pipe.csv")
    assert (status, "pipe.csv is a pipe or a device, not a file" in said) == (2, True)
    assert (folder / "pipe.csv").is_fifo()


STOPS = {
    signal.SIGINT: "an interrupt (ctrl-C) while writing",
    signal.SIGTERM: "a time limit or `kill` (SIGTERM) while writing",
    signal.SIGHUP: "a terminal that is closed (SIGHUP) while writing",
}


@pytest.fixture(params=STOPS, ids=lambda number: number.name)
def number(request, monkeypatch):
    """A signal that stops a run, answered as by the command line; the run under test knows of no signal before."""
    monkeypatch.setattr(commands, "interrupt", Interrupt())
    # A shell lets its background jobs ignore interrupts, and tests may be such a job.
    handler = signal.signal(request.param, commands.interrupt)
    yield request.param
    signal.signal(request.param, handler)


def test_a_signal_leaves_no_part_of_a_table(number, folder, monkeypatch, capsys):
    def write(path, data):
        path.write_text("half")
        signal.raise_signal(number)

    monkeypatch.setattr(Path, "write_bytes", write)
    before = names(folder)
    expect(STOPS[number], refine(monkeypatch, capsys))
    assert names(folder) == before


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_signal_between_the_names_of_outputs_leaves_what_was_there(nth, number, folder, monkeypatch, capsys):
    """Files that already have their new content get their old one back."""
    for name in ("out.csv", "model.npz"):
        (folder / name).write_text("as before")
    moved, replace = [], Path.replace

    def stopped(path, to):
        moved.append(to)
        if len(moved) == nth:
            signal.raise_signal(number)
        return replace(path, to)

    monkeypatch.setattr(Path, "replace", stopped)
    before = names(folder)
    expect(STOPS[number], refine(monkeypatch, capsys, "--save", "model.npz"))
    assert names(folder) == before
    assert {(folder / name).read_text() for name in ("out.csv", "model.npz")} == {"as before"}


def test_what_a_killed_run_left_is_removed_by_the_next_one_but_not_what_a_running_one_has(tmp_path):
    """A run locks its unfinished files, and the system lifts the lock of a process that is killed."""
    code = (
        "import sys; from pathlib import Path; from manifuse.files import unfinished\n"
        "with unfinished(Path(sys.argv[1], 'out')) as made:\n"
        "    (made / 'half.csv').write_text('half'); print(made, flush=True); sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running, killed = (subprocess.Popen([sys.executable, "-c", code, tmp_path], **pipes) for _ in range(2))
    with running, killed:
        kept, left = (Path(each.stdout.readline().strip()) for each in (running, killed))
        killed.kill()
        killed.wait()
        assert {path.parent for path in tmp_path.glob(".*/half.csv")} == {kept, left}
        files.write_whole(tmp_path / "out.csv", lambda path: path.write_text("whole"))
        assert [path.parent for path in tmp_path.glob(".*/half.csv")] == [kept]
        running.communicate("")
    assert names(tmp_path) == ["out.csv"]


def test_a_saved_refinement_of_another_kind_is_refused(folder, monkeypatch, capsys):
    assert refine(monkeypatch, capsys, "--save", "model.npz")[0] == 0
    with np.load("model.npz") as archive:
        arrays = dict(archive)
    content = json.loads(bytes(arrays["plain"])) | {"format": 99}
    np.savez("later.npz", **(arrays | {"plain": np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)}))
    np.savez(
        "changed.npz", **{name: array if array.dtype.kind != "f" else 2.0 * array for name, array in arrays.items()}
    )
    Path("cut.npz").write_bytes(Path("model.npz").read_bytes()[:5000])
    before = names(folder)
    for model, name in {
        "later.npz": "a saved refinement of a later version",
        "changed.npz": "a saved refinement that was changed",
        "cut.npz": "a saved refinement cut short",
        "main.csv": "a table in place of a saved refinement",
    }.items():
        expect(name, run(monkeypatch, capsys, "apply", model, "main.csv", "--out", "new.csv"))
    assert names(folder) == before


def test_what_is_applied_is_not_written_over(folder, monkeypatch, capsys):
    assert refine(monkeypatch, capsys, "--save", "model.npz")[0] == 0
    Path("link.npz").symlink_to("model.npz")
    kept = {name: Path(name).read_bytes() for name in ("main.csv", "model.npz")}
    for out, name in {
        "main.csv": "later rows and the output in one file",
        "model.npz": "a saved refinement and the output in one file",
        "link.npz": "a saved refinement and the output in one file",
    }.items():
        expect(name, run(monkeypatch, capsys, "apply", "model.npz", "main.csv", "--out", out))
    assert kept == {name: Path(name).read_bytes() for name in kept}


def test_an_error_of_polars_is_a_refusal_too(tmp_path):
    # For columns that a format cannot hold, polars raises its own errors.
    with pytest.raises(mf.InputError, match="cannot be written"):
        write_table(tmp_path / "out.csv", {"id": np.array([b"a"]), "score": np.array([[1.0, 2.0]])})
    assert not list(tmp_path.iterdir())
