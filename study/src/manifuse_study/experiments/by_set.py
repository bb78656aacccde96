"""By set: the command line of a script that runs an experiment on some data sets, and keeps the rows of the others."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from joblib import Parallel, delayed

from manifuse_study.datasets.dataset import data_folder
from manifuse_study.experiments.plan import FIRST_SEED
from manifuse_study.experiments.provenance import rows_csv, rows_of_others

#: From the name of a set in the plan, the data folder and a seed to the rows of one split.
Run = Callable[[str, Path, int], list[dict[str, object]]]


def run_by_set(run: Run, out: Path, sets: Sequence[str], *, trials: int, description: str | None) -> None:
    """Read the options of a script, run every split that is asked for, and write the rows.

    Parameters
    ----------
    run : callable
    out : Path
        The CSV file to write, unless an option names another.
    sets : sequence of str
        The sets to run if none is named; rows are written in their order.
    trials : int
        How many splits, unless an option says otherwise.
    description : str or None
        Of the script, for its help.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=sets)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--trials", type=int, default=trials)
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="seed of the first split")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args()
    folder = data_folder(options.data)
    jobs = [(name, options.first + trial) for name in options.sets for trial in range(options.trials)]
    parts = Parallel(n_jobs=options.jobs, verbose=5)(delayed(run)(name, folder, seed) for name, seed in jobs)
    rows = [*rows_of_others(options.out, options.sets), *(row for part in parts for row in part)]
    places = {name: place for place, name in enumerate(sets)}
    rows.sort(key=lambda row: places.get(str(row["dataset"]), len(places)))
    options.out.write_bytes(rows_csv(rows))
