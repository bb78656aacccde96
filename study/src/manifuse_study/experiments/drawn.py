"""Problems that are drawn from tables: what `refine` and every rival make of them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.run.engine import Each
from manifuse.run.refine import refine
from manifuse_study.datasets import classifiers, partners
from manifuse_study.datasets.classifiers import Classifiers
from manifuse_study.datasets.partners import Partners
from manifuse_study.experiments import classes
from manifuse_study.experiments.classes import rival
from manifuse_study.experiments.plan import FIRST_SEED
from manifuse_study.experiments.provenance import provenance
from manifuse_study.experiments.runner import row_of
from manifuse_study.experiments.store import Key, Row, Store

#: Why a method has no row of a problem, by the attribute that the problem lacks.
LACKING = {
    "labels": "It needs labels, and this problem has none.",
    "everywhere": "It needs every reference on every main row, and here nobody knows that.",
}

#: A problem that is drawn in the trial of seed s, from the table with number n, has the seed ``STEP * s + n``.
STEP = 1000

#: With views, and of the digits' halves, problems have so many labels.
OF_VIEWS, OF_HALVES = (0, 200), (0, 100)


@dataclass(frozen=True)
class Experiment:
    """What is drawn, and what is compared on it.

    Attributes
    ----------
    problems : callable
        From the data folder and the seed of a trial to how each problem of the trial is drawn, by its name, and to its
        seed.
    methods : mapping of str to (callable, str)
        From a problem to predictions for all main rows; and the attribute of a problem that it needs, if any.
    measures_of : callable
        From a problem and predictions to the accuracy on test rows, and other measures.
    facts_of : callable
        What a problem is, as plain values.
    """

    problems: Callable[[Path, int], Mapping[str, tuple[Callable[[], Any], int]]]
    methods: Mapping[str, tuple[Callable[[Any], Any], str]]
    measures_of: Callable[[Any, Any], tuple[float, dict[str, float]]]
    facts_of: Callable[[Any], dict[str, Any]]


def _from_tables(folder: Path, seed: int) -> Mapping[str, tuple[Callable[[], Partners], int]]:
    def draw(name: str, own_seed: int) -> Callable[[], Partners]:
        return lambda: partners.draw_partners(partners.read_table(folder, name), own_seed)

    seeds = {name: STEP * seed + number for number, name in enumerate(partners.table_names(folder))}
    return {name: (draw(name, each), each) for name, each in seeds.items()}


def _from_class_tables(folder: Path, seed: int) -> Mapping[str, tuple[Callable[[], Classifiers], int]]:
    names = classifiers.table_names(folder)

    def draw(name: str, own_seed: int) -> Callable[[], Classifiers]:
        return lambda: classifiers.draw_classifiers(classifiers.read_class_table(folder, name), own_seed)

    def of_views(name: str, labels: int) -> Callable[[], Classifiers]:
        return lambda: classifiers.classifiers_of_views(classifiers.read_class_table(folder, name), seed, labels)

    def of_halves(labels: int) -> Callable[[], Classifiers]:
        return lambda: classifiers.classifiers_of_halves(seed, labels)

    seeds = {name: STEP * seed + number for number, name in enumerate(names)}
    found = {name: (draw(name, each), each) for name, each in seeds.items()}
    for name in (name for name in names if name in classifiers.VIEWS):
        found |= {f"{name} views, {labels} labels": (of_views(name, labels), seed) for labels in OF_VIEWS}
    return found | {f"digit halves, {labels} labels": (of_halves(labels), seed) for labels in OF_HALVES}


def _of_risks(folder: Path, seed: int) -> Mapping[str, tuple[Callable[[], Classifiers], int]]:
    def draw(name: str, own_seed: int) -> Callable[[], Classifiers]:
        return lambda: classifiers.draw_classifiers(
            classifiers.of_two_classes(partners.read_table(folder, name)), own_seed
        )

    return {name: (draw(name, each), each) for name, (_, each) in _from_tables(folder, seed).items()}


#: Methods on ordinary tables.
METHODS: Mapping[str, tuple[Callable[[Partners], Any], str]] = {
    "alone": (lambda problem: problem.main.scores, ""),
    "refined": (lambda problem: refine(problem.main, problem.references, problem.labels, rng=0).scores, "labels"),
    "refined, no labels": (lambda problem: refine(problem.main, problem.references, rng=0).scores, ""),
    "impute and average": (rival("impute_and_average"), ""),
    "impute and stack": (rival("impute_and_stack"), "labels"),
    "own labels": (rival("learn_from_labels"), "labels"),
    "self-smoothing": (rival("smooth_alone"), "labels"),
}


def _facts(problem: Partners) -> dict[str, Any]:
    """What a problem is, as plain values; ``better`` says by how much its best reference is better, in [-1, 1]."""
    best = max(ranking_accuracy(problem.truth, said) for said in problem.strengths)
    return {
        "references": len(problem.references),
        "pairs": problem.pairs,
        "labels": 0 if problem.labels is None else len(problem.labels.keys),
        "odd": problem.odd,
        "better": round(best - problem.accuracy(problem.main.scores), 6),
    }


#: The experiments on drawn problems, by name.
DRAWN: Mapping[str, Experiment] = {
    "tables": Experiment(_from_tables, METHODS, lambda problem, scores: (problem.accuracy(scores), {}), _facts),
    "classes": Experiment(_from_class_tables, classes.METHODS, classes.measures_of, classes.facts_of),
    "risks": Experiment(_of_risks, classes.METHODS_ON_RISKS, classes.measures_of, classes.facts_of),
}


@dataclass(frozen=True)
class Draw:
    """One problem, and the methods that have no row yet.

    Attributes
    ----------
    experiment : str
    folder : Path
        The data folder.
    task : str
    trial : int
        Counted from 0.
    methods : tuple of str
    """

    experiment: str
    folder: Path
    task: str
    trial: int
    methods: tuple[str, ...]


def methods_on(names: Iterable[str]) -> list[str]:
    """The methods of some experiments, each once."""
    return list(dict.fromkeys(method for name in names for method in DRAWN[name].methods))


def missing_draws(
    folder: Path, names: Collection[str], methods: Container[str], trials: int, stored: Container[Key]
) -> list[Draw]:
    """List the problems of some experiments that lack rows of some methods.

    Raises
    ------
    MissingExtraError
        If there are no tables.
    """
    found = []
    for name, experiment in DRAWN.items():
        for trial in range(trials if name in names else 0):
            for task in experiment.problems(folder, FIRST_SEED + trial):
                chosen = [method for method in experiment.methods if method in methods]
                lacking = tuple(method for method in chosen if (name, task, trial, method) not in stored)
                found += [Draw(name, folder, task, trial, lacking)] if lacking else []
    return found


def run_draws(draws: Sequence[Draw], store: Store, each: Each) -> Iterator[tuple[str, list[Row]]]:
    """Compute the rows of problems, and store those of a problem when it is done; see `runner.run`."""
    for draw, rows in zip(draws, each(_measure, draws, provenance()), strict=True):
        store.append(rows)
        yield f"{draw.experiment}, trial {draw.trial + 1}", rows


def _measure(draw: Draw, about: Mapping[str, str]) -> list[Row]:
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        experiment = DRAWN[draw.experiment]
        make, seed = experiment.problems(draw.folder, FIRST_SEED + draw.trial)[draw.task]
        problem = make()
        row = {
            "dataset": draw.experiment,
            "protocol": "decoupled",
            "task": draw.task,
            "trial": draw.trial,
            "seed": seed,
            "provenance": about,
        }
        return [_measure_one(experiment, problem, name, row) for name in draw.methods]


def _measure_one(experiment: Experiment, problem: Any, name: str, known: Mapping[str, Any]) -> Row:
    method, needed = experiment.methods[name]
    facts = experiment.facts_of(problem)

    def measure() -> dict[str, Any]:
        start = time.perf_counter()
        predictions = np.asarray(method(problem))
        seconds = round(time.perf_counter() - start, 4)
        accuracy, others = experiment.measures_of(problem, predictions)
        return {"accuracy": accuracy, "seconds": seconds, "hyperparameters": {**facts, **others}}

    reason = LACKING[needed] if needed and not getattr(problem, needed) else ""
    return row_of({**known, "method": name, "hyperparameters": facts}, reason, measure)
