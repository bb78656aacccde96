"""Result rows as arrays and numbers, dataset by dataset. Tables, figures and claims are made from these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse_study.experiments.comparison import MEAN, Comparison, Difference, compare, compare_means
from manifuse_study.experiments.methods import METHODS
from manifuse_study.experiments.plan import EXPERIMENTS
from manifuse_study.experiments.store import Row, select

#: What every method is compared with, and our method.
BASELINE, OURS = "Ind", "JMD"

#: How people write the names of experiments; other names are shown as they are.
TITLES = {name: experiment.title for name, experiment in EXPERIMENTS.items()}


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over trials. The mean needs one trial and the deviation two; else they are NaN."""

    mean: float
    deviation: float
    trials: int


@dataclass(frozen=True, eq=False)
class Summary:
    """The rows of one dataset, and what follows from them.

    Attributes
    ----------
    dataset : str
        Name of the experiment.
    rows : sequence of Row
        At least one.
    """

    dataset: str
    rows: Sequence[Row]

    @property
    def title(self) -> str:
        """The dataset's name as people write it."""
        return TITLES.get(self.dataset, self.dataset)

    @property
    def protocol(self) -> str:
        """``"coupled"`` or ``"decoupled"``."""
        return self.rows[0].protocol

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Tasks in order of first appearance."""
        return in_order(row.task for row in self.rows)

    @cached_property
    def trials(self) -> tuple[int, ...]:
        """Trials in rising order."""
        return tuple(sorted({row.trial for row in self.rows}))

    @cached_property
    def done(self) -> tuple[Row, ...]:
        """Rows with a result; they have what was chosen."""
        return tuple(select(self.rows, status="done"))

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Methods that have at least one result, in order of first appearance."""
        with_result = {row.method for row in self.done}
        return tuple(method for method in in_order(row.method for row in self.rows) if method in with_result)

    @property
    def missing(self) -> dict[tuple[str, str, str], list[str]]:
        """The task of every row without a result, by method, status and reason."""
        tasks: dict[tuple[str, str, str], list[str]] = {}
        for row in self.rows:
            if row.status != "done":
                tasks.setdefault((row.method, row.status, row.reason), []).append(row.task)
        return tasks

    @property
    def origin(self) -> list[str]:
        """Sentences that say how often *Ind* chose which ranker, and with which versions the rows were made."""
        rankers = Counter(str(row.hyperparameters.get("ranker", "not said")) for row in self.chosen_by(BASELINE))
        versions: dict[str, dict[str, None]] = {}
        for row in self.rows:
            for name, value in row.provenance.items():
                versions.setdefault(name, {})[value] = None
        chosen = ", ".join(f"{ranker} {times} times" for ranker, times in rankers.items())
        made = ", ".join(f"{name} {' and '.join(values)}" for name, values in versions.items())
        return [f"Rankers that Ind chose: {chosen}."] * bool(chosen) + [f"Made by {made}."] * bool(made)

    def chosen_by(self, method: str) -> list[Row]:
        """Return the rows of a method that have a result; they have what it chose."""
        return select(self.done, method=method)

    def table(self, method: str, column: str = "accuracy") -> FloatArray:
        """Return a column of the rows of a method, shape (tasks, trials); NaN where it has none."""
        values = {(row.task, row.trial): getattr(row, column) for row in self.chosen_by(method)}
        cells = [[values.get((task, trial)) for trial in self.trials] for task in self.tasks]
        return np.array(cells, dtype=np.float64)  # None becomes NaN

    def spread(self, method: str, task: str) -> Spread:
        """Summarise the accuracy of a method on a task, or its `MEAN` over tasks in the trials that have all tasks."""
        table = self.table(method)
        values = table.mean(axis=0) if task == MEAN else table[self.tasks.index(task)]
        values = values[np.isfinite(values)]
        return Spread(
            mean=float(values.mean()) if len(values) else np.nan,
            deviation=float(values.std(ddof=1)) if len(values) > 1 else np.nan,
            trials=len(values),
        )

    def median_seconds(self, method: str, task: str = MEAN) -> float:
        """Return the median run time over trials, of one task or of all tasks; NaN if there is none."""
        seconds = self.table(method, "seconds")[[task in (name, MEAN) for name in self.tasks]]
        seconds = seconds[np.isfinite(seconds)]
        return float(np.median(seconds)) if len(seconds) else np.nan

    def compare(self, method: str, against: str = BASELINE) -> Comparison:
        """Compare two methods on the trials in which both are done."""
        return compare(method, against, self.tasks, self.table(method) - self.table(against))

    def compare_means(self, method: str, against: str = BASELINE) -> Difference:
        """Compare the means over tasks of two methods on the trials in which both are done."""
        return compare_means(self.table(method) - self.table(against))

    @cached_property
    def comparisons(self) -> tuple[Comparison, ...]:
        """Every other method less *Ind*."""
        return tuple(self.compare(method) for method in self.methods if method != BASELINE)


def summarise(rows: Sequence[Row]) -> dict[str, Summary]:
    """Summarise rows by dataset, in order of first appearance."""
    return {name: Summary(name, select(rows, dataset=name)) for name in in_order(row.dataset for row in rows)}


def knows_more(method: str) -> bool:
    """Whether a method knows more than the others, so that none is expected to reach it."""
    return method in METHODS and METHODS[method].knows_more


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return the different names, in order of first appearance."""
    return tuple(dict.fromkeys(names))


def with_surface(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that have an accuracy surface."""
    return [row for row in rows if row.hyperparameters.get("surface")]


def values_of(row: Row) -> FloatArray:
    """Return the accuracy surface of a row of JMD, over the two hyperparameters of the f-diffusion.

    Returns
    -------
    (step sizes, weight scales) array
        Accuracies on the validation labels in the first round, in [0, 1]; NaN where a cell has none.
    """
    return np.array(row.hyperparameters["surface"], dtype=np.float64)


def roughness(values: FloatArray) -> float:
    """Return Geary's C: 0 if neighbouring cells are alike, 1 in the mean if the cells are in any order.

    It divides the mean squared difference of neighbours by that of any two cells. A smooth surface may have
    several peaks, which the fit of a quadratic would not allow. Dividing by the range instead would make the
    result depend on the two most extreme cells.

    Parameters
    ----------
    values : (p, q) array
        Cells that are NaN are left out.

    Returns
    -------
    float
        0 for a surface that is constant.

    References
    ----------
    .. [1] Geary, R. C. "The contiguity ratio and statistical mapping", The Incorporated Statistician 5, 1954.

    Examples
    --------
    >>> roughness(np.array([[0.0, 1.0, 2.0, 3.0]]))
    0.3
    >>> roughness(np.array([[0.0, 1.0], [1.0, 0.0]]))
    1.5
    """
    cells = values[np.isfinite(values)]
    if len(cells) < 2 or np.ptp(cells) == 0:
        return 0.0
    steps = np.concatenate([np.diff(values, axis=axis).ravel() for axis in (0, 1)])
    return float(np.nanmean(steps**2) / (2 * cells.var(ddof=1)))
