"""Worker: long computations, each in a process of its own, which can be ended at any time."""

from __future__ import annotations

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

from manifuse.errors import InputError, ManifuseError, ManifuseWarning
from manifuse.page.exploration import Exploration, Tell

State = Literal["running", "done", "failed", "cancelled"]

#: A computation. It gets what is explored, its argument, and a function that takes a line about how far it is; it
#: returns bytes.
Work = Callable[[Exploration, Any, Tell], bytes]

#: How many results of each kind of work stay.
KEPT = 2

OURS = "The computation failed because of an error in manifuse; the terminal that runs it shows the error."
ENDED = "The computation ended early, perhaps for lack of memory; try fewer neighbours or smaller tables."


@dataclass(eq=False)
class Job:
    """One computation.

    Attributes
    ----------
    name : str
    work : callable
    argument : object
    state : str
    stage : str
        What it is doing, in words.
    message : str
        Why it failed.
    notes : list of str
        Its warnings.
    result : bytes or None
        None before it is done, and again once later jobs have replaced it.
    started : float
        When it began, on the clock of `time.monotonic`.
    seconds : float
        How long it has run so far, or ran.
    """

    name: str
    work: Work
    argument: Any
    state: State = "running"
    stage: str = "Starting"
    message: str = ""
    notes: list[str] = field(default_factory=list)
    result: bytes | None = None
    started: float = field(default_factory=time.monotonic)
    seconds: float = 0.0

    def report(self) -> dict[str, Any]:
        """How far it is, as plain data."""
        return {
            "job": self.name,
            "state": self.state,
            "stage": self.stage,
            "message": self.message,
            "notes": self.notes,
            "seconds": round(self.seconds, 3),
        }


class Worker:
    """Computes one job at a time, each in a process of its own; to cancel a job is to kill its process.

    Parameters
    ----------
    exploration : Exploration
        Every process gets a copy.

    Notes
    -----
    Only one thread may call the methods.
    """

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._jobs: list[Job] = []

    def submit(self, work: Work, argument: Any) -> Job:
        """Begin a job.

        Raises
        ------
        InputError
            If another is running.
        """
        if any(job.state == "running" for job in self._look()):
            raise InputError("Another computation is running; wait for it, or cancel it.")
        finished = [job for job in self._jobs if job.work is work and job.result is not None]
        for job in finished[:-KEPT]:
            job.result = None
        self._connection, theirs = multiprocessing.Pipe(duplex=False)
        given = (theirs, work, self._exploration, argument)
        self._process = _context().Process(target=_compute, args=given, daemon=True)
        self._process.start()
        theirs.close()
        self._jobs.append(Job(str(len(self._jobs) + 1), work, argument))
        return self._jobs[-1]

    def find(self, name: str) -> Job | None:
        """Return the job of this name, as far as it is now, or None."""
        return next((job for job in self._look() if job.name == name), None)

    def latest(self, work: Work) -> Job:
        """Return the last job of a kind that runs or has a result, else the last one; there must be one."""
        alike = [job for job in self._look() if job.work is work]
        return next((job for job in reversed(alike) if job.state == "running" or job.result is not None), alike[-1])

    def cancel(self, job: Job) -> None:
        """End a job; a job that has ended stays as it is."""
        self._look()
        if job.state == "running":
            job.state = "cancelled"
            self.close()

    def close(self) -> None:
        """End the process of the last job; there must be one."""
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


def _compute(connection: Connection, work: Work, exploration: Exploration, argument: Any) -> None:
    """Do a job in its process; every message says which attributes of the job have changed."""
    # Ctrl-C reaches the whole group of processes; the server is the one that ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    outcome: dict[str, Any]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = work(exploration, argument, lambda stage: connection.send({"stage": stage}))
            outcome = {"state": "done", "result": result}
        except ManifuseError as error:
            outcome = {"state": "failed", "message": str(error)}
        except Exception:
            traceback.print_exc(file=sys.stderr)
            outcome = {"state": "failed", "message": OURS}
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, ManifuseWarning)]
    connection.send({**outcome, "notes": notes})
