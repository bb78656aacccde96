"""Where the jobs of a run are worked on: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed

from manifuse.cluster import ADDRESS, DASK, connect
from manifuse.errors import InputError, OutputError, require

#: ``each(function, jobs, *shared)`` yields ``function(job, *shared)`` in the order of the jobs, as they come; what is
#: shared goes to every worker once.
Each = Callable[..., Iterator[Any]]

#: What ``--engine`` may be besides ``DASK`` and an address: processes here.
PROCESSES = "processes"


def check_engine(engine: str) -> None:
    """Refuse an engine that is none, or that is not installed, before any work is done.

    Raises
    ------
    InputError
        If there is no such engine.
    MissingExtraError
        If Dask is asked for and not installed.
    """
    if engine == PROCESSES:
        return
    if engine != DASK and not engine.startswith(ADDRESS):
        raise InputError(f"engine={engine!r} came, but {PROCESSES!r}, {DASK!r} or '{ADDRESS}HOST:PORT' was expected.")
    require("distributed", extra="dask", purpose=f"The engine {engine!r}")


@contextmanager
def workers(engine: str, jobs: int) -> Iterator[Each]:
    """Yield what runs jobs.

    Parameters
    ----------
    engine : str
        ``"processes"``, ``"dask"``, or ``"dask://HOST:PORT"``. Jobs of a Dask worker that dies are given to another.
        The workers of a cluster elsewhere need this package, and the data folder where it is here.
    jobs : int
        Processes; -1 for one per core. A cluster that runs already has its own number.

    Raises
    ------
    InputError
        If there is no such engine, or no cluster at the address.
    MissingExtraError
        If Dask is asked for and not installed.
    OutputError
        From the results, if processes or workers are killed, or the cluster is lost.
    """
    check_engine(engine)
    if engine == PROCESSES:
        with Parallel(n_jobs=jobs, return_as="generator") as parallel:

            def here(function: Callable[..., Any], tasks: Iterable[Any], *shared: Any) -> Iterator[Any]:
                try:
                    yield from parallel(delayed(function)(task, *shared) for task in tasks)
                except BrokenProcessPool as error:
                    raise OutputError(
                        "A process was killed, most likely for want of memory; rows before are whole: run the same "
                        "command again, with fewer --jobs."
                    ) from error

            yield here
        return
    distributed = require("distributed", extra="dask", purpose=f"The engine {engine!r}")
    with connect(engine, jobs) as client:

        def each(function: Callable[..., Any], tasks: Iterable[Any], *shared: Any) -> Iterator[Any]:
            # As the result of a task it travels once, and is made anew should the workers that hold it die.
            held = [client.submit(_itself, value, pure=False) for value in shared]
            futures = [client.submit(function, task, *held, pure=False) for task in tasks]
            for future in futures:
                try:
                    yield future.result()
                except distributed.KilledWorker as error:
                    raise OutputError(
                        f"A job took every worker down that it was given to ({error}); give the workers more memory, "
                        "and run the same command again."
                    ) from error
                except (CancelledError, OSError) as error:
                    raise OutputError(
                        f"The Dask cluster was lost ({type(error).__name__}); rows before are whole: run the same "
                        "command again when it is back."
                    ) from error

        yield each


def _itself(value: Any) -> Any:
    return value
