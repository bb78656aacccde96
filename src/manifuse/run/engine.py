"""Jobs of a run that the workers of a Dask cluster compute."""

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from manifuse.errors import InputError, OutputError, require
from manifuse.files import shorten

#: ``each(function, jobs, *shared)`` yields ``function(job, *shared)`` in the order of the jobs, as soon as it is
#: computed. Every worker gets the shared values once.
Each = Callable[..., Iterator[Any]]

#: Names of engines: a new Dask cluster on this machine, and what an address of a running cluster begins with.
DASK, ADDRESS = "dask", "dask://"

#: Seconds to wait for the scheduler of a cluster that should be running, or for its workers.
PATIENCE = 20


@contextmanager
def cluster(engine: str, jobs: int) -> Iterator[Each]:
    """Yield a function that computes jobs.

    Parameters
    ----------
    engine : str
        ``"dask"`` or ``"dask://HOST:PORT"``. If a worker dies, others take its jobs. The workers of a cluster
        elsewhere need this package, and the data folder at the same path as here.
    jobs : int
        Workers of one thread each; -1 for one per core. A running cluster keeps its own number.

    Yields
    ------
    callable
        See `Each`. It raises OutputError if workers are killed, or the cluster is lost.

    Raises
    ------
    InputError
        If there is no such engine, or no scheduler answers at the address.
    MissingExtraError
        If Dask is asked for and not installed.
    """
    if engine != DASK and not engine.startswith(ADDRESS):
        raise InputError(f"engine={engine!r} came, but {DASK!r} or '{ADDRESS}HOST:PORT' was expected.")
    distributed = require("distributed", extra="dask", purpose=f"The engine {engine!r}")
    dask = require("dask", extra="dask", purpose=f"The engine {engine!r}")
    # A trained ranker can be larger than the size at which Dask warns.
    with (
        dask.config.set({"distributed.admin.large-graph-warning-threshold": "4GB"}),
        _connect(distributed, engine, jobs) as client,
    ):
        yield partial(_on_cluster, client, distributed)


def _on_cluster(
    client: Any, distributed: Any, function: Callable[..., Any], jobs: Iterable[Any], *shared: Any
) -> Iterator[Any]:
    # As the result of a task a shared value travels once, and Dask computes it again if the workers that have it die.
    there = [client.submit(_itself, value, pure=False) for value in shared]
    futures = [client.submit(function, job, *there, pure=False) for job in jobs]
    for future in futures:
        try:
            _await(future, client, distributed)
            yield future.result()
        except distributed.KilledWorker as error:
            raise OutputError(
                f"A job took down every worker that it was given to ({error}). Give the workers more memory, and run "
                "the same command again."
            ) from error
        except (CancelledError, OSError) as error:
            raise OutputError(
                f"The Dask cluster was lost ({shorten(error) or type(error).__name__}). Nothing is half written: "
                "run the same command again when the cluster is back."
            ) from error


def _await(future: Any, client: Any, distributed: Any) -> None:
    """Wait for a job.

    Raises
    ------
    OSError
        If the cluster has no scheduler or no workers for `PATIENCE` seconds.
    """
    since = time.monotonic()
    while True:
        with suppress(TimeoutError):
            distributed.wait(future, timeout=1.0)
            return
        if client.status == "running" and client.nthreads():
            since = time.monotonic()
        elif time.monotonic() - since > PATIENCE:
            raise OSError(f"it has no {'workers' if client.status == 'running' else 'scheduler'}")


def _connect(distributed: Any, engine: str, jobs: int) -> Any:
    """Start a Dask cluster on this machine, or connect to the one at the address."""
    if engine == DASK:
        count = None if jobs == -1 else jobs
        return distributed.Client(n_workers=count, threads_per_worker=1, dashboard_address=":0")
    address = f"tcp://{engine.removeprefix(ADDRESS)}"
    try:
        return distributed.Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise InputError(
            f"No Dask scheduler answers at {address} ({type(error).__name__}); start one with 'dask scheduler', "
            f"or use {DASK!r}."
        ) from None


def _itself(value: Any) -> Any:
    return value
