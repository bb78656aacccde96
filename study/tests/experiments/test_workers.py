"""Engines: the same rows wherever the jobs run, also when a worker dies."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

import manifuse as mf
from manifuse.errors import MissingExtraError
from manifuse.run import engine
from manifuse_study.experiments.workers import workers


@dataclass(frozen=True)
class Job:
    """Says who it ran on; one with a marker takes its worker down unless the marker is there, and may leave it."""

    number: int
    marker: Path | None = None
    leaves_marker: bool = True

    def __call__(self, offset: int) -> tuple[int, int]:
        if self.marker is not None and not self.marker.exists():
            if self.leaves_marker:
                self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.number + offset, os.getpid()


def work(job, offset):
    return job(offset)


@pytest.fixture(scope="module")
def dask_workers():
    """Two workers of Dask, which give a job up that has taken both down."""
    pytest.importorskip("distributed")
    import dask

    with dask.config.set({"distributed.scheduler.allowed-failures": 1}), workers("dask", 2) as each:
        yield each


@pytest.fixture(params=["processes", "dask"])
def each(request):
    if request.param == "dask":
        yield request.getfixturevalue("dask_workers")
    else:
        with workers("processes", 2) as each:
            yield each


def test_results_come_in_the_order_of_the_jobs_from_other_processes(each):
    found = list(each(work, [Job(number) for number in range(6)], 10))
    assert [value for value, _ in found] == [10, 11, 12, 13, 14, 15]
    assert os.getpid() not in {process for _, process in found}


def test_the_jobs_of_a_worker_that_dies_are_done_by_others(dask_workers, tmp_path):
    jobs = [Job(number, tmp_path / "died" if number == 2 else None) for number in range(8)]
    assert [value for value, _ in dask_workers(work, jobs, 1)] == list(range(1, 9))
    assert (tmp_path / "died").exists()


def test_a_job_that_takes_every_worker_down_ends_in_one_sentence(dask_workers, tmp_path):
    with pytest.raises(mf.ManifuseError, match="took down every worker"):
        list(dask_workers(work, [Job(0, tmp_path / "marker", leaves_marker=False)], 0))


@pytest.mark.usefixtures("dask_workers")
def test_a_scheduler_elsewhere_is_connected_to():
    from distributed import default_client

    address = default_client().scheduler.address.removeprefix("tcp://")
    with workers(f"dask://{address}", -1) as each:
        assert [value for value, _ in each(work, [Job(4)], 1)] == [5]


def test_a_scheduler_that_is_not_there_is_refused(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(engine, "PATIENCE", 1)
    with (
        pytest.raises(mf.InputError, match=r"No Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        workers("dask://127.0.0.1:9", 1),
    ):
        pass


def test_an_unknown_engine_is_refused():
    with (
        pytest.raises(mf.InputError, match="'processes', 'dask' or 'dask://HOST:PORT' was expected"),
        workers("ray", 1),
    ):
        pass


def test_without_dask_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'manifuse\[dask\]'"), workers("dask", 1):
        pass


def test_a_process_that_is_killed_ends_in_one_sentence(tmp_path):
    with workers("processes", 2) as each, pytest.raises(mf.ManifuseError, match="A process was killed"):
        list(each(work, [Job(0), Job(1, tmp_path / "marker", leaves_marker=False)], 0))


PARENT = """
import os, sys, time
from manifuse_study.experiments.workers import workers
def name(job):
    # In one piece, as the other worker writes at the same time.
    os.write(1, f"{os.getpid()}\\n".encode())
    time.sleep(1.0)
with workers("processes", 2) as each:
    list(each(name, range(2)))
    print("done", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_their_parent(sent):
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        names = {int(parent.stdout.readline()) for _ in range(2)}
        assert parent.stdout.readline() == "done\n"
        parent.send_signal(sent)
    deadline = time.monotonic() + 20
    while any(Path(f"/proc/{name}").exists() for name in names) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not [name for name in names if Path(f"/proc/{name}").exists()]
