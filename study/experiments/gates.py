"""Every rule that refuses, ignores or halves, taken away: what that changes on problems drawn from ordinary tables.

Writes study/experiments/results/gates.csv: a row for each problem, with and without labels, and rule. The problems are
those of the development seeds 0 to 3. Usage: python study/experiments/gates.py [--data DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

from threadpoolctl import threadpool_limits

import manifuse as mf
from manifuse.columns import run_order
from manifuse.evidence import agreement, one_factor, verdict
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.tables import straightening
from manifuse_study.datasets.dataset import data_folder
from manifuse_study.datasets.partners import Partners, draw_partners, read_table, table_names
from manifuse_study.experiments.provenance import provenance

OUT = Path(__file__).parent / "results" / "gates.csv"

TRIALS, STEP = 4, 1000

#: What is changed: constants and functions by module and name, or fields of the method.
Change = Mapping[tuple[ModuleType, str], float | Callable[..., float]]


def whole(*_: object) -> float:
    """All of it is left."""
    return 1.0


RULES: Mapping[str, tuple[Change, Mapping[str, bool]]] = {
    "as it is": ({}, {}),
    "one factor need not fit": ({(agreement, "RESIDUAL"): 10.0}, {}),
    "no reference differs or is in reverse": (
        {(agreement, "LEAST_LOADING"): -10.0, (agreement, "REVERSED"): -10.0},
        {},
    ),
    "the references are not asked": ({}, {"same_target": True}),
    "the references are asked strictly": ({}, {"same_target": False}),
    "the main predictor counts as its loading says": (
        {(agreement, "PRESUMED"): 0.0, (agreement, "PRESUMED_WITH_LABELS"): 0.0},
        {},
    ),
    "loadings up to 0.97 are believed": ({(one_factor, "MOST_LOADING"): 0.97}, {}),
    "nothing diffuses": ({(run_order, "LEAST_SMOOTHED"): 10.0}, {}),
    "a graph that carries no reference diffuses": ({(run_order, "LEAST_CARRIED"): -10.0}, {}),
    "everything diffuses": (
        {(run_order, "LEAST_SMOOTHED"): -10.0, (run_order, "MOST_LOST"): 10.0, (run_order, "LEAST_CARRIED"): -10.0},
        {},
    ),
    "labels at pairs take nothing from the references": ({(run_order, "left_of_references"): whole}, {}),
    "scores far from a normal shape stay as they are": ({(straightening, "STRAIGHT"): -2.0}, {}),
    "a loss at held-out labels is taken": ({}, {"safeguarded": False}),
    "no gain is expected before labels are seen": ({(verdict, "EXPECTED_GAIN"): 0.0}, {}),
}


def main() -> None:
    """Write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    folder, about = data_folder(given.data), provenance()
    with given.out.open("w", encoding="utf-8", newline="") as file, threadpool_limits(1):
        writer = None
        for trial in range(TRIALS):
            for number, name in enumerate(table_names(folder)):
                seed = STEP * trial + number
                problem = draw_partners(read_table(folder, name), seed)
                for row in rows_of(problem):
                    full = {"table": name, "seed": seed, **row, **about}
                    if writer is None:
                        writer = csv.DictWriter(file, full)
                        writer.writeheader()
                    writer.writerow(full)


def rows_of(problem: Partners) -> Iterator[dict[str, object]]:
    """Return the gain under every rule, with labels if there are some, and without."""
    alone = ranking_accuracy(problem.truth, problem.main.scores[problem.test])
    for labels in (None,) if problem.labels is None else (None, problem.labels):
        for rule, (constants, fields) in RULES.items():
            with contextlib.ExitStack() as stack, warnings.catch_warnings():
                warnings.simplefilter("ignore", mf.ManifuseWarning)
                for (module, name), value in constants.items():
                    stack.enter_context(patch.object(module, name, value))
                method = mf.JointDiffusion(**fields)
                scores = mf.refine(problem.main, problem.references, labels, method, rng=0).scores
            gain = 100.0 * (ranking_accuracy(problem.truth, scores[problem.test]) - alone)
            number = 0 if labels is None else len(labels.keys)
            yield {"labels": number, "references": len(problem.references), "rule": rule, "gain": round(gain, 4)}


if __name__ == "__main__":
    main()
