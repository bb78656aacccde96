"""Where a row of results comes from: commit, versions."""

from __future__ import annotations

import csv
import platform
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def provenance() -> dict[str, str]:
    """Commit of the code (with ``+`` if files differ from it) and the versions that matter."""
    versions = {name: version(name) for name in ("manifuse", "numpy", "scipy", "scikit-learn")}
    return {"commit": _commit(), "python": platform.python_version(), **versions}


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write tidy rows as CSV, columns as the first row has them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _commit() -> str:
    folder = Path(__file__).parent
    try:
        name = _git(folder, "rev-parse", "--short=12", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--", ":/src") != ""
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name + ("+" if changed else "")


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()
