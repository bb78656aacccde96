"""Places by name: what ``--place`` and ``--cache`` mean."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from manifuse.cache import Cached
from manifuse.cluster import ADDRESS, DASK, Cluster, connect
from manifuse.diffusion.place import Host, Place
from manifuse.diffusion.tensors import Torch
from manifuse.errors import InputError

#: This machine's memory and cores.
HOST = "host"

#: Kinds of torch devices; a number may follow, as in ``cuda:1``.
DEVICES = ("cuda", "cpu", "mps", "xpu")


@contextmanager
def place_named(name: str, cache: Path | None) -> Iterator[Place]:
    """Yield the place of a name, for as long as it is needed.

    Parameters
    ----------
    name : str
        ``"host"``, ``"dask"``, ``"dask://HOST:PORT"``, or a device of torch: ``"cuda"``, ``"cuda:1"``, ``"cpu"``.
    cache : Path or None
        Folder where neighbour searches are kept.

    Raises
    ------
    InputError
        If there is no such place.
    MissingExtraError
        If what it needs is not installed.
    """

    def remembering(place: Place) -> Place:
        return place if cache is None else Cached(cache, place)

    if name == HOST:
        yield remembering(Host())
    elif name == DASK or name.startswith(ADDRESS):
        with connect(name) as client:
            yield remembering(Cluster(client))
    elif name.partition(":")[0] in DEVICES:
        yield remembering(Torch(name))
    else:
        raise InputError(f"place={name!r} came, but host, cuda, cpu, dask or dask://HOST:PORT was expected.")
