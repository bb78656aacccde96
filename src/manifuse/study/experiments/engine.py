"""Where the jobs of a run are worked on: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, cpu_count, delayed

from manifuse.errors import InputError, OutputError, require

#: ``each(function, jobs, *shared)`` yields ``function(job, *shared)`` in the order of the jobs, as they come; what is
#: shared goes to every worker once.
Each = Callable[..., Iterator[Any]]

#: Names of engines: processes of this machine, a Dask cluster of this machine, one that runs already.
PROCESSES, DASK, ADDRESS = "processes", "dask", "dask://"

#: Seconds to wait for the scheduler of a cluster that should be running.
PATIENCE = 10


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


@contextmanager
def connect(engine: str, workers: int) -> Iterator[Any]:
    """Connect to a Dask cluster, and start one on this machine if no address is given.

    Parameters
    ----------
    engine : str
        ``"dask"`` or ``"dask://HOST:PORT"``.
    workers : int
        Workers of a cluster that is started here, one thread each; -1 for one per core.

    Yields
    ------
    distributed.Client

    Raises
    ------
    InputError
        If no scheduler answers at the address.
    MissingExtraError
        If Dask is not installed.
    """
    distributed = require("distributed", extra="dask", purpose=f"The engine {engine!r}")
    dask = require("dask", extra="dask", purpose=f"The engine {engine!r}")
    # A trained ranker can be larger than the size at which Dask warns.
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "4GB"}):
        if engine == DASK:
            count = cpu_count() if workers == -1 else workers
            options = {"n_workers": count, "threads_per_worker": 1, "dashboard_address": ":0"}
            with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
                yield client
            return
        address = f"tcp://{engine.removeprefix(ADDRESS)}"
        try:
            client = distributed.Client(address, timeout=PATIENCE)
        except (OSError, ValueError) as error:
            raise InputError(
                f"No Dask scheduler answers at {address} ({type(error).__name__}); start one with 'dask scheduler', "
                f"or use {DASK!r}."
            ) from None
        with client:
            yield client


def _itself(value: Any) -> Any:
    return value
