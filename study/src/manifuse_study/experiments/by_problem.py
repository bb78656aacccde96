"""By problem: the command line of a script that runs an experiment on problems drawn from tables."""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from manifuse.errors import ManifuseWarning
from manifuse.kernels.arrays import FloatArray
from manifuse.run.refine import refine
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.observations import Observations
from manifuse_study.datasets import classifiers
from manifuse_study.datasets.classifiers import Classifiers
from manifuse_study.datasets.dataset import data_folder
from manifuse_study.datasets.partners import Partners, draw_partners, read_table, table_names
from manifuse_study.experiments.drawn import STEP
from manifuse_study.experiments.provenance import provenance

#: From a problem to its rows.
Run = Callable[[Any], Iterable[Mapping[str, object]]]

#: From the data folder to problems, each with the name of its table and its seed.
Drawn = Callable[[Path], Iterable[tuple[str, int, Any]]]


def run_by_problem(run: Run, out: Path, drawn: Drawn, *, description: str | None) -> None:
    """Read the options of a script, run every problem, and write its rows.

    Parameters
    ----------
    run : callable
    out : Path
        The CSV file to write, unless an option names another.
    drawn : callable
    description : str or None
        Of the script, for its help.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=out)
    options = parser.parse_args()
    folder, about, writer = data_folder(options.data), provenance(), None
    with options.out.open("w", encoding="utf-8", newline="") as file, threadpool_limits(1):
        for name, seed, problem in drawn(folder):
            for row in run(problem):
                full = {"table": name, "seed": seed, **row, **about}
                if writer is None:
                    writer = csv.DictWriter(file, full)
                    writer.writeheader()
                writer.writerow(full)


def drawn_problems(folder: Path, trials: Iterable[int]) -> Iterator[tuple[str, int, Partners]]:
    """Draw a problem from every ordinary table, trial by trial."""
    for trial in trials:
        for number, name in enumerate(table_names(folder)):
            seed = STEP * trial + number
            yield name, seed, draw_partners(read_table(folder, name), seed)


def drawn_classifiers(folder: Path, trials: Iterable[int]) -> Iterator[tuple[str, int, Classifiers]]:
    """Draw a problem from every table of classes without views, trial by trial."""
    for trial in trials:
        for number, name in enumerate(classifiers.table_names(folder)):
            if name not in classifiers.VIEWS:
                seed, table = STEP * trial + number, classifiers.read_class_table(folder, name)
                yield name, seed, classifiers.draw_classifiers(table, seed)


def refined(
    main: Observations, references: Sequence[Observations], labels: RankLabels | ClassLabels | None
) -> FloatArray:
    """Refined scores (n,), or probabilities (n, k), without the warnings of the product."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManifuseWarning)
        return np.asarray(refine(main, references, labels, rng=0).predictions)
