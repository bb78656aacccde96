"""Give the scores of drawn problems another shape, without a change of their order, and write a row for each method.

Usage: python study/experiments/shapes.py [--data DIR]

The problems are those of ``manifuse reproduce tables``, trials 100 and 101. Amounts are the exponentials of twice the
standardised scores, and risks are small for most rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy.special import expit

import manifuse as mf
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import standardise
from manifuse.tables import straightening
from manifuse_study.datasets.partners import Partners, with_scores
from manifuse_study.experiments.classes import refined
from manifuse_study.experiments.scripts import drawn_from, run_by_problem

OUT = Path(__file__).parent / "results" / "shapes.csv"

#: Seeds of the trials.
TRIALS = (100, 101)

SHAPES: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "as drawn": lambda scores: scores,
    "amounts": lambda scores: np.exp(2.0 * standardise(scores)),
    "risks": lambda scores: expit(2.0 * standardise(scores) - 4.0),
}


def rows_of(problem: Partners) -> Iterator[dict[str, object]]:
    """Return the gain of every method with every shape; with labels, if there are some, and without."""
    alone = problem.accuracy(problem.main.scores)
    for shape, change in SHAPES.items():
        main, *references = (with_scores(table, change(table.scores)) for table in (problem.main, *problem.references))
        scores = {"impute and average": mf.rivals.impute_and_average(main, references)}
        for labels in (None,) if problem.labels is None else (None, problem.labels):
            ending = ", no labels" if labels is None else ""
            scores[f"refined{ending}"] = refined(main, references, labels)
            with patch.object(straightening, "STRAIGHT", -2.0):
                scores[f"not straightened{ending}"] = refined(main, references, labels)
        for method, found in scores.items():
            gain = 100.0 * (problem.accuracy(np.asarray(found)) - alone)
            yield {"shape": shape, "method": method, "gain": round(gain, 4)}


if __name__ == "__main__":
    run_by_problem(rows_of, OUT, lambda folder: drawn_from("tables", folder, TRIALS), description=__doc__)
