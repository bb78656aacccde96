"""Connection: a Dask client, as what is kept with its workers speaks to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from joblib import cpu_count

from manifuse.errors import InputError, OutputError, require

#: What an engine may be called: a Dask cluster of this machine, or one that runs already.
DASK, ADDRESS = "dask", "dask://"

#: Seconds to wait for the scheduler of a cluster that is said to run.
PATIENCE = 10

#: What a worker holds or will hold: a future, or the key of a task that is not started yet.
Held = Any


@contextmanager
def connect(engine: str, workers: int = -1) -> Iterator[Any]:
    """Connect to a cluster, and to one made for the time being if none runs.

    Parameters
    ----------
    engine : str
        ``"dask"`` or ``"dask://HOST:PORT"``.
    workers : int
        Of a cluster that is made, each of one thread; -1 for one per core.

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
    # What tasks are given is large at times, and meant to be.
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


class Connection:
    """The way to the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client

    Raises
    ------
    InputError
        If it has no workers.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.demand_workers()

    def demand_workers(self) -> None:
        """Wait for a worker, but not for long.

        Raises
        ------
        InputError
            If there is none.
        """
        distributed = require("distributed", extra="dask", purpose="A cluster")
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (distributed.TimeoutError, TimeoutError):
            raise InputError("The Dask scheduler has no workers; start some with 'dask worker'.") from None

    def threads(self) -> list[str]:
        """Address of the worker of every thread; those of a worker, and of a machine, stand together."""
        return [address for address, count in sorted(self._client.nthreads().items()) for _ in range(count)]

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Held:
        """Have any worker call a function; arguments that are futures are what these come to."""
        return self._client.submit(function, *arguments, pure=False)

    def tasks(self) -> Tasks:
        """Begin to collect tasks."""
        return Tasks(self._client)

    def gather(self, futures: Sequence[Held]) -> list[Any]:
        """Wait for results.

        Raises
        ------
        OutputError
            If the cluster is lost, or a task takes every worker down.
        """
        distributed = require("distributed", extra="dask", purpose="A cluster")
        try:
            return list(self._client.gather(list(futures)))
        except (distributed.KilledWorker, MemoryError) as error:
            raise OutputError(
                f"A block of rows took every worker down that it was given to ({error}); give the workers more memory."
            ) from error
        except (CancelledError, OSError) as error:
            raise OutputError(f"The Dask cluster was lost ({type(error).__name__}); start it again.") from error


class Tasks:
    """Tasks that the scheduler is told of at once.

    What they come to is kept as long as somebody holds a future of it or another task needs it.

    A task goes to the worker that is named with it, and to another only where that one is busy or gone.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._mark = uuid4().hex
        self._graph: dict[Held, tuple[Any, ...]] = {}
        self._homes: dict[Held, str] = {}

    def add(self, home: str, function: Callable[..., Any], *arguments: Any) -> Held:
        """Note a call; arguments, or members of lists, that are futures or tasks are what these come to."""
        key = (f"{function.__name__}-{self._mark}", len(self._graph))
        self._graph[key] = (function, *arguments)
        self._homes[key] = home
        return key

    def start(self, wanted: Sequence[Held]) -> list[Held]:
        """Start all that ``wanted`` takes, and return futures of these."""
        dask = require("dask", extra="dask", purpose="A cluster")
        with dask.annotate(workers=self._homes.__getitem__, allow_other_workers=True):
            # Tasks that came first go first, so that what they are the last to need is not kept for long.
            return list(self._client.get(self._graph, list(wanted), sync=False, fifo_timeout=0))
