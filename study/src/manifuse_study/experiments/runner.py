"""The runner: every task of every trial is a job, which ends in rows in the store.

The runner works on a trial in two steps, each in parallel over the tasks: it trains the rankers, then it runs the
methods. Every job uses one thread and its own seed, so the rows do not depend on how many jobs run at once. The rows
of a task are stored as soon as it is done. A later run computes only the rows that are missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from manifuse.errors import InputError, require
from manifuse.run.engine import Each
from manifuse_study.datasets.catalogue import CATALOGUE
from manifuse_study.datasets.dataset import Dataset
from manifuse_study.experiments.methods import METHODS, Method
from manifuse_study.experiments.plan import FIRST_SEED, Experiment
from manifuse_study.experiments.protocol import Roles
from manifuse_study.experiments.provenance import data_digest, provenance
from manifuse_study.experiments.store import Row, Store
from manifuse_study.experiments.trial import Case, Rankers, Trial, train_rankers

#: A row keeps at most so many characters of the message of a failure.
REASON_LENGTH = 500


@dataclass(frozen=True)
class Job:
    """One task of one trial, and the methods that have no row yet.

    Attributes
    ----------
    experiment : Experiment
    folder : Path
        The data folder.
    task : str
    trial : int
        Counted from 0.
    methods : tuple of str
        Empty if only the rankers of the task are needed, as references of other tasks.
    """

    experiment: Experiment
    folder: Path
    task: str
    trial: int
    methods: tuple[str, ...]

    @property
    def seed(self) -> int:
        """Draws the trial."""
        return FIRST_SEED + self.trial

    @property
    def known(self) -> dict[str, Any]:
        """What all rows of this job have in common."""
        return {
            "dataset": self.experiment.name,
            "protocol": self.experiment.protocol.kind,
            "task": self.task,
            "trial": self.trial,
            "seed": self.seed,
        }


def missing_jobs(
    experiments: Sequence[Experiment], methods: Sequence[str], trials: int, folder: Path, store: Store
) -> list[list[Job]]:
    """List the jobs of every trial that lacks rows.

    Parameters
    ----------
    experiments : sequence of Experiment
        Their data must be in the folder.
    methods : sequence of str
    trials : int
        Trials of every experiment.
    folder : Path
        The data folder.
    store : Store

    Raises
    ------
    InputError
        If a data set is missing or damaged, or the store has rows of other data.
    """
    found = []
    for experiment in experiments:
        dataset = _load(experiment.dataset, folder)
        tasks, digest = dataset.tasks, data_digest(dataset)
        if digest and store.data.get(experiment.name, digest) != digest:
            raise InputError(
                f"{folder} has data of {experiment.name} with the checksum {digest}, but the results are of data with "
                f"{store.data[experiment.name]}; name another results folder, so that they are not mixed."
            )
        for trial in range(trials):
            lacking = {
                task: tuple(name for name in methods if (experiment.name, task, trial, name) not in store.keys)
                for task in tasks
            }
            if any(lacking.values()):
                found.append([Job(experiment, folder, task, trial, names) for task, names in lacking.items()])
    return found


def run(trials: Sequence[Sequence[Job]], store: Store, each: Each) -> Iterator[tuple[str, list[Row]]]:
    """Compute jobs trial by trial, each in two steps, and store the rows of a task when it is done.

    Parameters
    ----------
    trials : sequence of sequences of Job
        From `missing_jobs`.
    store : Store
    each : callable
        From `manifuse.run.engine.workers`.

    Yields
    ------
    step : str
        What was done, after each step.
    rows : list of Row
        The rows that the step stored.

    Raises
    ------
    OutputError
        If rows cannot be stored, or workers are lost; the rows stored before are whole.
    """
    for jobs in trials:
        label = f"{jobs[0].experiment.name}, trial {jobs[0].trial + 1}"
        rankers: dict[str, Rankers] = {}
        failures = []
        for job, trained in zip(jobs, each(_train, jobs), strict=True):
            if isinstance(trained, Rankers):
                rankers[job.task] = trained
            else:
                failures.append(f"training of {job.task}: {trained}")
            yield f"{label}: rankers", []
        about = provenance()
        found: Iterable[list[Row]]
        if failures:
            # Every method needs references, so it needs all rankers of the trial.
            failed: dict[str, Any] = {"status": "failed", "reason": failures[0], "provenance": about}
            found = [[Row(**job.known, method=name, **failed) for name in job.methods] for job in jobs]
        else:
            found = each(_measure, jobs, rankers, about)
        for rows in found:
            store.append(rows)
            yield f"{label}: methods", rows


def _train(job: Job) -> Rankers | str:
    """Train the rankers of one task, or say what went wrong."""
    with _one_thread():
        try:
            dataset = _load(job.experiment.dataset, job.folder)
            return train_rankers(dataset, Roles.draw(dataset, job.experiment.protocol, job.seed), job.task, deep=True)
        except Exception as error:  # a failure is a row, whatever it is
            return _message(error)


def _measure(job: Job, rankers: Mapping[str, Rankers], about: Mapping[str, str]) -> list[Row]:
    """Run the methods of one task."""
    with _one_thread():
        dataset, protocol = _load(job.experiment.dataset, job.folder), job.experiment.protocol
        trial = Trial(dataset, protocol, job.seed, Roles.draw(dataset, protocol, job.seed), rankers)
        known = {**job.known, "provenance": {**about, "data": data_digest(dataset)}}
        case = Case(trial, job.task)
        return [_measure_one({**known, "method": name}, METHODS[name], case) for name in job.methods]


def _measure_one(known: Mapping[str, Any], method: Method, case: Case) -> Row:
    """Run one method; a reason why it does not apply is a row as well."""

    def measure() -> dict[str, Any]:
        start = time.perf_counter()
        outcome = method.run(case)
        trained = case.trial.rankers[case.task].main.seconds
        seconds = trained if method.name == "Ind" else time.perf_counter() - start
        accuracy = case.test_accuracy(outcome.predictions)
        return {"accuracy": accuracy, "seconds": round(seconds, 4), "hyperparameters": outcome.hyperparameters}

    return row_of(known, method.reason_to_skip(case), measure)


def row_of(known: Mapping[str, Any], reason: str, measure: Callable[[], Mapping[str, Any]]) -> Row:
    """Make the row of a method, which is skipped for a reason, or measured; a failure is a row, whatever it is."""
    if reason:
        return Row(**known, status="skipped", reason=reason)
    try:
        return Row(**{**known, **measure()}, status="done")
    except Exception as error:
        return Row(**known, status="failed", reason=_message(error))


def _message(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:REASON_LENGTH]


@lru_cache(maxsize=1)
def _load(name: str, folder: Path) -> Dataset:
    """Read a data set; every process reads it once while it works on it."""
    return CATALOGUE[name].load(folder)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread: jobs share the cores, and sums in another order would have other last digits."""
    torch = require("torch", extra="deep", purpose="The deep ranker", of="manifuse-study")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)
