"""Compare what standard errors say of test rows with what is true there, and write a row for each split.

Usage: python study/experiments/calibration.py [--data DIR] [--trials 10] [--first 100] [--jobs 2] [SET ...]

Two test rows are ordered rightly with some probability: pairs are gathered by it, in ten bins from 0.5 to 1. Of a
regression, the intervals of 90 % are counted that hold the truth.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from scipy.stats import norm

from manifuse.kernels.arrays import FloatArray
from manifuse.run.method import JointDiffusion
from manifuse.run.refine import refine
from manifuse.run.refinement import Refinement
from manifuse_study.experiments.scripts import cases_of, run_by_set
from manifuse_study.experiments.trial import Case

OUT = Path(__file__).parent / "results" / "calibration.csv"
SETS = ("hw", "cal7", "osr-decoupled", "pubfig-decoupled", "digits", "osr", "pubfig", "awa", "lipophilicity")
REGRESSIONS = ("lipophilicity",)
BINS, PAIRS = 10, 20_000


def run(name: str, folder: Path, seed: int) -> list[dict[str, object]]:
    """Return a row for every bin of one split, over all tasks whose refinement was accepted."""
    cases = cases_of(name, folder, seed)
    rows = summed(name, seed, "pairs", [ordered(case) for case in cases])
    if name in REGRESSIONS:
        rows += summed(name, seed, "intervals", [held(case) for case in cases])
    return rows


def summed(name: str, seed: int, what: str, counts: list[FloatArray | None]) -> list[dict[str, object]]:
    """Return a row for every bin that is not empty; the counts of a task are those of `ordered`."""
    taken = [count for count in counts if count is not None]
    if not taken:
        return []
    number, expected, right = np.sum(taken, axis=0)
    return [
        {
            "dataset": name,
            "seed": seed,
            "what": what,
            "tasks": len(taken),
            "number": int(number[each]),
            "expected": expected[each] / number[each],
            "right": right[each] / number[each],
        }
        for each in np.flatnonzero(number)
    ]


def refined(case: Case, task: Literal["ranking", "regression"]) -> Refinement | None:
    """Refine a case by its labels; None if the refinement is not accepted."""
    result = refine(case.main, case.references, case.labels, JointDiffusion(task=task), rng=case.trial.seed)
    return result if result.accepted else None


def ordered(case: Case) -> FloatArray | None:
    """Gather pairs of test rows with different truths by the probability that they are ordered rightly.

    Returns
    -------
    (3, bins) array or None
        In each bin, how many pairs there are, how many are expected to be right, and how many are.
    """
    result = refined(case, "ranking")
    if result is None:
        return None
    test, rng = case.trial.roles.test, np.random.default_rng(case.trial.seed)
    truth = case.trial.dataset.tasks[case.task].labels
    first, second = rng.choice(test, (2, PAIRS))
    differ = truth[first] != truth[second]
    first, second = first[differ], second[differ]
    said = result.probability(first, second)
    right = (said > 0.5) == (truth[first] > truth[second])
    said = np.maximum(said, 1.0 - said)
    place = np.minimum(((said - 0.5) * 2 * BINS).astype(int), BINS - 1)
    return np.array([np.bincount(place, of, BINS) for of in (np.ones_like(said), said, right)])


def held(case: Case) -> FloatArray | None:
    """Count the test rows whose interval of 90 % holds the truth, in one bin."""
    result = refined(case, "regression")
    if result is None:
        return None
    test = case.trial.roles.test
    errors = result.refined.uncertainty
    assert errors is not None, "labels taught"
    rows = np.flatnonzero(np.isin(result.main.keys, test.astype(str)))
    truth = case.trial.dataset.tasks[case.task].labels[result.main.keys[rows].astype(int)]
    inside = np.abs(result.scores[rows] - truth) <= norm.ppf(0.95) * errors[rows]
    return np.array([[len(rows)], [0.9 * len(rows)], [inside.sum()]])


if __name__ == "__main__":
    run_by_set(run, OUT, SETS, trials=10, description=__doc__)
