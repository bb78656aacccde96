"""Worker: long computations, each in a process of its own, which can be ended at any time."""

import multiprocessing
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Literal

from manifuse.errors import ManifuseError, ManifuseWarning

State = Literal["running", "done", "failed", "cancelled"]

#: How many results stay while a new one is computed.
KEPT = 3

OURS = "The computation failed because of an error in manifuse; the terminal that runs it shows the error."
ENDED = "The computation ended early, perhaps for lack of memory; try smaller tables."


@dataclass(eq=False)
class Job:
    """One computation.

    Attributes
    ----------
    name : str
    argument : object
    state : str
    message : str
        Why it failed.
    notes : list of str
        Its warnings.
    result : object
        None before it is done, and again once later jobs have replaced it.
    started : float
        When it began, on the clock of `time.monotonic`.
    seconds : float
        How long it has run so far, or ran.
    """

    name: str
    argument: Any
    state: State = "running"
    message: str = ""
    notes: list[str] = field(default_factory=list)
    result: Any = None
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    def report(self) -> dict[str, Any]:
        """How far it is, as plain data."""
        return {
            "job": self.name,
            "state": self.state,
            "message": self.message,
            "notes": self.notes,
            "seconds": round(self.seconds, 3),
        }


class Worker:
    """Computes one job at a time, each in a process of its own; to cancel a job is to kill its process.

    Parameters
    ----------
    work : callable
        The computation. It gets the argument of a job, and returns what is not None. Every process gets a copy.
    first : object
        The argument of the first job, which begins at once.

    Notes
    -----
    Only one thread may call the methods.
    """

    def __init__(self, work: Callable[[Any], Any], first: Any) -> None:
        self._work = work
        self._jobs: list[Job] = []
        self.submit(first)

    def submit(self, argument: Any) -> Job:
        """Begin a job, in the place of one that runs; if the result of this argument is there, return its job."""
        for job in self._look():
            self.cancel(job)
        known = next((job for job in self._jobs if job.argument == argument and job.result is not None), None)
        if known is not None:
            self._jobs.remove(known)
            self._jobs.append(known)
            return known
        done = [job for job in self._jobs if job.result is not None]
        for job in done[:-KEPT]:
            job.result = None
        self._connection, theirs = multiprocessing.Pipe(duplex=False)
        self._process = _context().Process(target=_compute, args=(theirs, self._work, argument), daemon=True)
        self._process.start()
        theirs.close()
        self._jobs.append(Job(str(len(self._jobs) + 1), argument))
        return self._jobs[-1]

    def find(self, name: str) -> Job | None:
        """Return the job of this name, as far as it is now, or None."""
        return next((job for job in self._look() if job.name == name), None)

    def latest(self) -> Job:
        """Return the job asked for last of those that run or have a result, or else the last one."""
        jobs = self._look()
        return next((job for job in reversed(jobs) if job.state == "running" or job.result is not None), jobs[-1])

    def cancel(self, job: Job) -> None:
        """End a job; a job that has ended stays as it is."""
        self._look()
        if job.state == "running":
            job.state = "cancelled"
            self.close()

    def close(self) -> None:
        """End the process of the last job."""
        self._process.kill()
        self._process.join()

    def _look(self) -> list[Job]:
        """Take in what the last job has said, the only one that can be running; return all jobs."""
        for job in self._jobs[-1:]:
            if job.state == "running":
                job.seconds = time.monotonic() - job.started
            try:
                while job.state == "running" and self._connection.poll():
                    vars(job).update(self._connection.recv())
            except (EOFError, OSError):
                job.state, job.message = "failed", ENDED
        return self._jobs


def _context() -> Any:
    """How processes are started: never by a plain fork, which may hang in a program with threads."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # Imported once, so that every process starts at once.
    context.set_forkserver_preload(["manifuse.page.exploration"])
    return context


def _compute(connection: Connection, work: Callable[[Any], Any], argument: Any) -> None:
    """Do a job in its process; the message says which attributes of the job have changed."""
    # Ctrl-C reaches the whole group of processes; the server is the one that ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    outcome: dict[str, Any]
    begun = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = {"state": "done", "result": work(argument)}
        except ManifuseError as error:
            outcome = {"state": "failed", "message": str(error)}
        except Exception:
            traceback.print_exc(file=sys.stderr)
            outcome = {"state": "failed", "message": OURS}
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, ManifuseWarning)]
    # The time is measured here, because the page may ask for the outcome long after the job has ended.
    connection.send({**outcome, "notes": notes, "seconds": time.monotonic() - begun})
