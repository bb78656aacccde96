"""Backends by name: what ``--backend`` and ``--cache`` mean."""

from __future__ import annotations

from pathlib import Path

from manifuse.backends.backend import Backend
from manifuse.backends.cached import Cached
from manifuse.backends.host import Host
from manifuse.backends.torch import Torch
from manifuse.cli.refine_options import HOST
from manifuse.errors import InputError

#: Kinds of torch devices; a number may follow, as in ``cuda:1``.
DEVICES = ("cuda", "cpu", "mps", "xpu")


def backend_named(name: str, cache: Path | None) -> Backend:
    """Return the backend with this name.

    Parameters
    ----------
    name : str
        ``"host"``, or a torch device: ``"cuda"``, ``"cuda:1"``, ``"cpu"``.
    cache : Path or None
        A folder that keeps neighbour searches for later runs.

    Raises
    ------
    InputError
        If no backend has this name.
    MissingExtraError
        If the backend needs a package that is not installed.
    """
    if name != HOST and name.partition(":")[0] not in DEVICES:
        raise InputError(f"backend={name!r} came, but host, cuda, cuda:1 or cpu was expected; name one of these.")
    backend = Host() if name == HOST else Torch(name)
    return backend if cache is None else Cached(backend, cache)
