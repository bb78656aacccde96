"""Jobs, each in a process of its own, end, fail, crash or are cancelled, and the worker goes on."""

import os
import time
import warnings

import pytest

import manifuse as mf
from manifuse.page.worker import ENDED, OURS, Worker


def succeed(number):
    warnings.warn("mind the gap", mf.ManifuseWarning, stacklevel=1)
    return f"the result of {number}"


def refuse(number):
    raise mf.InputError("Seven came, but six was expected.")


def fail(number):
    raise ZeroDivisionError(number)


def crash(number):
    os._exit(9)


def dawdle(number):
    time.sleep(60)


def work(argument):
    """Do what the argument names, with the number in it."""
    what, number = argument
    return what(number)


@pytest.fixture
def worker():
    worker = Worker(work, (succeed, -1))
    yield worker
    worker.close()
    assert worker._process.exitcode is not None


def finished(worker, what, number=0):
    """The job of this argument, once it has ended."""
    job, deadline = worker.submit((what, number)), time.monotonic() + 30
    while worker.find(job.name).state == "running":
        assert time.monotonic() < deadline, job
        time.sleep(0.01)
    return job


def test_a_job_gives_its_result_and_its_warnings(worker):
    job = finished(worker, succeed, 7)
    assert (job.state, job.result, job.notes) == ("done", "the result of 7", ["mind the gap"])
    assert job.report()["seconds"] == worker.find(job.name).report()["seconds"]
    assert worker.find("1000") is None


def test_a_job_that_nobody_looked_at_took_as_long_as_it_took(worker):
    job = worker.submit((succeed, 8))
    job.started -= 1000.0
    assert worker._connection.poll(30)
    assert worker.find(job.name).state == "done"
    assert job.seconds < 900.0


def test_failures_are_sentences_and_the_worker_goes_on(worker):
    assert finished(worker, refuse).message == "Seven came, but six was expected."
    failed = finished(worker, fail, 3)
    assert (failed.state, failed.message) == ("failed", OURS)
    crashed = finished(worker, crash)
    assert (crashed.state, crashed.message) == ("failed", ENDED)
    assert finished(worker, succeed, 8).result == "the result of 8"


def test_a_cancelled_job_is_killed_and_the_next_one_runs(worker):
    job = worker.submit((dawdle, 0))
    killed = worker._process
    assert worker.latest() is job
    worker.cancel(job)
    assert worker.find(job.name).state == "cancelled"
    # Neither that one nor the first, whose place it took, has a result.
    assert worker.latest() is job
    assert killed.exitcode is not None
    assert finished(worker, succeed, 9).result == "the result of 9"
    worker.cancel(job)
    assert job.state == "cancelled"


def test_a_new_job_takes_the_place_of_the_one_that_runs(worker):
    job = worker.submit((dawdle, 0))
    killed = worker._process
    assert finished(worker, succeed).state == "done"
    assert job.state == "cancelled"
    assert killed.exitcode is not None


def test_what_was_computed_is_not_computed_again(worker):
    job = finished(worker, succeed)
    finished(worker, succeed, 1)
    assert worker.submit((succeed, 0)) is job
    assert worker.latest() is job
    # What failed may be tried again.
    assert finished(worker, refuse) is not finished(worker, refuse)


def test_the_last_results_stay(worker):
    jobs = [finished(worker, succeed, number) for number in range(-1, 4)]
    assert [job.result is None for job in jobs] == [True, False, False, False, False]
    assert worker.latest() is jobs[-1]
    assert all(job.state == "done" for job in jobs)
