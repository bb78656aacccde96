"""Measure when references pay, labels by pairs, and write a row for each cell of each split.

Usage: python study/experiments/map.py [--data DIR] [--trials N] [--jobs N] [--out FILE]

A row is written as soon as it is done. The same command again computes only the rows that are missing.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from joblib import Parallel, delayed

from manifuse.files import write_whole
from manifuse_study.datasets.dataset import data_folder
from manifuse_study.experiments.payoff import KEY, LABELS, MAPS, PAIRS, measure_row
from manifuse_study.experiments.plan import FIRST_SEED
from manifuse_study.experiments.provenance import rows_csv


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every cell that has no row yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--trials", type=int, default=3, help="splits of every data set")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", nargs="*", default=[], help="data sets; all by default")
    parser.add_argument("--labels", type=int, nargs="*", default=LABELS)
    parser.add_argument("--pairs", type=int, nargs="*", default=PAIRS)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "map.csv")
    options = parser.parse_args(arguments)
    rows = read(options.out)
    done = {tuple(str(row[name]) for name in KEY) for row in rows}
    maps = [(dataset, measure) for dataset, measure in MAPS if not options.only or dataset in options.only]
    # The cells of a split follow each other, so that a process prepares it once.
    seeds = range(FIRST_SEED, FIRST_SEED + options.trials)
    cells = [(*of, *cell) for of, *cell in product(maps, seeds, options.labels, options.pairs)]
    cells = [cell for cell in cells if tuple(map(str, cell)) not in done]
    folder = data_folder(options.data)
    with Parallel(n_jobs=options.jobs, return_as="generator") as parallel:
        for row in parallel(delayed(measure_row)(folder, *cell) for cell in cells):
            rows.append(row)
            content = rows_csv(rows)
            write_whole(options.out, lambda path, content=content: path.write_bytes(content))
            print(f"{len(rows)}: {', '.join(str(row[name]) for name in KEY)}, {row['seconds']:.0f} s", flush=True)


def read(path: Path) -> list[dict[str, object]]:
    """Return the rows that are there."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
