"""Worker: long computations in a process of their own, which can be ended at any time."""

from __future__ import annotations

import itertools
import multiprocessing
import signal
import sys
import threading
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

#: A computation: what is explored, its argument, and whom to tell how far it is, to bytes.
Work = Callable[[Exploration, Any, Tell], bytes]

#: Results that are kept of each kind of work.
KEPT = 2

OURS = "The computation failed, and not by your input; the terminal that runs manifuse says how."
ENDED = "The computation ended before its time, perhaps for want of memory; try fewer neighbours or smaller tables."


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
        What is being done, in words.
    message : str
        Why it failed.
    notes : list of str
        What it warned of.
    result : bytes or None
        None also where later jobs have taken its place.
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
        seconds = time.monotonic() - self.started if self.state == "running" else self.seconds
        return {
            "job": self.name,
            "state": self.state,
            "stage": self.stage,
            "message": self.message,
            "notes": self.notes,
            "seconds": round(seconds, 3),
        }


class Worker:
    """One process that computes one job at a time; to cancel is to kill it and start another.

    Parameters
    ----------
    exploration : Exploration
        Given to the process once, when it starts.

    Notes
    -----
    All methods may be called from any thread.
    """

    def __init__(self, exploration: Exploration) -> None:
        self._exploration = exploration
        self._lock = threading.Lock()
        self._names = itertools.count(1)
        self._jobs: dict[str, Job] = {}
        self._current: Job | None = None
        self._start()

    def submit(self, work: Work, argument: Any) -> Job:
        """Begin a job.

        Raises
        ------
        InputError
            If another is running.
        """
        with self._lock:
            self._look()
            if self._current is not None:
                raise InputError("Another computation is running; wait for it, or cancel it.")
            job = Job(str(next(self._names)), work, argument)
            self._jobs[job.name] = self._current = job
            alike = [other for other in self._jobs.values() if other.work is work and other.result is not None]
            for other in alike[:-KEPT]:
                other.result = None
            try:
                self._connection.send((work, argument))
            except OSError:
                # It died while it had nothing to do.
                self._restart()
                self._connection.send((work, argument))
            return job

    def find(self, name: str) -> Job | None:
        """Return the job of this name as it stands, None if there is none."""
        with self._lock:
            self._look()
            return self._jobs.get(name)

    def latest(self, work: Work) -> Job:
        """Return the last job of a kind that runs or has a result, else the last one; there must be one."""
        with self._lock:
            self._look()
            alike = [job for job in self._jobs.values() if job.work is work]
            return next(
                (job for job in reversed(alike) if job.state == "running" or job.result is not None), alike[-1]
            )

    def cancel(self, job: Job) -> None:
        """End a job; one that is over stays as it is."""
        with self._lock:
            self._look()
            if job is self._current:
                self._finish("cancelled")
                self._restart()

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._current is not None:
                self._finish("cancelled")
            self._stop()

    def _start(self) -> None:
        self._connection, theirs = multiprocessing.Pipe()
        self._process = _context().Process(target=_serve, args=(theirs, self._exploration), daemon=True)
        self._process.start()
        theirs.close()

    def _restart(self) -> None:
        self._stop()
        self._start()

    def _stop(self) -> None:
        self._process.kill()
        self._process.join()
        self._connection.close()

    def _finish(self, state: State) -> None:
        assert self._current is not None, "only a running job ends"
        self._current.seconds = time.monotonic() - self._current.started
        self._current.state = state
        self._current = None

    def _look(self) -> None:
        """Take in what the process has said since."""
        try:
            while self._current is not None and self._connection.poll():
                kind, content = self._connection.recv()
                if kind == "done":
                    self._current.result = content
                    self._finish("done")
                elif kind == "failed":
                    self._current.message = content
                    self._finish("failed")
                elif kind == "note":
                    self._current.notes.append(content)
                else:
                    self._current.stage = content
        except (EOFError, OSError):
            assert self._current is not None, "nothing is read where nothing runs"
            self._current.message = ENDED
            self._finish("failed")
            self._restart()


def _context() -> Any:
    """How processes are started: never by a plain fork, for the server has threads, and a fork amid them may hang."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    # Imported once, so that a process after a cancelled one is there at once.
    context.set_forkserver_preload(["manifuse.page.exploration"])
    return context


def _serve(connection: Connection, exploration: Exploration) -> None:
    """Compute jobs until the other end is gone."""
    # Ctrl-C reaches the whole group; the server it is who ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            work, argument = connection.recv()
        except EOFError:
            return
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                answer = ("done", work(exploration, argument, lambda stage: connection.send(("stage", stage))))
            except ManifuseError as error:
                answer = ("failed", str(error))
            except Exception:
                traceback.print_exc(file=sys.stderr)
                answer = ("failed", OURS)
        for warning in caught:
            if issubclass(warning.category, ManifuseWarning):
                connection.send(("note", str(warning.message)))
        connection.send(answer)
