"""Where a row of results comes from: commit, versions, checksum of the data."""

from __future__ import annotations

import hashlib
import subprocess
from functools import cache
from pathlib import Path

from manifuse.machine import versions
from manifuse_study.datasets.dataset import Dataset


@cache
def provenance() -> dict[str, str]:
    """Return the commit of the code, with ``+`` if files under ``src`` differ from it, and the `versions`."""
    return {"commit": _commit(), **versions()}


def data_digest(dataset: Dataset) -> str:
    """Return the first 12 digits of a checksum over the checksums of a data set's files; empty for bundled data."""
    if not dataset.checksums:
        return ""
    text = "\n".join(f"{name} {digest}" for name, digest in sorted(dataset.checksums.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _commit() -> str:
    try:
        name = _git("rev-parse", "--short=12", "HEAD")
        changed = _git("status", "--porcelain", "--", ":/src") != ""
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + ("+" if changed else "")


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
