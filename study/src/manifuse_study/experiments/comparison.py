"""Two methods compared on the trials in which both are done: differences, intervals, tests.

Trials are splits of the same rows, so they are not independent. Intervals and tests say how much a result on this data
set depends on the split. They say nothing about a population of data sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from manifuse.kernels.arrays import FloatArray

CONFIDENCE, SIGNIFICANT = 0.95, 0.05
MEAN = "mean over tasks"

#: Accuracies that differ by less than this are equal: they are ratios of counts, so only rounding makes them differ.
SAME = 1e-12


@dataclass(frozen=True)
class Difference:
    """The accuracy of a method minus that of another, over the trials in which both are done.

    Attributes
    ----------
    task : str
    trials : int
    mean, low, high : float
        Mean difference, NaN without trials, and its t-interval over trials, NaN with fewer than two trials.
    p, adjusted : float
        p-value of the Wilcoxon signed-rank test, before and after Holm's correction for the tasks of the dataset.
    wins, ties, losses : int
        Number of trials.
    """

    task: str
    trials: int
    mean: float
    low: float
    high: float
    p: float
    adjusted: float
    wins: int
    ties: int
    losses: int

    @property
    def verdict(self) -> int:
        """1 if significantly better, -1 if significantly worse, else 0; also 0 if mean and wins disagree."""
        agree = np.sign(self.mean) == np.sign(self.wins - self.losses)
        return int(np.sign(self.mean)) if agree and self.adjusted < SIGNIFICANT else 0


def is_testable(trials: int, tasks: int) -> bool:
    """Whether the Wilcoxon test can find a difference with so many trials, after Holm's correction for the tasks.

    The smallest p-value that the trials can give is multiplied by Holm's factor for the smallest p-value.
    """
    return trials > 0 and tasks * 2.0 ** (1 - trials) < SIGNIFICANT


@dataclass(frozen=True)
class Comparison:
    """The accuracy of a method minus that of another, task by task and in the mean over tasks."""

    method: str
    against: str
    tasks: tuple[Difference, ...]
    mean: Difference

    @property
    def cells(self) -> tuple[int, int, int]:
        """Wins, ties and losses over tasks and trials."""
        wins, ties, losses = zip(*((task.wins, task.ties, task.losses) for task in self.tasks), strict=True)
        return sum(wins), sum(ties), sum(losses)

    @property
    def in_the_mean(self) -> tuple[int, int, int]:
        """Wins, ties and losses over tasks, each by its mean over trials."""
        return count(np.array([task.mean for task in self.tasks]))

    @property
    def significant(self) -> tuple[int, int]:
        """On how many tasks the method is significantly better, and worse."""
        verdicts = [task.verdict for task in self.tasks]
        return verdicts.count(1), verdicts.count(-1)


def compare(method: str, against: str, tasks: Sequence[str], differences: FloatArray) -> Comparison:
    """Compare two methods by their differences in accuracy, shape (tasks, trials), NaN where one is not done."""
    wilcoxon = [signed_rank(row) for row in differences]
    by_task = [
        _difference(task, row, p, adjusted)
        for task, row, p, adjusted in zip(tasks, differences, wilcoxon, holm(wilcoxon), strict=True)
    ]
    return Comparison(method, against, tuple(by_task), compare_means(differences))


def compare_means(differences: FloatArray) -> Difference:
    """Compare two methods by the means over tasks of their differences, shape (tasks, trials)."""
    means = differences.mean(axis=0)
    p = signed_rank(means)
    return _difference(MEAN, means, p, p)


def interval(differences: FloatArray) -> tuple[float, float]:
    """Return the t-interval of the mean at the level `CONFIDENCE`; NaN for fewer than two differences."""
    if len(differences) < 2:
        return np.nan, np.nan
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(differences) - 1) * error)
    return float(differences.mean()) - reach, float(differences.mean()) + reach


def signed_rank(differences: FloatArray) -> float:
    """Return the two-sided p-value of the Wilcoxon signed-rank test without NaN; 1 if all differences are zero."""
    finite = differences[np.isfinite(differences)]
    if not len(finite):
        return np.nan
    # Rounding keeps equal differences equal, so that they share a rank; the test leaves zeros out.
    moved = np.round(finite, 12)[np.abs(finite) >= SAME]
    return float(stats.wilcoxon(moved).pvalue) if len(moved) else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values of one family by Holm's step-down rule; NaN stays NaN and is not counted.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=float)
    tested = np.flatnonzero(np.isfinite(values))
    order = tested[np.argsort(values[tested])]
    factors = np.arange(len(order), 0, -1)
    adjusted = np.full(len(values), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * values[order]), 1.0)
    return [float(value) for value in adjusted]


def count(differences: FloatArray) -> tuple[int, int, int]:
    """Count wins, ties and losses; NaN is none of them."""
    wins, losses = int(np.sum(differences >= SAME)), int(np.sum(differences <= -SAME))
    return wins, int(np.sum(np.isfinite(differences))) - wins - losses, losses


def _difference(task: str, differences: FloatArray, p: float, adjusted: float) -> Difference:
    finite = differences[np.isfinite(differences)]
    low, high = interval(finite)
    mean = float(finite.mean()) if len(finite) else np.nan
    return Difference(task, len(finite), mean, low, high, p, adjusted, *count(finite))
