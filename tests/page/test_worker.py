"""Jobs, each in a process of its own, end, fail, crash or are cancelled, and the worker goes on."""

import os
import time
import warnings

import pytest
from tests.page.test_exploration import explored
from tests.problems import draw

import manifuse as mf
from manifuse.page.worker import ENDED, OURS, Worker


def succeed(exploration, argument, tell):
    tell("halfway")
    warnings.warn("mind the gap", mf.ManifuseWarning, stacklevel=1)
    return f"{exploration.title} {argument}".encode()


def refuse(exploration, argument, tell):
    raise mf.InputError("Seven came, but six was expected.")


def fail(exploration, argument, tell):
    raise ZeroDivisionError(argument)


def crash(exploration, argument, tell):
    os._exit(9)


def dawdle(exploration, argument, tell):
    tell("dawdling")
    time.sleep(60)
    return b""


@pytest.fixture(scope="module")
def worker():
    worker = Worker(explored(draw(0)))
    yield worker
    worker.close()
    assert worker._process.exitcode is not None


def until(worker, job, condition):
    deadline = time.monotonic() + 30
    while not condition(worker.find(job.name)):
        assert time.monotonic() < deadline, job
        time.sleep(0.01)
    return worker.find(job.name)


def finished(worker, work, argument=None):
    return until(worker, worker.submit(work, argument), lambda job: job.state != "running")


def test_a_job_gives_its_result_its_stage_and_its_warnings(worker):
    job = finished(worker, succeed, 7)
    assert (job.state, job.result, job.stage, job.notes) == ("done", b"toy 7", "halfway", ["mind the gap"])
    assert job.report()["seconds"] == worker.find(job.name).report()["seconds"]
    assert worker.find("1000") is None


def test_failures_are_sentences_and_the_worker_goes_on(worker):
    assert finished(worker, refuse).message == "Seven came, but six was expected."
    failed = finished(worker, fail, 3)
    assert (failed.state, failed.message) == ("failed", OURS)
    crashed = finished(worker, crash)
    assert (crashed.state, crashed.message) == ("failed", ENDED)
    assert finished(worker, succeed, 8).result == b"toy 8"


def test_a_cancelled_job_is_killed_and_the_next_one_runs(worker):
    job = worker.submit(dawdle, None)
    until(worker, job, lambda seen: seen.stage == "dawdling")
    killed = worker._process
    with pytest.raises(mf.InputError, match="Another computation is running"):
        worker.submit(succeed, 1)
    assert worker.latest(dawdle) is job
    worker.cancel(job)
    assert worker.find(job.name).state == "cancelled"
    assert worker.latest(dawdle) is job
    assert killed.exitcode is not None
    assert finished(worker, succeed, 9).result == b"toy 9"
    worker.cancel(job)
    assert job.state == "cancelled"


def test_only_the_last_results_are_kept(worker):
    jobs = [finished(worker, succeed, number) for number in range(4)]
    assert [job.result is None for job in jobs] == [True, False, False, False]
    assert worker.latest(succeed) is jobs[-1]
    assert all(job.state == "done" for job in jobs)
