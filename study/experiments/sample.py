"""Fit a part of each table, refine the other rows by it, and write a row for each size of the part.

Usage: python study/experiments/sample.py [--data DIR] [--trials 10] [--first 100] [--jobs 2] [SET ...]
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from manifuse.run.method import JointDiffusion
from manifuse.run.refine import refine
from manifuse_study.experiments.scripts import cases_of, run_by_set

OUT = Path(__file__).parent / "results" / "sample.csv"
SETS = ("awa", "hw", "osr-decoupled")
SHARES = (1.0, 0.5, 0.25)


def run(name: str, folder: Path, seed: int) -> list[dict[str, object]]:
    """Return a row for every task and every size of the part that is fitted, with labels and without."""
    rows = []
    for case in cases_of(name, folder, seed):
        for labels in (case.labels, None):
            for share in SHARES:
                fitted = None if share == 1.0 else max(100, round(share * len(case.main)))
                method = replace(JointDiffusion(same_target=labels is None), fitted_rows=fitted)
                start = time.perf_counter()
                result = refine(case.main, case.references, labels, method, rng=seed)
                rows.append(
                    {
                        "dataset": name,
                        "task": case.task,
                        "seed": seed,
                        "labelled": labels is not None,
                        "share": share,
                        "rows": len(case.main),
                        "fitted": len(result.fitted_model.main),
                        "alone": case.test_accuracy(case.main.scores),
                        "accuracy": case.test_accuracy(result.scores),
                        "seconds": round(time.perf_counter() - start, 3),
                    }
                )
    return rows


if __name__ == "__main__":
    run_by_set(run, OUT, SETS, trials=10, description=__doc__)
