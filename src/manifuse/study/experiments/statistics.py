"""Result rows to arrays and numbers, dataset by dataset: what tables, figures and claims are made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.study.experiments.comparison import MEAN, Comparison, compare
from manifuse.study.experiments.store import Row, select

#: What everything is compared with, what is compared, and what no method can be blamed for being below.
BASELINE, OURS, ORACLE = "Ind", "JMD", "coupled oracle"

#: How people write the names of experiments; others stay as they are.
TITLES = {
    "pubfig": "PubFig",
    "osr": "OSR",
    "awa": "AWA",
    "cal7": "Cal7",
    "hw": "HW",
    "nus": "NUS",
    "shoes": "Shoes",
    "digits": "Digits",
    "pubfig-decoupled": "PubFig, decoupled",
    "osr-decoupled": "OSR, decoupled",
}


@dataclass(frozen=True)
class Missing:
    """Rows without a result that have method, status and reason in common.

    Attributes
    ----------
    method : str
    status : str
        ``"skipped"`` or ``"failed"``.
    reason : str
    tasks : tuple of str
    rows : int
    """

    method: str
    status: str
    reason: str
    tasks: tuple[str, ...]
    rows: int


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over trials; NaN where there are none, or only one."""

    mean: float
    deviation: float
    trials: int


@dataclass(frozen=True, eq=False)
class Summary:
    """The rows of one dataset as arrays.

    Attributes
    ----------
    dataset, protocol : str
    tasks, methods : tuple of str
        In order of first appearance; methods that have at least one result.
    trials : tuple of int
    accuracy, seconds : (tasks, methods, trials) array
        NaN where not done.
    missing : tuple of Missing
    done : tuple of Row
        Rows with a result; they hold what was chosen.
    rankers : mapping of str to int
        How often *Ind* chose which ranker.
    provenance : mapping of str to tuple of str
        Every value that occurs in the rows.
    """

    dataset: str
    protocol: str
    tasks: tuple[str, ...]
    methods: tuple[str, ...]
    trials: tuple[int, ...]
    accuracy: FloatArray
    seconds: FloatArray
    missing: tuple[Missing, ...]
    done: tuple[Row, ...]
    rankers: Mapping[str, int]
    provenance: Mapping[str, tuple[str, ...]]

    @property
    def title(self) -> str:
        """The dataset's name as people write it."""
        return TITLES.get(self.dataset, self.dataset)

    def chosen_by(self, method: str) -> list[Row]:
        """The rows of a method that have a result; they hold what it chose."""
        return select(self.done, method=method)

    def scores(self, method: str) -> FloatArray:
        """Accuracies of a method, (tasks, trials); all NaN if it has none."""
        if method not in self.methods:
            return np.full((len(self.tasks), len(self.trials)), np.nan)
        return np.asarray(self.accuracy[:, self.methods.index(method)])

    def spread(self, method: str, task: str) -> Spread:
        """Accuracy of a method on a task over trials, or of its `MEAN` over the trials with all tasks done."""
        scores = self.scores(method)
        values = scores.mean(axis=0) if task == MEAN else scores[self.tasks.index(task)]
        values = values[np.isfinite(values)]
        return Spread(
            mean=float(values.mean()) if len(values) else np.nan,
            deviation=float(values.std(ddof=1)) if len(values) > 1 else np.nan,
            trials=len(values),
        )

    def median_seconds(self, method: str, task: str = MEAN) -> float:
        """Median run time over trials, of one task or of all; NaN if there is none."""
        tasks = [task in (name, MEAN) for name in self.tasks]
        seconds = self.seconds[tasks][:, [name == method for name in self.methods]]
        seconds = seconds[np.isfinite(seconds)]
        return float(np.median(seconds)) if len(seconds) else np.nan

    def compare(self, method: str, against: str = BASELINE) -> Comparison:
        """Compare two methods on the trials that both have done."""
        return compare(method, against, self.tasks, self.scores(method) - self.scores(against))

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every other method less *Ind*."""
        return tuple(self.compare(method) for method in self.methods if method != BASELINE)


def summarise(rows: Sequence[Row]) -> dict[str, Summary]:
    """Summarise rows by dataset, in order of first appearance."""
    return {name: _summary(name, select(rows, dataset=name)) for name in in_order(row.dataset for row in rows)}


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return the different names, in order of first appearance."""
    return tuple(dict.fromkeys(names))


def _summary(name: str, rows: Sequence[Row]) -> Summary:
    done = select(rows, status="done")
    tasks = in_order(row.task for row in rows)
    with_result = {row.method for row in done}
    methods = tuple(method for method in in_order(row.method for row in rows) if method in with_result)
    trials = tuple(sorted({row.trial for row in rows}))
    accuracy, seconds = (np.full((len(tasks), len(methods), len(trials)), np.nan) for _ in range(2))
    for row in done:
        cell = tasks.index(row.task), methods.index(row.method), trials.index(row.trial)
        accuracy[cell] = np.nan if row.accuracy is None else row.accuracy
        seconds[cell] = np.nan if row.seconds is None else row.seconds
    rankers = [str(row.hyperparameters.get("ranker", "not said")) for row in select(done, method=BASELINE)]
    return Summary(
        dataset=name,
        protocol=rows[0].protocol,
        tasks=tasks,
        methods=methods,
        trials=trials,
        accuracy=accuracy,
        seconds=seconds,
        missing=_missing(rows),
        done=tuple(done),
        rankers={ranker: rankers.count(ranker) for ranker in in_order(rankers)},
        provenance={
            what: in_order(row.provenance[what] for row in rows if what in row.provenance)
            for what in in_order(key for row in rows for key in row.provenance)
        },
    )


def _missing(rows: Sequence[Row]) -> tuple[Missing, ...]:
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if row.status != "done":
            groups.setdefault((row.method, row.status, row.reason), []).append(row)
    return tuple(
        Missing(*kind, tasks=in_order(row.task for row in group), rows=len(group)) for kind, group in groups.items()
    )
