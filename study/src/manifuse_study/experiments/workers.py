"""Where the jobs of an experiment are computed: in processes of this machine, or by the workers of a Dask cluster."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from typing import Any

from joblib import Parallel, delayed

from manifuse.errors import InputError, OutputError
from manifuse.run.engine import ADDRESS, DASK, Each, cluster

PROCESSES = "processes"


@contextmanager
def workers(engine: str, jobs: int) -> Iterator[Each]:
    """Yield a function that computes jobs.

    Parameters
    ----------
    engine : str
        ``"processes"``, or as of `cluster`.
    jobs : int
        Processes, or as of `cluster`; -1 for one per core.

    Yields
    ------
    callable
        See `Each`. It raises OutputError if processes or workers are killed, or the cluster is lost.

    Raises
    ------
    InputError
        If there is no such engine; else as of `cluster`.
    """
    if engine == PROCESSES:
        with Parallel(n_jobs=jobs, return_as="generator", initializer=_end_with_parent) as parallel:
            yield partial(_in_processes, parallel)
        return
    if not engine.startswith(DASK):
        raise InputError(f"engine={engine!r} came, but {PROCESSES!r}, {DASK!r} or '{ADDRESS}HOST:PORT' was expected.")
    with cluster(engine, jobs) as each:
        yield each


def _in_processes(parallel: Any, function: Callable[..., Any], jobs: Iterable[Any], *shared: Any) -> Iterator[Any]:
    try:
        yield from parallel(delayed(function)(job, *shared) for job in jobs)
    except BrokenProcessPool as error:
        raise OutputError(
            "A process was killed, most likely because the memory ran out. All rows before are whole: run the same "
            "command again, with fewer --jobs."
        ) from error


def _end_with_parent() -> None:
    """Let this process end when its parent has ended, however that was; it looks once a second."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()
