"""What this machine has to offer: cores and memory, as far as they are ours to use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from joblib import cpu_count

#: Where the kernel says what memory there is, which groups this process is in, and what these may use.
MEMORY, MEMBERSHIP, GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")

#: Names of a group's limit and of what it uses, in the second version of groups and in the first.
FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))


def threads() -> int:
    """Count the threads that one process should use.

    ``OMP_NUM_THREADS`` decides, which joblib and Dask set in their workers so that these do not crowd each other;
    without it, the cores that this process may run on, by its affinity and its share of them.
    """
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return int(asked) if asked.isdecimal() and int(asked) > 0 else int(cpu_count())


def available_memory() -> int | None:
    """Bytes that this process could still take without swapping or being killed; None where nobody says."""
    free = [_of_machine(), *(_of_group(folder) for folder in _groups())]
    return min((amount for amount in free if amount is not None), default=None)


def _of_machine() -> int | None:
    try:
        lines = dict(line.split(":", 1) for line in MEMORY.read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None


def _groups() -> Iterator[Path]:
    """Folders of the groups of this process, each up to the root; a container may show but the root."""
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
    """What a group's limit leaves; files that are kept in memory for as long as nobody needs it count as free."""
    for limit, used in FILES:
        try:
            left = int((folder / limit).read_text()) - int((folder / used).read_text())
            kept = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
            return max(0, left + int(kept.get("total_inactive_file", kept.get("inactive_file", 0))))
        except (OSError, ValueError):  # no such file, or the limit is "max"
            continue
    return None
