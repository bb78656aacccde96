"""Every rule that refuses, ignores or halves, taken away: what that changes on problems drawn from ordinary tables.

Writes study/experiments/results/gates.csv: a row for each problem, with and without labels, and rule. The problems are
those of the development seeds 0 to 3. Usage: python study/experiments/gates.py [--data DIR]
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import manifuse as mf
from manifuse.columns import run_order
from manifuse.evidence import agreement, gain, one_factor
from manifuse.kernels.arrays import FloatArray
from manifuse.tables import straightening
from manifuse_study.datasets.partners import Partners
from manifuse_study.experiments.scripts import drawn_from, run_by_problem

OUT = Path(__file__).parent / "results" / "gates.csv"

#: Seeds of the trials.
TRIALS = range(4)

#: What is changed: constants and functions by module and name, or fields of the method.
Change = Mapping[tuple[ModuleType, str], float | Callable[..., object]]


def nothing(*_: object) -> float:
    """Nothing is missed."""
    return 0.0


def as_if_they_agreed(correlated: FloatArray, pairs: float) -> FloatArray:
    """Loadings of references that do not agree with each other, as those of others are found."""
    return one_factor.shrunk(one_factor.loadings_of(correlated), pairs)


def whole(*_: object) -> float:
    """All of it is left; as a condition, it holds."""
    return 1.0


RULES: Mapping[str, tuple[Change, Mapping[str, bool]]] = {
    "as it is": ({}, {}),
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
    "one factor is fitted to references that do not agree": (
        {(agreement, "loadings_towards_usual"): as_if_they_agreed},
        {},
    ),
    "labels vouch for rows that only references know": ({(run_order, "missed_share"): nothing}, {}),
    "loadings up to 0.97 are believed": ({(one_factor, "MOST_LOADING"): 0.97}, {}),
    "nothing diffuses": ({(run_order, "LEAST_SMOOTHED"): 10.0}, {}),
    "a graph that carries no reference diffuses": ({(run_order, "LEAST_CARRIED"): -10.0}, {}),
    "everything diffuses": (
        {
            (run_order, "LEAST_SMOOTHED"): -10.0,
            (run_order, "MOST_LOST"): 10.0,
            (run_order, "LEAST_CARRIED"): -10.0,
            (run_order, "pairs_show_the_rest"): whole,
        },
        {},
    ),
    "few pairs, or pairs unlike the rest, may diffuse": ({(run_order, "pairs_show_the_rest"): whole}, {}),
    "versions of one model count each": ({(agreement, "UNEXPLAINED"): 10.0}, {}),
    "labels at pairs do not say how much references count": ({(run_order, "factor_by_labels"): whole}, {}),
    "scores far from a normal shape stay as they are": ({(straightening, "STRAIGHT"): -2.0}, {}),
    "a loss at held-out labels is taken": ({}, {"safeguarded": False}),
    "no gain is expected before labels are seen": ({(gain, "EXPECTED_GAIN"): 0.0}, {}),
}


def rows_of(problem: Partners) -> Iterator[dict[str, object]]:
    """Return the gain under every rule, with labels if there are some, and without."""
    alone = problem.accuracy(problem.main.scores)
    for labels in (None,) if problem.labels is None else (None, problem.labels):
        for rule, (constants, fields) in RULES.items():
            with contextlib.ExitStack() as stack:
                for (module, name), value in constants.items():
                    stack.enter_context(patch.object(module, name, value))
                method = mf.JointDiffusion(**fields)
                scores = mf.refine(problem.main, problem.references, labels, method, rng=0).scores
            gained = 100.0 * (problem.accuracy(scores) - alone)
            number = 0 if labels is None else len(labels.keys)
            yield {"labels": number, "references": len(problem.references), "rule": rule, "gain": round(gained, 4)}


if __name__ == "__main__":
    run_by_problem(rows_of, OUT, lambda folder: drawn_from("tables", folder, TRIALS), description=__doc__)
