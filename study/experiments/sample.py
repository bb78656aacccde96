"""Fit a part of each table, refine the other rows by it, and write a row for each size of the part.

Usage: python study/experiments/sample.py [--data DIR] [--trials 10] [--first 100] [--jobs 2] [SET ...]
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from manifuse.run.method import JointDiffusion
from manifuse.run.refine import refine
from manifuse_study.datasets.catalogue import CATALOGUE
from manifuse_study.experiments.by_set import run_by_set
from manifuse_study.experiments.plan import EXPERIMENTS
from manifuse_study.experiments.provenance import provenance
from manifuse_study.experiments.trial import Case, Trial

OUT = Path(__file__).parent / "results" / "sample.csv"
SETS = ("awa", "hw", "osr-decoupled")
SHARES = (1.0, 0.5, 0.25)


def run(name: str, folder: Path, seed: int) -> list[dict[str, object]]:
    """Return a row for every task and every size of the part that is fitted, with labels and without."""
    experiment = EXPERIMENTS[name]
    trial = Trial.prepare(CATALOGUE[experiment.dataset].load(folder), experiment.protocol, seed)
    rows = []
    for task in trial.dataset.tasks:
        case = Case(trial, task)
        for labels in (case.labels, None):
            for share in SHARES:
                fitted = None if share == 1.0 else max(100, round(share * len(case.main)))
                method = replace(JointDiffusion(same_target=labels is None), fitted_rows=fitted)
                start = time.perf_counter()
                result = refine(case.main, case.references, labels, method, rng=seed)
                rows.append(
                    {
                        "dataset": name,
                        "task": task,
                        "seed": seed,
                        "labelled": labels is not None,
                        "share": share,
                        "rows": len(case.main),
                        "fitted": len(result.fitted_model.main),
                        "alone": case.test_accuracy(case.main.scores),
                        "accuracy": case.test_accuracy(result.scores),
                        "seconds": round(time.perf_counter() - start, 3),
                        **provenance(),
                    }
                )
    return rows


if __name__ == "__main__":
    run_by_set(run, OUT, SETS, trials=10, description=__doc__)
