"""The store: rows are whole or not there, once, and of one version."""

import errno
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

import manifuse as mf
from manifuse.errors import OutputError
from manifuse_study.experiments.store import Row, open_store, read_rows, select

#: What a method chose from a surface.
SURFACE = {
    "step_sizes": [0.1, 1],
    "weight_scales": [0.5, 2],
    "step_size": 1,
    "weight_scale": 0.5,
    "surface": [[0.5, 0.6], [0.7, 0.8]],
}

CUT = 'hyperparameters is {"step_sizes": [0.1, 1]...'


def row(**changes):
    values = {
        "dataset": "hw",
        "protocol": "decoupled",
        "task": "fac",
        "trial": 0,
        "method": "Ind",
        "status": "done",
        "accuracy": 0.9,
        "seconds": 1.5,
        "reason": "",
        "hyperparameters": {"penalty": 0.1},
        "seed": 100,
        "provenance": {"commit": "abc"},
    }
    return Row(**{**values, **changes})


def test_rows_come_back_as_they_went(tmp_path):
    rows = [
        row(),
        row(trial=1, hyperparameters=SURFACE),
        row(method="JMD", status="failed", accuracy=None, seconds=None, reason="why"),
    ]
    with open_store(tmp_path / "results", version="1") as store:
        store.append(rows)
    assert read_rows(tmp_path / "results") == rows
    assert select(rows, method="JMD", status="failed") == rows[2:]
    assert rows[0].flat()["hyperparameters"] == '{"penalty": 0.1}'
    assert rows[0].flat()["commit"] == "abc"


def test_a_row_is_there_once_however_often_it_is_appended(tmp_path):
    for _ in range(2):
        with open_store(tmp_path, version="1") as store:
            store.append([row()])
            store.append([row(accuracy=0.1), row(trial=1)])
    assert [found.accuracy for found in read_rows(tmp_path)] == [0.9, 0.9]


def test_a_half_written_last_row_is_cut_off_and_no_other(tmp_path):
    with open_store(tmp_path, version="1") as store:
        store.append([row(), row(trial=1)])
    path = tmp_path / "rows.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    with open_store(tmp_path, version="1") as store:
        assert store.was_cut
        assert store.keys == {row().key}
        store.append([row(trial=1)])
    assert read_rows(tmp_path) == [row(), row(trial=1)]


def test_a_folder_is_written_to_by_one_run_at_a_time(tmp_path):
    with (
        open_store(tmp_path, version="1"),
        pytest.raises(mf.InputError, match="Another run"),
        open_store(tmp_path, version="1"),
    ):
        pass
    with open_store(tmp_path, version="1") as store:
        assert not store.was_cut


def spoil(folder, line):
    with (folder / "rows.jsonl").open("ab") as file:
        file.write(line)


@pytest.mark.parametrize(
    "harm, says",
    [
        (lambda folder: spoil(folder, b"{}\n"), r"Row 2 .* damaged"),
        (lambda folder: spoil(folder, b"\xff\xfe\n"), r"Row 2 .* damaged"),
        (lambda folder: spoil(folder, b'{"a":' * 100_000 + b"\n"), r"Row 2 .* damaged"),
        (lambda folder: (folder / "run.json").unlink(), "no readable run"),
        (lambda folder: (folder / "run.json").write_text('{"format": 99, "manifuse": "9"}'), "results of format 99"),
        (lambda folder: (folder / "run.json").write_text('{"format": 1, "manifuse": "0"}'), "results of manifuse 0"),
    ],
)
def test_a_folder_that_is_not_this_runs_is_refused_and_left_as_it_was(harm, says, tmp_path):
    with open_store(tmp_path, version="1") as store:
        store.append([row()])
    harm(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(mf.InputError, match=says), open_store(tmp_path, version="1"):
        pass
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_place_that_is_no_results_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(mf.InputError, match="is a file"), open_store(tmp_path / "file", version="1"):
        pass
    with pytest.raises(mf.InputError, match="holds no rows"):
        read_rows(tmp_path)


@pytest.mark.parametrize(
    "files", [{"run.json": '{"my": "run"}'}, {"rows.jsonl": '{"a": 1}'}, {"run.json": "{}", "rows.jsonl": '{"a": 1}'}]
)
def test_files_of_others_stay_as_they_are(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(mf.InputError, match="no readable run"), open_store(tmp_path, version="1"):
        pass
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == files


def test_a_full_disk_loses_the_rows_in_flight_and_no_other(tmp_path, monkeypatch):
    with open_store(tmp_path, version="1") as store:
        store.append([row()])
        before = (tmp_path / "rows.jsonl").read_bytes()

        def full(file):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(OutputError, match="No space left"):
                store.append([row(trial=1)])
        assert (tmp_path / "rows.jsonl").read_bytes() == before
        store.append([row(trial=1)])
    assert read_rows(tmp_path) == [row(), row(trial=1)]


def test_a_file_that_may_not_grow_keeps_its_whole_rows_and_closes(tmp_path):
    """As on a full disk: a part of the rows is written before the system refuses."""
    usual, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with open_store(tmp_path, version="1") as store:
            store.append([row()])
            before = (tmp_path / "rows.jsonl").read_bytes()
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, usual[1]))
            with pytest.raises(OutputError, match="File too large"):
                store.append([row(trial=1), row(trial=2)])
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        assert (tmp_path / "rows.jsonl").read_bytes() == before
        with open_store(tmp_path, version="1") as store:
            assert not store.was_cut
            store.append([row(trial=1)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        signal.signal(signal.SIGXFSZ, ignored)
    assert read_rows(tmp_path) == [row(), row(trial=1)]


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("trial", "first", 'trial is "first"'),
        ("trial", -1, "trial is -1"),
        ("trial", True, "trial is true"),
        ("seed", 1.5, "seed is 1.5"),
        ("accuracy", float("nan"), "accuracy is NaN"),
        ("accuracy", 7.5, "accuracy is 7.5"),
        ("accuracy", "0.9", 'accuracy is "0.9"'),
        ("accuracy", None, "its status is done, and its accuracy is None"),
        ("seconds", float("inf"), "seconds is Infinity"),
        ("seconds", -1, "seconds is -1"),
        ("status", "fine", 'status is "fine"'),
        ("protocol", None, "protocol is null"),
        ("method", 3, "method is 3"),
        ("hyperparameters", [], "hyperparameters is []"),
        ("hyperparameters", {"surface": 3}, 'hyperparameters is {"surface": 3}'),
        ("hyperparameters", {**SURFACE, "weight_scale": 5}, CUT),
        ("hyperparameters", {**SURFACE, "surface": [[0.5], [0.6]]}, CUT),
        ("task", "fac\ud800", 'task is "fac\\ud800"'),
        ("provenance", {"commit": 3}, 'provenance is {"commit": 3}'),
    ],
)
def test_a_row_with_values_of_another_kind_is_refused(tmp_path, name, value, says):
    with open_store(tmp_path, version="1") as store:
        store.append([row()])
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}) + "\n")
    with pytest.raises(mf.InputError, match=f"Row 1 of .* is damaged .{re.escape(says)}.; delete this line"):
        read_rows(tmp_path)


WRITER = """
import sys
from pathlib import Path
from manifuse_study.experiments.store import Row, open_store
with open_store(Path(sys.argv[1]), version="1") as store:
    common = {"dataset": "hw", "protocol": "decoupled", "task": "fac", "status": "done", "accuracy": 0.5}
    common |= {"seed": 1, "provenance": {}}
    for trial in range(100_000):
        rows = [
            Row(trial=trial, method=f"m{k}", hyperparameters={"pad": "x" * 3000}, **common) for k in range(5)
        ]
        store.append(rows)
"""


def test_a_run_killed_at_any_moment_leaves_whole_rows(tmp_path):
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)])
        while not (tmp_path / "rows.jsonl").exists() or (tmp_path / "rows.jsonl").stat().st_size < 50_000:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with open_store(tmp_path, version="1"):
            rows = read_rows(tmp_path)
        assert len({found.key for found in rows}) == len(rows) > 0
        lines = (tmp_path / "rows.jsonl").read_text().splitlines()
        assert all(json.loads(line)["hyperparameters"]["pad"] for line in lines)
