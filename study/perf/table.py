"""Compute ratios of the times from pytest-benchmark, print them, and replace their rows in study/perf/results.csv.

Usage: python study/perf/table.py BENCHMARK.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from machine import describe

from manifuse_study.experiments.provenance import provenance
from manifuse_study.experiments.rows import read_csv, rows_csv

OUT = Path(__file__).parent / "results.csv"


def main(path: str) -> None:
    """Compare our time with the rival's for every work."""
    sides: dict[str, dict[str, Any]] = {}
    for bench in json.loads(Path(path).read_text())["benchmarks"]:
        sides.setdefault(bench["group"].strip(), {})[bench["extra_info"]["side"], bench["extra_info"]["rival"]] = bench
    rows = []
    for work, benches in sides.items():
        for (side, rival), ours in benches.items():
            if side == "ours":
                rows.append(row_of(work, ours, benches.get(("theirs", rival))))
    OUT.write_bytes(rows_csv(replace_rows(rows)))
    for row in rows:
        print(" | ".join(str(row[name]) for name in ("work", "against", "ours", "theirs", "ratio", "least", "note")))


def replace_rows(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    """Put new rows in place of those of the same work and rival, or at the end."""
    known = {(row["work"], row["against"]): row for row in rows}
    kept = [known.pop((row["work"], row["against"]), row) for row in read_csv(OUT)]
    return [*kept, *known.values()]


def row_of(work: str, ours: dict[str, Any], theirs: dict[str, Any] | None) -> dict[str, object]:
    """Return one row of the table. Times are medians, in seconds."""
    info = ours["extra_info"]
    fast = ours["stats"]["median"]
    slow = info["seconds"] if theirs is None else theirs["stats"]["median"]
    return {
        "work": work,
        "against": info["rival"],
        "ours": f"{fast:.3g}",
        "theirs": f"{slow:.3g}",
        "ratio": f"{slow / fast:.3g}",
        "least": info["least"],
        "reached": slow / fast >= info["least"],
        "note": "" if theirs is None else theirs["extra_info"]["note"],
        "machine": describe(),
        **provenance(),
    }


if __name__ == "__main__":
    main(sys.argv[1])
