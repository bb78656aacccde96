"""Describe the machine of the timings in a few words."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def describe() -> str:
    """Name the processor, the number of usable cores, and the memory."""
    words = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        words = names[0].partition(":")[2].strip() if names else words
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{words}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB"
