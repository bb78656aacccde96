"""The cores and the memory of this machine that this process may use, and the versions that are installed on it."""

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from joblib import cpu_count
from threadpoolctl import ThreadpoolController, threadpool_limits

#: Where Linux reports the memory, the control groups of this process, and the limits of the groups.
MEMORY, MEMBERSHIP, GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")

#: Where it reports the pages that this process has addresses for.
ADDRESSES = Path("/proc/self/statm")

#: Names of the files with a group's limit and its use, in the second version of control groups and in the first.
FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))


def threads() -> int:
    """Count the threads that one process should use.

    ``OMP_NUM_THREADS`` decides. Joblib and Dask set it in their workers, so that these do not compete for cores.
    Without it, the number is that of the cores that this process may use, by its affinity and its share of them.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(asked) if asked.isdecimal() and int(asked) > 0 else int(cpu_count())


class _Limit:
    """The limit on the threads of matrix products while ``asking`` threads ask for it, and what undoes it."""

    lock, asking, undo = Lock(), 0, ExitStack()


@contextmanager
def libraries_in_one_thread() -> Iterator[None]:
    """Let matrix products and loops of libraries use one thread.

    Small ones are slower on several threads, and far slower if other processes need the cores, because threads of
    libraries wait for each other by spinning. Their rounding depends on the number of threads, too. The limit on
    products is one of the whole process, so it ends when the last of the threads that asked for it leaves.
    """
    all_libraries = _libraries(len(sys.modules))
    libraries = all_libraries.select(user_api="blas")
    # Libraries on OpenMP keep a number for each of our threads, the others one for the process.
    with all_libraries.select(user_api="openmp", threading_layer="openmp").limit(limits=1):
        with _Limit.lock:
            if not _Limit.asking:
                _Limit.undo.callback(_release, libraries)
                _Limit.undo.callback(libraries.limit(limits=1).restore_original_limits)
                _release(libraries)
            _Limit.asking += 1
        try:
            yield
        finally:
            with _Limit.lock:
                _Limit.asking -= 1
                if not _Limit.asking:
                    _Limit.undo.close()


def loops_in_threads() -> AbstractContextManager[object]:
    """Let loops of libraries share all threads again, for work of seconds."""
    limit: AbstractContextManager[object] = threadpool_limits(threads(), user_api="openmp")
    return limit


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    """Find the libraries with threads; this takes milliseconds, so it is done again only after an import."""
    del modules
    return ThreadpoolController()


def _release(libraries: ThreadpoolController) -> None:
    """Let any thread set limits; threadpoolctl ignores all but the thread that set one, until its ``with`` ends."""
    with libraries.limit(limits=None):
        pass


def available_memory() -> int | None:
    """Count the bytes that this process can still take without swapping or being killed; None if they are unknown."""
    free = [_of_machine(), _of_process(), *(_of_group(folder) for folder in _groups())]
    return min((amount for amount in free if amount is not None), default=None)


def versions() -> dict[str, str]:
    """Return the versions that results depend on: of this package, Python and the numerical libraries."""
    names = ["numpy", "scipy", "scikit-learn"] + ["torch"] * (find_spec("torch") is not None)
    own = {"manifuse": version("manifuse"), "python": platform.python_version()}
    return own | {name: version(name) for name in names}


def _of_machine() -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in MEMORY.read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def _of_process() -> int | None:
    """What the limit on addresses leaves, which ``ulimit -v`` and many clusters set."""
    try:
        resource: Any = import_module("resource")
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        used = int(ADDRESSES.read_text().split()[0]) * resource.getpagesize()
        return None if limit == resource.RLIM_INFINITY else max(0, limit - used)
    except (ImportError, OSError, ValueError):  # Windows has no such limits.
        return None


def _groups() -> Iterator[Path]:
    """Folders of the groups of this process, each with its parents; a container may show only the root."""
    try:
        lines = MEMBERSHIP.read_text().splitlines()
    except OSError:
        lines = []
    for line in ["0::/", "0:memory:/", *lines]:
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        root = GROUPS / "memory" if kinds else GROUPS
        folder = root / path.lstrip("/")
        yield from (parent for parent in (folder, *folder.parents) if parent.is_relative_to(root))


def _of_group(folder: Path) -> int | None:
    """What a group's limit leaves. Cached files count as free, because the kernel drops them when memory is needed."""
    for limit, used in FILES:
        try:
            left = int((folder / limit).read_text()) - int((folder / used).read_text())
            kept = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            return max(0, left + int(kept.get("total_inactive_file", kept.get("inactive_file", 0))))
        except (OSError, ValueError):  # no such file, or the limit is "max"
            continue
    return None
