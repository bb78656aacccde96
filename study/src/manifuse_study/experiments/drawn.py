"""Problems drawn from ordinary tables: what `refine` and every rival gain over the main predictor alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from manifuse import rivals
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.arrays import FloatArray
from manifuse.run.engine import Each
from manifuse.run.refine import refine
from manifuse_study.datasets.partners import Partners, draw_partners, read_table, table_names
from manifuse_study.experiments.plan import FIRST_SEED
from manifuse_study.experiments.provenance import provenance
from manifuse_study.experiments.runner import REASON_LENGTH
from manifuse_study.experiments.store import Key, Row, Store

#: The name of the experiment.
TABLES = "tables"

#: Why a method has no row of a problem.
NO_LABELS = "It needs labels, and this problem has none."

#: A problem of trial t, from the table with number n, has the seed ``STEP * t + n``.
STEP = 1000


def _alone(problem: Partners) -> Any:
    return problem.main.scores


def _refined(problem: Partners) -> Any:
    return refine(problem.main, problem.references, problem.labels, rng=0).scores


def _refined_without_labels(problem: Partners) -> Any:
    return refine(problem.main, problem.references, rng=0).scores


def _rival(rival: Callable[..., Any]) -> Callable[[Partners], Any]:
    return lambda problem: rival(problem.main, problem.references, problem.labels, 0)


#: Every method by its name: what it does, and whether it needs labels.
METHODS: Mapping[str, tuple[Callable[[Partners], Any], bool]] = {
    "alone": (_alone, False),
    "refined": (_refined, True),
    "refined, no labels": (_refined_without_labels, False),
    "impute and average": (_rival(rivals.impute_and_average), False),
    "impute and stack": (_rival(rivals.impute_and_stack), True),
    "own labels": (_rival(rivals.learn_from_labels), True),
    "self-smoothing": (_rival(rivals.smooth_alone), True),
}


@dataclass(frozen=True)
class Draw:
    """One problem, and the methods that have no row yet.

    Attributes
    ----------
    folder : Path
        The data folder.
    table : str
    trial : int
        Counted from 0.
    seed : int
    methods : tuple of str
    """

    folder: Path
    table: str
    trial: int
    seed: int
    methods: tuple[str, ...]


def missing_draws(folder: Path, trials: int, stored: Container[Key]) -> list[Draw]:
    """List the problems that lack rows: one for each table in every trial.

    Raises
    ------
    MissingExtraError
        If there are no tables.
    """
    names, found = table_names(folder), []
    for trial in range(trials):
        for number, name in enumerate(names):
            lacking = tuple(method for method in METHODS if (TABLES, name, trial, method) not in stored)
            if lacking:
                found.append(Draw(folder, name, trial, STEP * (FIRST_SEED + trial) + number, lacking))
    return found


def run_draws(draws: Sequence[Draw], store: Store, each: Each) -> Iterator[tuple[str, list[Row]]]:
    """Compute the rows of problems, and store those of a problem when it is done; see `runner.run`."""
    for draw, rows in zip(draws, each(_measure, draws, provenance()), strict=True):
        store.append(rows)
        yield f"tables, trial {draw.trial + 1}", rows


def _measure(draw: Draw, about: Mapping[str, str]) -> list[Row]:
    with threadpool_limits(1):
        problem = draw_partners(read_table(draw.folder, draw.table), draw.seed)
        return [_measure_one(draw, problem, name, about) for name in draw.methods]


def _measure_one(draw: Draw, problem: Partners, name: str, about: Mapping[str, str]) -> Row:
    method, needs_labels = METHODS[name]
    row: dict[str, Any] = {
        "dataset": TABLES,
        "protocol": "decoupled",
        "task": draw.table,
        "trial": draw.trial,
        "method": name,
        "seed": draw.seed,
        "provenance": about,
        "hyperparameters": _facts(problem),
    }
    if needs_labels and problem.labels is None:
        return Row(**row, status="skipped", reason=NO_LABELS)
    start = time.perf_counter()
    try:
        predictions = np.asarray(method(problem))
        seconds = time.perf_counter() - start
        accuracy = _accuracy(problem, predictions[problem.test])
    except Exception as error:  # a failure is a row, whatever it is
        return Row(**row, status="failed", reason=f"{type(error).__name__}: {error}"[:REASON_LENGTH])
    return Row(**row, status="done", accuracy=accuracy, seconds=round(seconds, 4))


def _facts(problem: Partners) -> dict[str, Any]:
    """What a problem is, as plain values; ``better`` says by how much its best reference is better, in [-1, 1]."""
    alone = _accuracy(problem, problem.main.scores[problem.test])
    best = max(_accuracy(problem, said) for said in problem.strengths)
    return {
        "references": len(problem.references),
        "pairs": problem.pairs,
        "labels": 0 if problem.labels is None else len(problem.labels.keys),
        "odd": problem.odd,
        "better": round(best - alone, 6),
    }


def _accuracy(problem: Partners, scores: FloatArray) -> float:
    return ranking_accuracy(problem.truth, scores)
