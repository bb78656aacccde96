"""Summaries as tables: grids with the numbers that a paper prints, CSV with every number, the page of results."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from manifuse.report.grid import ABSENT, Cell, Grid, as_markdown
from manifuse.study.experiments.claims import CLAIMS_NOTE, TPC_TIME_NOTE, Condition, Finding
from manifuse.study.experiments.comparison import MEAN, Comparison, Difference, holm
from manifuse.study.experiments.statistics import BASELINE, ORACLE, OURS, Missing, Summary, in_order

#: To be said wherever an interval or a p-value is shown.
TRIALS_NOTE = (
    "Intervals (95%, t) and tests (Wilcoxon signed-rank, with Holm's correction over the tasks of a data set for each "
    "method; significant below 5%) are over trials. Trials are splits of the same rows: intervals and tests speak of "
    "this data set, not of a population. No p-value of n trials is below 2 to the power of 1 - n. A mean over tasks "
    "takes the trials that have all tasks."
)

GAINS_NOTE = (
    "Points of ranking accuracy in the mean over tasks, with 95% intervals over trials, of JMD as it ships. Positive "
    "is in its favour; bold is significant (Wilcoxon signed-rank, Holm's correction over the lines of a column); the "
    "last line is what its presmoothing is worth."
)

#: How a condition of a claim is marked.
MARKS = {True: "holds", False: "fails", None: "not tested"}


#: What a user would do instead, the paper's rivals, and what the presmoothing is to be credited with.
RIVALS = (
    "Ind",
    "self-smoothing",
    "mean",
    "impute and average",
    "impute and stack",
    "stacking, RankSVM",
    "stacking, ridge",
    "label spreading",
    "TPC, iterative",
    "MTL1",
    "MTL2",
    "JMD, not presmoothed",
)


def gains_grid(summaries: Mapping[str, Summary]) -> Grid:
    """*JMD* less every rival in the mean over tasks, rivals by data sets; in bold where the test says so."""
    rivals = [rival for rival in RIVALS if any(rival in summary.methods for summary in summaries.values())]
    columns = [_gain_cells(summary, rivals) for summary in summaries.values()]
    return Grid(
        head=(f"{OURS} less", *(summary.title for summary in summaries.values())),
        body=tuple((Cell(rival), *cells) for rival, *cells in zip(rivals, *columns, strict=True)),
    )


def accuracy_grid(summary: Summary) -> Grid:
    """Mean ± sd in percent, tasks by methods, the best in bold (the oracle left out); median seconds below."""
    times = (format_seconds(summary.median_seconds(method)) for method in summary.methods)
    return Grid(
        head=("task", *summary.methods),
        body=tuple(_accuracy_line(summary, task) for task in summary.tasks),
        foot=(
            _accuracy_line(summary, MEAN),
            (Cell("median seconds"), *map(Cell, times)),
        ),
    )


def rivals_grid(summary: Summary) -> Grid:
    """Every method less *Ind*, in the mean over tasks; in bold where the test says so."""
    body = []
    for found in summary.comparisons:
        better, worse = found.significant
        counts = ("/".join(map(str, numbers)) for numbers in (found.cells, found.in_the_mean))
        body.append(
            (Cell(found.method), *_difference_cells(found.mean), Cell(f"{better}/{worse}"), *map(Cell, counts))
        )
    return Grid(
        head=(
            "method",
            "less Ind, points",
            "95% interval",
            "p",
            "tasks sig. better/worse",
            "wins/ties/losses, tasks by trials",
            "wins/ties/losses, tasks",
        ),
        body=tuple(body),
    )


def tasks_grid(found: Comparison) -> Grid:
    """Compare two methods task by task; in bold where the corrected test says so."""
    return Grid(
        head=("task", f"{found.method} less {found.against}, points", "95% interval", "p, Holm", "wins/ties/losses"),
        body=tuple(
            (Cell(task.task), *_difference_cells(task), Cell(f"{task.wins}/{task.ties}/{task.losses}"))
            for task in found.tasks
        ),
    )


def differences_grid(summary: Summary) -> Grid:
    """Every method less *Ind* on every task, with intervals; in bold where the corrected test says so."""
    lines = zip(*(comparison.tasks for comparison in summary.comparisons), strict=True)
    return Grid(
        head=("task", *(comparison.method for comparison in summary.comparisons)),
        body=tuple(
            (
                Cell(line[0].task),
                *(Cell(f"{_points(found.mean)} {_interval(found)}".strip(), found.verdict != 0) for found in line),
            )
            for line in lines
        ),
    )


def times_grid(summaries: Mapping[str, Summary]) -> Grid:
    """Median seconds, methods by datasets."""
    methods = in_order(method for summary in summaries.values() for method in summary.methods)
    return Grid(
        head=("method", *(summary.title for summary in summaries.values())),
        body=tuple(
            (
                Cell(method),
                *(Cell(format_seconds(summary.median_seconds(method))) for summary in summaries.values()),
            )
            for method in methods
        ),
    )


def missing_grid(summaries: Mapping[str, Summary]) -> Grid:
    """What has no result, and why; what failed in bold."""
    return Grid(
        head=("data set", "method", "status", "rows", "tasks", "reason"),
        body=tuple(
            (
                Cell(summary.title),
                Cell(missing.method),
                Cell(missing.status, missing.status == "failed"),
                Cell(str(missing.rows)),
                Cell(where(missing, summary.tasks)),
                Cell(missing.reason),
            )
            for summary in summaries.values()
            for missing in summary.missing
        ),
    )


def as_csv(summary: Summary) -> str:
    """One line per task and method, and for the mean over tasks; accuracies in [0, 1], empty where not known."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    spreads = ("dataset", "task", "method", "trials", "mean", "sd", "median_seconds")
    writer.writerow((*spreads, "less_ind", "low", "high", "p", "p_holm", "wins", "ties", "losses"))
    comparisons = {comparison.method: comparison for comparison in summary.comparisons}
    for place, task in enumerate((*summary.tasks, MEAN)):
        for method in summary.methods:
            spread, time = summary.spread(method, task), summary.median_seconds(method, task)
            known: tuple[object, ...] = (spread.trials, spread.mean, spread.deviation, time)
            if method == BASELINE:
                known += ("",) * 8
            else:
                found = (*comparisons[method].tasks, comparisons[method].mean)[place]
                known += (found.mean, found.low, found.high, found.p, found.adjusted)
                known += (found.wins, found.ties, found.losses)
            numbers = ("" if isinstance(value, float) and np.isnan(value) else value for value in known)
            writer.writerow((summary.dataset, task, method, *numbers))
    return text.getvalue()


def results_page(
    summaries: Mapping[str, Summary], findings: Sequence[Finding], *, deviations: Mapping[str, Sequence[str]]
) -> str:
    """Write the claims and every dataset as Markdown, the part of ``docs/results.md`` that these rows make.

    Parameters
    ----------
    summaries : mapping of str to Summary
    findings : sequence of Finding
    deviations : mapping of str to sequence of str
        Of each experiment, sentences on where its data differs from the paper's.
    """
    lines = ["## What JMD gains", "", GAINS_NOTE, "", *as_markdown(gains_grid(summaries)), ""]
    lines += ["## The paper's claims", "", CLAIMS_NOTE, ""]
    for finding in findings:
        lines.append(f"- **({finding.letter}) {finding.verdict}**; as it ships: {finding.shipped_verdict}.")
        lines += [f"  {finding.statement}", *_condition_lines("as published", finding.conditions)]
        lines += _condition_lines("as it ships", finding.shipped)
        lines.append(f"  - Criterion: {finding.criterion} {finding.remark}".rstrip())
    lines += ["", TRIALS_NOTE, ""]
    for name, summary in summaries.items():
        lines += [f"## {summary.title}", "", protocol_sentence(summary), ""]
        lines += [*as_markdown(accuracy_grid(summary)), "", *as_markdown(rivals_grid(summary)), ""]
        if OURS in summary.methods:
            lines += [*as_markdown(tasks_grid(summary.compare(OURS))), ""]
        lines += [f"- {note}" for note in notes(summary, deviations.get(name, ()))] + [""]
    return "\n".join(lines)


def notes(summary: Summary, deviations: Sequence[str]) -> list[str]:
    """Say what has no result and why, where the data deviates, what *Ind* chose, where the rows come from."""
    lines = [
        f"No result: {missing.method} {missing.status} on {where(missing, summary.tasks)} ({missing.rows} rows): "
        f"{missing.reason}"
        for missing in summary.missing
    ]
    counts = {method: summary.spread(method, MEAN).trials for method in summary.methods}
    fewer = ", ".join(f"{method} {count}" for method, count in counts.items() if count < len(summary.trials))
    lines += [f"Trials with all tasks, where these are fewer than {len(summary.trials)}: {fewer}."] * bool(fewer)
    lines += [f"Data: {sentence}" for sentence in deviations]
    if any(method.startswith("TPC") for method in summary.methods):
        lines.append(TPC_TIME_NOTE)
    return [*lines, *origin(summary)]


def origin(summary: Summary) -> list[str]:
    """Say what *Ind* chose, and which code and versions made the rows."""
    rankers = ", ".join(f"{ranker} {times} times" for ranker, times in summary.rankers.items())
    versions = ", ".join(f"{name} {' and '.join(values)}" for name, values in summary.provenance.items())
    return [f"Rankers that {BASELINE} chose: {rankers}."] * bool(rankers) + [f"Made by {versions}."] * bool(versions)


def protocol_sentence(summary: Summary) -> str:
    """Say how a table came to be."""
    return (
        f"{summary.protocol.capitalize()} protocol, trials: {len(summary.trials)}. Ranking accuracy on test rows, "
        "mean ± standard deviation over trials, in %."
    )


def where(missing: Missing, tasks: Sequence[str]) -> str:
    """Name the tasks that have no result."""
    return "all tasks" if set(missing.tasks) == set(tasks) else ", ".join(missing.tasks)


def format_seconds(value: float) -> str:
    """Return a run time with the two digits that count."""
    return f"{float(f'{value:.2g}'):g}" if np.isfinite(value) else ABSENT


def _accuracy_line(summary: Summary, task: str) -> tuple[Cell, ...]:
    spreads = {method: summary.spread(method, task) for method in summary.methods}
    best = max((spread.mean for method, spread in spreads.items() if method != ORACLE and spread.trials), default=1.0)
    return Cell(task), *(
        Cell(_spread(spread.mean, spread.deviation), method != ORACLE and spread.mean == best)
        for method, spread in spreads.items()
    )


def _condition_lines(heading: str, conditions: Sequence[Condition]) -> list[str]:
    return [f"  - {heading}", *(f"    - {MARKS[each.holds]}: {each.sentence}" for each in conditions)]


def _gain_cells(summary: Summary, rivals: Sequence[str]) -> list[Cell]:
    """*JMD* less each rival; tests are corrected over the rivals."""
    found = [summary.compare(OURS, rival).mean for rival in rivals]
    adjusted = holm([each.p for each in found])
    return [
        Cell(f"{_points(each.mean)} {_interval(each)}".strip(), replace(each, adjusted=p).verdict != 0)
        for each, p in zip(found, adjusted, strict=True)
    ]


def _difference_cells(found: Difference) -> tuple[Cell, Cell, Cell]:
    p = ABSENT if np.isnan(found.adjusted) else "< 0.001" if found.adjusted < 0.001 else f"{found.adjusted:.3f}"
    strong = found.verdict != 0
    return Cell(_points(found.mean), strong), Cell(_interval(found)), Cell(p, strong)


def _spread(mean: float, deviation: float) -> str:
    if np.isnan(mean):
        return ABSENT
    return f"{100 * mean:.1f}" + ("" if np.isnan(deviation) else f" ± {100 * deviation:.1f}")


def _points(mean: float) -> str:
    return ABSENT if np.isnan(mean) else f"{100 * mean:+.2f}"


def _interval(found: Difference) -> str:
    return "" if np.isnan(found.low) else f"[{100 * found.low:+.2f}, {100 * found.high:+.2f}]"
