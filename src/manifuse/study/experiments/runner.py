"""The runner: trials and tasks as jobs, their rows into the store.

A trial is worked on in two steps, each in parallel over its tasks: train the rankers, then run the methods. Every job
runs on one thread and draws from seeds of its own, so that the rows do not depend on how many jobs run at once. The
rows of a task are stored when it is done; the same call finds what is missing and goes on from there.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from manifuse.errors import require
from manifuse.study.datasets.catalogue import load
from manifuse.study.datasets.dataset import Dataset
from manifuse.study.experiments.engine import PROCESSES, Each, workers
from manifuse.study.experiments.methods import METHODS, Case
from manifuse.study.experiments.plan import FIRST_SEED, Experiment
from manifuse.study.experiments.protocol import Roles, Trained, Trial, train_rankers
from manifuse.study.experiments.provenance import data_digest, provenance
from manifuse.study.experiments.store import Row, Store

#: The most of a failure's message that a row keeps.
REASON_LENGTH = 500


@dataclass(frozen=True)
class Plan:
    """What a run is to do.

    Attributes
    ----------
    experiments : sequence of Experiment
    methods : sequence of str
    trials : int
    folder : Path
        The data folder.
    jobs : int
        Processes; -1 for one per core.
    engine : str
        As `workers` has it.
    """

    experiments: Sequence[Experiment]
    methods: Sequence[str]
    trials: int
    folder: Path
    jobs: int
    engine: str = PROCESSES


@dataclass
class Progress:
    """What a run tells whoever watches; each is called with plain values.

    Attributes
    ----------
    total : callable
        With the number of steps that the run will take.
    step : callable
        After each of them, with what was done.
    """

    total: Callable[[int], None] = lambda total: None
    step: Callable[[str], None] = lambda what: None


@dataclass
class Totals:
    """What a run amounted to.

    Attributes
    ----------
    rows : int
        Written by this run.
    failed : int
        Of these, with status failed.
    seconds : float
    peak_gib : float
        Sum of the largest resident sizes of all processes.
    """

    rows: int = 0
    failed: int = 0
    seconds: float = 0.0
    peaks: dict[int, float] = field(default_factory=dict)

    @property
    def peak_gib(self) -> float:
        """Sum of the largest resident sizes of all processes."""
        return sum(self.peaks.values()) / 2**30


@dataclass(frozen=True)
class _Job:
    """One task of one trial with the methods that its rows lack."""

    experiment: Experiment
    folder: Path
    task: str
    trial: int
    methods: tuple[str, ...]

    @property
    def seed(self) -> int:
        return FIRST_SEED + self.trial


def run(plan: Plan, store: Store, progress: Progress | None = None) -> Totals:
    """Work through a plan, leaving out what the store holds.

    Parameters
    ----------
    plan : Plan
        Of experiments whose data are there.
    store : Store
    progress : Progress, optional

    Raises
    ------
    InputError
        If a data set is not there or damaged.
    OutputError
        If rows cannot be stored; those stored before are whole.
    """
    watch = Progress() if progress is None else progress
    start, totals = time.perf_counter(), Totals()
    groups = [group for experiment in plan.experiments for group in _missing(experiment, plan, store)]
    watch.total(2 * sum(len(jobs) + len(others) for jobs, others in groups))
    with workers(plan.engine, plan.jobs) as each:
        for jobs, others in groups:
            for rows in _run_trial(each, jobs, others, watch, totals):
                store.append(rows)
                totals.rows += len(rows)
                totals.failed += sum(row.status == "failed" for row in rows)
    totals.seconds = time.perf_counter() - start
    return totals


def _missing(experiment: Experiment, plan: Plan, store: Store) -> Iterator[tuple[list[_Job], list[_Job]]]:
    """For every trial that lacks rows: its tasks that do, and those that only train rankers for them."""
    dataset = _load(experiment.dataset, plan.folder)
    for trial in range(plan.trials):
        jobs = [
            _Job(
                experiment,
                plan.folder,
                task,
                trial,
                tuple(name for name in plan.methods if (experiment.name, task, trial, name) not in store.keys),
            )
            for task in dataset.tasks
        ]
        lacking = [job for job in jobs if job.methods]
        if lacking:
            yield lacking, [job for job in jobs if not job.methods]


def _run_trial(
    each: Each, jobs: list[_Job], others: list[_Job], watch: Progress, totals: Totals
) -> Iterator[list[Row]]:
    """Train all rankers of one trial, run what its tasks lack, and yield their rows, task by task."""
    label = f"{jobs[0].experiment.name}, trial {jobs[0].trial + 1}"
    trained: dict[str, tuple[Trained, Trained]] = {}
    reason = ""
    for job, (pair, failure, peak) in zip([*jobs, *others], each(_train, [*jobs, *others]), strict=True):
        totals.peaks.update(peak)
        watch.step(f"{label}: rankers")
        reason = reason or failure
        if pair is not None:
            trained[job.task] = pair
    about = provenance()
    if reason:
        # Without all rankers of a trial there is no reference to run a method with.
        yield from ([_row(job, name, about, status="failed", reason=reason) for name in job.methods] for job in jobs)
        return
    for rows, peak in each(_measure, jobs, trained, about):
        totals.peaks.update(peak)
        watch.step(f"{label}: methods")
        yield rows
    for _ in others:
        watch.step(f"{label}: methods")


def _train(job: _Job) -> tuple[tuple[Trained, Trained] | None, str, dict[int, float]]:
    """Train the rankers of one task, or say what went wrong."""
    with _one_thread():
        try:
            dataset = _load(job.experiment.dataset, job.folder)
            roles = Roles.draw(dataset, job.experiment.protocol, job.seed)
            return train_rankers(dataset, roles, job.task, deep=True), "", _peak()
        except Exception as error:  # a failure is a row, whatever it is
            return None, f"training of {job.task}: {_said(error)}", _peak()


def _measure(
    job: _Job, trained: Mapping[str, tuple[Trained, Trained]], about: Mapping[str, str]
) -> tuple[list[Row], dict[int, float]]:
    """Run the methods of one task."""
    with _one_thread():
        dataset = _load(job.experiment.dataset, job.folder)
        ordered = {task: trained[task] for task in dataset.tasks}
        roles = Roles.draw(dataset, job.experiment.protocol, job.seed)
        trial = Trial.of(dataset, job.experiment.protocol, job.seed, roles, ordered)
        about = {**about, "data": data_digest(dataset)}
        return [_measured(job, name, trial, about) for name in job.methods], _peak()


def _measured(job: _Job, name: str, trial: Trial, about: Mapping[str, str]) -> Row:
    """Run one method; a reason why it does not apply, or a failure, is a row as well."""
    case, method = Case(trial, job.task), METHODS[name]
    reason = method.applies(case)
    if reason:
        return _row(job, name, about, status="skipped", reason=reason)
    try:
        outcome = method.measure(case)
        accuracy = trial.test_accuracy(job.task, outcome.predictions)
    except Exception as error:  # a failure is a row, whatever it is
        return _row(job, name, about, status="failed", reason=_said(error))
    seconds = trial.main[job.task].seconds if name == "Ind" else outcome.seconds
    return _row(
        job,
        name,
        about,
        status="done",
        accuracy=accuracy,
        seconds=round(seconds, 4),
        hyperparameters=dict(outcome.hyperparameters),
    )


def _row(job: _Job, method: str, about: Mapping[str, str], **found: Any) -> Row:
    empty: dict[str, Any] = {"accuracy": None, "seconds": None, "reason": "", "hyperparameters": {}}
    return Row(
        dataset=job.experiment.name,
        protocol=job.experiment.protocol.kind,
        task=job.task,
        trial=job.trial,
        method=method,
        seed=job.seed,
        provenance=dict(about),
        **{**empty, **found},
    )


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:REASON_LENGTH]


@lru_cache(maxsize=1)
def _load(name: str, folder: Path) -> Dataset:
    """Read a data set once in every process that works on it."""
    return load(name, folder)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Run on one thread: jobs share the cores, and sums in another order would give other last digits."""
    torch = sys.modules.get("torch") or require("torch", extra="deep", purpose="The deep ranker")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def _peak() -> dict[int, float]:
    """Largest resident size of this process in bytes, by its number."""
    return {os.getpid(): resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0}
