"""Fit a part of each table, refine the other rows by it, and write a row for each size of the part.

Usage: python study/experiments/sample.py [--data DIR] [--trials 10] [--jobs 2] [SET ...]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from joblib import Parallel, delayed

from manifuse.run.method import JointDiffusion
from manifuse.run.refine import refine
from manifuse_study.datasets.catalogue import CATALOGUE
from manifuse_study.datasets.dataset import data_folder
from manifuse_study.experiments.plan import EXPERIMENTS
from manifuse_study.experiments.provenance import provenance, rows_csv, rows_of_others
from manifuse_study.experiments.trial import Case, Trial

OUT = Path(__file__).parent / "results" / "sample.csv"
FIRST_SEED = 100
SHARES = (1.0, 0.5, 0.25)


def main() -> None:
    """Run every set that is asked for, and keep the rows of the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["hw", "osr-decoupled", "awa"])
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--trials", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder = data_folder(options.data)
    jobs = [(name, FIRST_SEED + trial) for name in options.sets for trial in range(options.trials)]
    parts = Parallel(n_jobs=options.jobs)(delayed(run)(name, folder, seed) for name, seed in jobs)
    rows = [*rows_of_others(OUT, options.sets), *(row for part in parts for row in part)]
    OUT.write_bytes(rows_csv(sorted(rows, key=lambda row: str(row["dataset"]))))


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
                        "fitted": len(result.refiner.main),
                        "alone": case.test_accuracy(case.main.scores),
                        "accuracy": case.test_accuracy(result.scores),
                        "seconds": round(time.perf_counter() - start, 3),
                        **provenance(),
                    }
                )
    return rows


if __name__ == "__main__":
    main()
