"""Summaries as tables: grids with the numbers that a paper prints, and CSV with every number."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace

import numpy as np

from manifuse.grid import ABSENT, Grid, strong_if
from manifuse_study.experiments.comparison import MEAN, Comparison, Difference, holm
from manifuse_study.experiments.statistics import BASELINE, OURS, Spread, Summary, in_order, knows_more

#: What a user would do instead, the paper's rivals, what others do who know more, and last JMD itself with less.
RIVALS = (
    "Ind",
    "self-smoothing",
    "mean",
    "impute and average",
    "impute and stack",
    "stacking, RankSVM",
    "stacking, ridge",
    "label spreading",
    "own labels",
    "forest and average",
    "TPC, iterative",
    "MTL1",
    "MTL2",
    "retrained",
    "retrained, then refined",
    "JMD, no references",
    "JMD, only tuned",
)

#: Marks the names of methods that know more than the others.
MARK = "†"


def gains_grid(summaries: Mapping[str, Summary]) -> Grid:
    """*JMD* less every rival in the mean over tasks, rivals by data sets; what is significant in bold."""
    rivals = [rival for rival in RIVALS if any(rival in summary.methods for summary in summaries.values())]
    columns = [_gain_cells(summary, rivals) for summary in summaries.values()]
    return Grid(
        head=(f"{OURS} less", *(summary.title for summary in summaries.values())),
        body=tuple(zip(map(marked, rivals), *columns, strict=True)),
    )


def accuracy_grid(summary: Summary) -> Grid:
    """Mean ± sd in percent, tasks by methods, the best of those that know no more in bold; median seconds below."""
    times = (format_seconds(summary.median_seconds(method)) for method in summary.methods)
    return Grid(
        head=("task", *map(marked, summary.methods)),
        body=tuple(_accuracy_line(summary, task) for task in summary.tasks),
        foot=(_accuracy_line(summary, MEAN), ("median seconds", *times)),
    )


def rivals_grid(summary: Summary) -> Grid:
    """Every method less *Ind*, in the mean over tasks; what is significant in bold."""

    def record(found: Comparison) -> dict[str, str]:
        mean, is_sure = found.mean, found.mean.verdict != 0
        return {
            "method": marked(found.method),
            "less Ind, points": strong_if(is_sure, points_text(mean.mean)),
            "95% interval": interval_text(mean),
            "p": strong_if(is_sure, _p_text(mean)),
            "tasks sig. better/worse": _counts(*found.significant),
            "wins/ties/losses, tasks by trials": _counts(*found.cells),
            "wins/ties/losses, tasks": _counts(*found.in_the_mean),
        }

    return Grid.of(map(record, summary.comparisons))


def tasks_grid(found: Comparison) -> Grid:
    """Compare two methods task by task; what is significant after the correction in bold."""
    return Grid.of(
        {
            "task": task.task,
            f"{found.method} less {found.against}, points": strong_if(task.verdict != 0, points_text(task.mean)),
            "95% interval": interval_text(task),
            "p, Holm": strong_if(task.verdict != 0, _p_text(task)),
            "wins/ties/losses": _counts(task.wins, task.ties, task.losses),
        }
        for task in found.tasks
    )


def differences_grid(summary: Summary) -> Grid:
    """Every method less *Ind* on every task, with intervals; what is significant after the correction in bold."""
    columns = [[_difference_cell(task) for task in found.tasks] for found in summary.comparisons]
    return Grid(
        head=("task", *(marked(found.method) for found in summary.comparisons)),
        body=tuple(zip(summary.tasks, *columns, strict=True)),
    )


def times_grid(summaries: Mapping[str, Summary]) -> Grid:
    """Median seconds, methods by data sets."""
    methods = in_order(method for summary in summaries.values() for method in summary.methods)
    return Grid(
        head=("method", *(summary.title for summary in summaries.values())),
        body=tuple(
            (marked(method), *(format_seconds(summary.median_seconds(method)) for summary in summaries.values()))
            for method in methods
        ),
    )


def missing_grid(summaries: Mapping[str, Summary]) -> Grid:
    """What has no result, and why; what failed in bold."""
    return Grid.of(
        {
            "data set": summary.title,
            "method": marked(method),
            "status": strong_if(status == "failed", status),
            "rows": str(len(tasks)),
            "tasks": "all tasks" if set(tasks) == set(summary.tasks) else ", ".join(in_order(tasks)),
            "reason": reason,
        }
        for summary in summaries.values()
        for (method, status, reason), tasks in summary.missing.items()
    )


def marked(method: str) -> str:
    """Return the name of a method, with a mark if it knows more than the others."""
    return f"{method} {MARK}" if knows_more(method) else method


def as_csv(summary: Summary) -> str:
    """One line per task and method, and for the mean over tasks; accuracies in [0, 1], empty if not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    spreads = ("dataset", "task", "method", "trials", "mean", "sd", "median_seconds")
    writer.writerow((*spreads, "less_ind", "low", "high", "p", "p_holm", "wins", "ties", "losses"))
    differences = {found.method: (*found.tasks, found.mean) for found in summary.comparisons}
    for index, task in enumerate((*summary.tasks, MEAN)):
        for method in summary.methods:
            spread, time = summary.spread(method, task), summary.median_seconds(method, task)
            # A difference has a task and a number of trials, then the numbers in the order of the columns.
            less = ("",) * 8 if method == BASELINE else astuple(differences[method][index])[2:]
            known = (spread.trials, spread.mean, spread.deviation, time, *less)
            numbers = ("" if isinstance(value, float) and np.isnan(value) else value for value in known)
            writer.writerow((summary.dataset, task, method, *numbers))
    return text.getvalue()


def format_seconds(value: float) -> str:
    """Return a run time with two significant digits."""
    return f"{float(f'{value:.2g}'):g}" if np.isfinite(value) else ABSENT


def points_text(mean: float) -> str:
    """Return a difference of accuracies in points."""
    return ABSENT if np.isnan(mean) else f"{100 * mean:+.2f}"


def interval_text(found: Difference) -> str:
    """Return the interval of a difference in points; empty if there is none."""
    return "" if np.isnan(found.low) else f"[{100 * found.low:+.2f}, {100 * found.high:+.2f}]"


def _accuracy_line(summary: Summary, task: str) -> tuple[str, ...]:
    spreads = {method: summary.spread(method, task) for method in summary.methods}
    fair = {method: spread.mean for method, spread in spreads.items() if not knows_more(method) and spread.trials}
    best = max(fair.values(), default=1.0)
    cells = (strong_if(fair.get(method) == best, _accuracy_text(spread)) for method, spread in spreads.items())
    return task, *cells


def _gain_cells(summary: Summary, rivals: Sequence[str]) -> list[str]:
    """*JMD* less each rival; tests are corrected over the rivals."""
    found = [summary.compare_means(OURS, rival) for rival in rivals]
    adjusted = holm([each.p for each in found])
    return [_difference_cell(replace(each, adjusted=p)) for each, p in zip(found, adjusted, strict=True)]


def _difference_cell(found: Difference) -> str:
    return strong_if(found.verdict != 0, f"{points_text(found.mean)} {interval_text(found)}".strip())


def _p_text(found: Difference) -> str:
    return ABSENT if np.isnan(found.adjusted) else "< 0.001" if found.adjusted < 0.001 else f"{found.adjusted:.3f}"


def _counts(*numbers: int) -> str:
    return "/".join(map(str, numbers))


def _accuracy_text(spread: Spread) -> str:
    if np.isnan(spread.mean):
        return ABSENT
    return f"{100 * spread.mean:.1f}" + ("" if np.isnan(spread.deviation) else f" ± {100 * spread.deviation:.1f}")
