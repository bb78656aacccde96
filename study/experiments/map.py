"""Measure when references pay, labels by pairs, and write a row for each cell of each split.

Usage: python study/experiments/map.py [--data DIR] [--trials N] [--jobs N] [--out FILE]

A row is written as soon as it is done. The same command again computes only the rows that are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

from joblib import Parallel, delayed

from manifuse_study.datasets.dataset import data_folder
from manifuse_study.experiments.payoff import KEY, LABELS, MAPS, PAIRS, measure_row
from manifuse_study.experiments.plan import FIRST_SEED
from manifuse_study.experiments.rows import read_csv, write_rows
from manifuse_study.experiments.scripts import parser_of


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every cell that has no row yet."""
    parser = parser_of(__doc__, Path(__file__).parent / "results" / "map.csv")
    parser.add_argument("--trials", type=int, default=3, help="splits of every data set")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", nargs="*", default=[], help="data sets; all by default")
    parser.add_argument("--labels", type=int, nargs="*", default=LABELS)
    parser.add_argument("--pairs", type=int, nargs="*", default=PAIRS)
    options = parser.parse_args(arguments)
    before = read_csv(options.out) if options.out.exists() else []
    done = {tuple(row[name] for name in KEY) for row in before}
    maps = [(dataset, measure) for dataset, measure in MAPS if not options.only or dataset in options.only]
    # The cells of a split follow each other, so that a process prepares it once.
    seeds = range(FIRST_SEED, FIRST_SEED + options.trials)
    cells = [(*of, *cell) for of, *cell in product(maps, seeds, options.labels, options.pairs)]
    cells = [cell for cell in cells if tuple(map(str, cell)) not in done]
    folder = data_folder(options.data)
    with Parallel(n_jobs=options.jobs, return_as="generator") as parallel:
        found = parallel(delayed(measure_row)(folder, *cell) for cell in cells)
        write_rows(options.out, ([row] for row in found), before)


if __name__ == "__main__":
    main()
