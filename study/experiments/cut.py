"""Cut references to ids and scores of the common rows, and write a row for each task of the decoupled sets.

Usage: python study/experiments/cut.py [--data DIR] [--trials 5] [--jobs 2] [SET ...]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from manifuse.run.refine import refine
from manifuse.tables.observations import Observations
from manifuse_study.datasets.catalogue import CATALOGUE
from manifuse_study.datasets.dataset import data_folder
from manifuse_study.experiments.plan import EXPERIMENTS, FIRST_SEED
from manifuse_study.experiments.provenance import provenance, rows_csv, rows_of_others
from manifuse_study.experiments.trial import Case, Trial

OUT = Path(__file__).parent / "results" / "cut.csv"
SETS = ("hw", "digits", "cal7", "lipophilicity", "osr-decoupled", "pubfig-decoupled")


def main() -> None:
    """Run every set that is asked for, and keep the rows of the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder = data_folder(options.data)
    jobs = [(name, FIRST_SEED + trial) for name in options.sets for trial in range(options.trials)]
    parts = Parallel(n_jobs=options.jobs)(delayed(run)(name, folder, seed) for name, seed in jobs)
    rows = [*rows_of_others(OUT, options.sets), *(row for part in parts for row in part)]
    OUT.write_bytes(rows_csv(sorted(rows, key=lambda row: SETS.index(str(row["dataset"])))))


def run(name: str, folder: Path, seed: int) -> list[dict[str, object]]:
    """Return a row for every task, with labels and without."""
    experiment = EXPERIMENTS[name]
    trial = Trial.prepare(CATALOGUE[experiment.dataset].load(folder), experiment.protocol, seed)
    rows = []
    for task in trial.dataset.tasks:
        case = Case(trial, task)
        cut = [bare(case.main, table) for table in case.references]
        for labels in (None, case.labels):
            found = [refine(case.main, tables, labels, rng=seed).scores for tables in (case.references, cut)]
            accuracies = dict(zip(("whole", "cut"), map(case.test_accuracy, found), strict=True))
            row = {"dataset": name, "task": task, "seed": seed, "labelled": labels is not None}
            rows.append({**row, **accuracies, **provenance()})
    return rows


def bare(main: Observations, table: Observations) -> Observations:
    """Return what a partner sends who sends ids and scores of the common rows, and nothing else."""
    common = np.isin(table.keys, main.keys)
    return Observations(table.scores[common], ids=table.keys[common], name=table.name)


if __name__ == "__main__":
    main()
