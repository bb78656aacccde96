"""What this machine has to offer: cores and memory, as far as they are ours to use."""

from __future__ import annotations

import os
from pathlib import Path

#: Where the kernel says what memory there is, and what of it a container may use (its limit, and what it uses).
MEMORY = Path("/proc/meminfo")
GROUPS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)


def threads() -> int:
    """Count the threads that one process should use.

    ``OMP_NUM_THREADS`` decides, which joblib and Dask set in their workers so that these do not crowd each other;
    without it, the cores that this process may run on.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def available_memory() -> int | None:
    """Bytes that this process could still take without swapping or being killed; None where nobody says."""
    known = [free for free in (_of_machine(), *(_of_group(*paths) for paths in GROUPS)) if free is not None]
    return min(known, default=None)


def _of_machine() -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in MEMORY.read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def _of_group(limit: Path, used: Path) -> int | None:
    try:
        return max(0, int(limit.read_text()) - int(used.read_text()))
    except (OSError, ValueError):  # no such group, or its limit is "max"
        return None
