"""The page about stored rows: as HTML, as Markdown for ``docs/results.md``, and as files of figures and tables."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.schemes import ImplicitEuler
from manifuse.errors import InputError, look_up
from manifuse.report.drawing import Figure, as_pdf, draw_surface
from manifuse.report.grid import as_latex
from manifuse.report.markup import render
from manifuse.study.datasets.synthetic import TASKS, toy_tasks
from manifuse.study.experiments import result_tables as tables
from manifuse.study.experiments.claims import CLAIMS_NOTE, TPC_NOTE, TPC_TIME_NOTE
from manifuse.study.experiments.comparison import MEAN
from manifuse.study.experiments.findings import VERDICTS, Finding
from manifuse.study.experiments.result_figures import draw_results, draw_toy
from manifuse.study.experiments.statistics import BASELINE, OURS, Summary
from manifuse.study.experiments.store import Row
from manifuse.study.experiments.surface import Surface, roughness, surfaces_of
from manifuse.study.experiments.toy import estimate_metrics

#: The paper's figure of the hyperparameters shows attribute 3 of OSR.
PAPER_SURFACE = "osr/perspective"

#: The toy figure shows the paper's method without our additions, as docs/results.md does.
TOY = JointDiffusion(
    neighbours=30,
    score_scale=(1.0, np.inf),
    bridge=ImplicitEuler(1.0),
    standardised=True,
    anchored=False,
    smoothing=0.0,
    ignore_chance=False,
)
TOY_SEED = 0

GAINS_NOTE = (
    "Points of ranking accuracy in the mean over tasks, with 95% intervals over trials, of JMD as it ships. Positive "
    "means that JMD is better; bold is significant (Wilcoxon signed-rank, Holm's correction over the lines of a "
    "column); the last line is what its presmoothing is worth."
)

#: The note wherever an interval or a p-value is shown.
TRIALS_NOTE = (
    "Intervals (95%, t) and tests (Wilcoxon signed-rank, with Holm's correction over the tasks of a data set for each "
    "method; significant below 5%) are over trials. Trials are splits of the same rows, so intervals and tests are "
    "about this data set, not about a population. No p-value of n trials is below 2 to the power of 1 - n. A mean "
    "over tasks uses the trials that have all tasks."
)


def choose_surfaces(rows: Sequence[Row], requested: Sequence[str]) -> list[Surface]:
    """Return the paper's surface (or else the first) and those requested, each from its first trial.

    Raises
    ------
    InputError
        If a requested surface, as ``"dataset/task"``, is not in the rows.
    """
    first: dict[str, Surface] = {}
    for surface in surfaces_of(rows):
        first.setdefault(f"{surface.dataset}/{surface.task}", surface)
    if requested and not first:
        raise InputError(
            f"--surface {requested[0]} came, but no row has a surface; run 'manifuse reproduce' with JMD first."
        )
    default = [PAPER_SURFACE] if PAPER_SURFACE in first else list(first)[:1]
    return [look_up(name, first, kind="accuracy surface") for name in dict.fromkeys((*default, *requested))]


def draw_figures(
    summaries: Mapping[str, Summary], surfaces: Sequence[Surface], tick: Callable[[], None] = lambda: None
) -> dict[str, Figure]:
    """Draw the results, the surfaces and the toy tasks, by names that files can have.

    The toy experiment runs for this; ``tick`` is called after each of its tasks.
    """
    figures = {
        "results": Figure(
            draw_results(list(summaries.values())),
            "Average accuracy over trials per task and method; error bars are ± one standard deviation. The axes do "
            f"not begin at zero. {TPC_NOTE}",
        )
    }
    for surface in surfaces:
        title = f"{summaries[surface.dataset].title}, {surface.task}"
        chosen = surface.step_size, surface.weight_scale
        drawing = draw_surface(surface.values, surface.step_sizes, surface.weight_scales, chosen, title=title)
        figures[_slug(f"surface-{surface.dataset}-{surface.task}")] = Figure(
            drawing,
            f"Accuracy on the validation labels over the two hyperparameters, {title}, trial {surface.trial}; the "
            f"cross marks the chosen cell. Roughness {roughness(surface.values):.2f} (Geary's C: 0 is smooth, 1 is "
            "cells in any order).",
        )
    metrics = estimate_metrics(toy_tasks(np.random.default_rng(TOY_SEED)), TOY, TOY_SEED, tick=tick)
    figures["toy"] = Figure(
        draw_toy(metrics),
        f"How well the relation of {TASKS} synthetic tasks is found from decoupled predictions (section 3.1; seed "
        f"{TOY_SEED}, computed for this page). Tasks 1 to 4 and 5 to 8 are groups.",
    )
    return figures


def results_html(
    summaries: Mapping[str, Summary],
    findings: Sequence[Finding],
    figures: Mapping[str, Figure],
    deviations: Mapping[str, Sequence[str]],
) -> str:
    """Return the page as HTML, with its figures and its style inside.

    Parameters
    ----------
    summaries : mapping of str to Summary
        By experiment.
    findings : sequence of Finding
    figures : mapping of str to Figure
        From `draw_figures`.
    deviations : mapping of str to sequence of str
        Of each experiment, sentences on how its data differ from the paper's.
    """
    return _fill("results.html", summaries, findings, deviations, figures=list(figures.values()))


def results_markdown(
    summaries: Mapping[str, Summary], findings: Sequence[Finding], deviations: Mapping[str, Sequence[str]]
) -> str:
    """Return claims and tables as Markdown, the part of ``docs/results.md`` that these rows make."""
    return _fill("results.md", summaries, findings, deviations)


def results_files(summaries: Mapping[str, Summary], figures: Mapping[str, Figure]) -> dict[str, bytes]:
    """Return every figure as SVG and PDF, and every table as CSV and LaTeX, by the names of the files."""
    files = {}
    for name, figure in figures.items():
        files[f"{name}.svg"] = figure.svg.encode()
        files[f"{name}.pdf"] = as_pdf(figure.drawing)
    for name, summary in summaries.items():
        files[f"{_slug(name)}.csv"] = tables.as_csv(summary).encode()
        files[f"{_slug(name)}.tex"] = as_latex(tables.accuracy_grid(summary)).encode()
        files[f"{_slug(name)}-less-ind.tex"] = as_latex(tables.rivals_grid(summary)).encode()
    files["seconds.tex"] = as_latex(tables.times_grid(summaries)).encode()
    return files


def rows_csv(rows: Sequence[Row]) -> bytes:
    """Return rows as CSV."""
    flat = [row.flat() for row in rows]
    # Rows of different machines may have different provenance.
    columns = list(dict.fromkeys(name for row in flat for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=columns, restval="")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue().encode()


def lead(summaries: Mapping[str, Summary], findings: Sequence[Finding]) -> list[str]:
    """Say the main numbers in plain sentences."""
    known = [summary for summary in summaries.values() if summary.compare(OURS).mean.trials]
    compared = [summary.compare(OURS) for summary in known]
    tasks = [task for found in compared for task in found.tasks if task.trials]
    sentences = []
    if known:
        before = np.mean([summary.spread(BASELINE, MEAN).mean for summary in known])
        after = before + np.mean([found.mean.mean for found in compared])
        better, worse = (sum(task.verdict == sign for task in tasks) for sign in (1, -1))
        number = f"{len(known)} experiment{'s' * (len(known) > 1)} with {len(tasks)} tasks"
        sentences += [
            f"Joint manifold diffusion (JMD) refines predictors by the scores of others: over {number}, the mean "
            f"ranking accuracy goes from {before:.1%} for each predictor alone (Ind) to {after:.1%}.",
            f"JMD is significantly better than Ind on {better} of {len(tasks)} tasks, and significantly worse on "
            f"{worse}.",
        ]
    verdicts = [finding.verdict for finding in findings]
    counts = (f"{verdicts.count(name)} {name}" for name in VERDICTS if name in verdicts)
    return [*sentences, f"Of {len(findings)} claims of the paper: {', '.join(counts)}."]


def notes(summary: Summary, deviations: Sequence[str]) -> list[str]:
    """Say what has no result and why, where the data deviate, what *Ind* chose, where the rows come from."""
    lines = [
        f"No result: {missing.method} {missing.status} on {tables.where(missing, summary.tasks)} "
        f"({missing.rows} rows): {missing.reason}"
        for missing in summary.missing
    ]
    counts = {method: summary.spread(method, MEAN).trials for method in summary.methods}
    fewer = ", ".join(f"{method} {count}" for method, count in counts.items() if count < len(summary.trials))
    lines += [f"Trials with all tasks, where these are fewer than {len(summary.trials)}: {fewer}."] * bool(fewer)
    lines += [f"Data: {sentence}" for sentence in deviations]
    lines += [TPC_TIME_NOTE] * any(method.startswith("TPC") for method in summary.methods)
    return [*lines, *origin(summary)]


def origin(summary: Summary) -> list[str]:
    """Say what *Ind* chose, and which code and versions made the rows."""
    rankers = ", ".join(f"{ranker} {times} times" for ranker, times in summary.rankers.items())
    versions = ", ".join(f"{name} {' and '.join(values)}" for name, values in summary.provenance.items())
    return [f"Rankers that {BASELINE} chose: {rankers}."] * bool(rankers) + [f"Made by {versions}."] * bool(versions)


def _fill(
    template: str,
    summaries: Mapping[str, Summary],
    findings: Sequence[Finding],
    deviations: Mapping[str, Sequence[str]],
    **more: Any,
) -> str:
    return render(
        template,
        room="manifuse.study.experiments",
        lead=lead(summaries, findings),
        gains=tables.gains_grid(summaries),
        gains_note=GAINS_NOTE,
        findings=findings,
        claims_note=CLAIMS_NOTE,
        sections=[_section(summary, deviations.get(name, ())) for name, summary in summaries.items()],
        trials_note=TRIALS_NOTE,
        times=tables.times_grid(summaries),
        tpc_note=TPC_NOTE,
        tpc_time_note=TPC_TIME_NOTE,
        missing=tables.missing_grid(summaries),
        **more,
    )


def _section(summary: Summary, deviations: Sequence[str]) -> dict[str, Any]:
    """What the page shows of one experiment."""
    return {
        "title": summary.title,
        "protocol": f"{summary.protocol.capitalize()} protocol, trials: {len(summary.trials)}. Ranking accuracy on "
        "test rows, mean ± standard deviation over trials, in %.",
        "accuracy": tables.accuracy_grid(summary),
        "rivals": tables.rivals_grid(summary),
        "ours": tables.tasks_grid(summary.compare(OURS)) if OURS in summary.methods else None,
        "differences": tables.differences_grid(summary),
        "deviations": deviations,
        "origin": origin(summary),
        "notes": notes(summary, deviations),
    }


def _slug(name: str) -> str:
    """Return a name that a file can have."""
    return re.sub(r"[^\w.-]+", "-", name)
