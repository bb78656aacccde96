"""Cut references to ids and scores of the common rows, and write a row for each task of the decoupled sets.

Usage: python study/experiments/cut.py [--data DIR] [--trials 5] [--first 100] [--jobs 2] [SET ...]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from manifuse.run.refine import refine
from manifuse.tables.observations import Observations
from manifuse_study.experiments.scripts import cases_of, run_by_set

OUT = Path(__file__).parent / "results" / "cut.csv"
SETS = ("hw", "digits", "cal7", "lipophilicity", "osr-decoupled", "pubfig-decoupled")


def run(name: str, folder: Path, seed: int) -> list[dict[str, object]]:
    """Return a row for every task, with labels and without."""
    rows = []
    for case in cases_of(name, folder, seed):
        cut = [bare(case.main, table) for table in case.references]
        for labels in (None, case.labels):
            found = [refine(case.main, tables, labels, rng=seed).scores for tables in (case.references, cut)]
            accuracies = dict(zip(("whole", "cut"), map(case.test_accuracy, found), strict=True))
            row = {"dataset": name, "task": case.task, "seed": seed, "labelled": labels is not None}
            rows.append({**row, **accuracies})
    return rows


def bare(main: Observations, table: Observations) -> Observations:
    """Return what a partner sends who sends ids and scores of the common rows, and nothing else."""
    common = np.isin(table.keys, main.keys)
    return Observations(table.scores[common], ids=table.keys[common], name=table.name)


if __name__ == "__main__":
    run_by_set(run, OUT, SETS, trials=5, description=__doc__)
