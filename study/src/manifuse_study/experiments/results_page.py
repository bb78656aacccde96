"""The page about stored rows: as HTML, as Markdown for ``docs/results.md``, and as files of figures and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from manifuse.diffusion.algorithm1 import Algorithm1
from manifuse.diffusion.implicit_euler import ImplicitEuler
from manifuse.errors import InputError, look_up
from manifuse.report.drawing import as_svg
from manifuse.report.markup import render
from manifuse_study.datasets.synthetic import TASKS, toy_tasks
from manifuse_study.experiments import result_tables as tables
from manifuse_study.experiments.claims import TPC_NOTE, TPC_TIME_NOTE
from manifuse_study.experiments.comparison import MEAN, Comparison, is_testable
from manifuse_study.experiments.findings import VERDICTS, Finding, verdict_of
from manifuse_study.experiments.latex import as_latex
from manifuse_study.experiments.markdown import as_markdown
from manifuse_study.experiments.result_figures import as_pdf, draw_results, draw_surface, draw_toy
from manifuse_study.experiments.statistics import BASELINE, OURS, Summary, roughness, values_of, with_surface
from manifuse_study.experiments.store import Row
from manifuse_study.experiments.toy import estimate_metrics

#: The paper's figure of the hyperparameters shows attribute 3 of OSR.
PAPER_SURFACE = "osr/perspective"

#: The toy figure shows the paper's method without our additions, as docs/results.md does.
TOY = Algorithm1(
    neighbours=30,
    score_scale=(1.0, np.inf),
    bridge=ImplicitEuler(1.0),
    standardised=True,
    anchored=False,
    smoothing=0.0,
    ignore_chance=False,
)
TOY_SEED = 0


def choose_surfaces(rows: Sequence[Row], requested: Sequence[str]) -> list[Row]:
    """Return the rows with the paper's surface (or else the first) and those requested, each from its first trial.

    Raises
    ------
    InputError
        If a requested surface, as ``"dataset/task"``, is not in the rows.
    """
    first: dict[str, Row] = {}
    for row in with_surface(rows):
        first.setdefault(f"{row.dataset}/{row.task}", row)
    if requested and not first:
        raise InputError(
            f"--surface {requested[0]} came, but no row has a surface; run 'manifuse reproduce' with the method "
            "'JMD, as published' first."
        )
    default = [PAPER_SURFACE] if PAPER_SURFACE in first else list(first)[:1]
    return [look_up(name, first, kind="accuracy surface") for name in dict.fromkeys((*default, *requested))]


def draw_figures(
    summaries: Mapping[str, Summary], surfaces: Sequence[Row], tick: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Draw the results, the surfaces and the toy tasks, by names that files can have.

    The toy experiment runs for this; ``tick`` is called after each of its tasks.
    """
    figures = {"results": draw_results(list(summaries.values()))}
    for row in surfaces:
        figure = draw_surface(row.hyperparameters, title=_title(summaries, row))
        figures[_slug(f"surface-{row.dataset}-{row.task}")] = figure
    toy = toy_tasks(np.random.default_rng(TOY_SEED))
    return {**figures, "toy": draw_toy(estimate_metrics(toy, TOY, TOY_SEED, tick=tick))}


def results_page(
    template: str,
    summaries: Mapping[str, Summary],
    findings: Sequence[Finding],
    deviations: Mapping[str, Sequence[str]],
    surfaces: Sequence[Row] = (),
    figures: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    """Return the page, as HTML with its figures and its style inside, or as Markdown without figures.

    Parameters
    ----------
    template : {"results.html", "results.md"}
        Markdown is the part of ``docs/results.md`` that the rows make.
    summaries : mapping of str to Summary
        By experiment.
    findings : sequence of Finding
    deviations : mapping of str to sequence of str
        Of each experiment, sentences on how its data differ from the paper's.
    surfaces : sequence of Row
        For HTML, the rows of the drawn surfaces.
    figures : mapping of str to figure
        For HTML, from `draw_figures`.
    """
    return render(
        template,
        room="manifuse_study.experiments",
        filters={"as_markdown": as_markdown},
        lead=lead(summaries, findings),
        gains=tables.gains_grid(summaries),
        findings=findings,
        verdict_of=verdict_of,
        sections=[_section(summary, deviations.get(name, ())) for name, summary in summaries.items()],
        times=tables.times_grid(summaries),
        tpc_note=TPC_NOTE,
        tpc_time_note=TPC_TIME_NOTE,
        missing=tables.missing_grid(summaries),
        figures=list(figures.values()),
        surfaces=[
            (f"{_title(summaries, each)}, {each.method}", each.trial, roughness(values_of(each))) for each in surfaces
        ],
        toy={"tasks": TASKS, "seed": TOY_SEED},
    )


def results_files(summaries: Mapping[str, Summary], figures: Mapping[str, Any]) -> dict[str, bytes]:
    """Return every figure as SVG and PDF, and every table as CSV and LaTeX, by the names of the files."""
    files = {}
    for name, figure in figures.items():
        files[f"{name}.svg"] = as_svg(figure).encode()
        files[f"{name}.pdf"] = as_pdf(figure)
    for name, summary in summaries.items():
        files[f"{_slug(name)}.csv"] = tables.as_csv(summary).encode()
        files[f"{_slug(name)}.tex"] = as_latex(tables.accuracy_grid(summary)).encode()
        files[f"{_slug(name)}-less-ind.tex"] = as_latex(tables.rivals_grid(summary)).encode()
    files["seconds.tex"] = as_latex(tables.times_grid(summaries)).encode()
    return files


def lead(summaries: Mapping[str, Summary], findings: Sequence[Finding]) -> list[str]:
    """Say the main numbers in plain sentences."""
    known = [summary for summary in summaries.values() if summary.compare_means(OURS).trials]
    compared = [summary.compare(OURS) for summary in known]
    tasks = [task for found in compared for task in found.tasks if task.trials]
    sentences = []
    if known:
        before = np.mean([summary.spread(BASELINE, MEAN).mean for summary in known])
        after = before + np.mean([found.mean.mean for found in compared])
        number = f"{len(known)} experiment{'s' * (len(known) > 1)} with {len(tasks)} tasks"
        sentences += [
            f"Joint manifold diffusion (JMD) refines predictors by the scores of others: over {number}, the mean "
            f"ranking accuracy goes from {before:.1%} for each predictor alone (Ind) to {after:.1%}.",
            _tested(compared),
        ]
    verdicts = [verdict_of(finding.conditions) for finding in findings]
    counts = (f"{verdicts.count(name)} {name}" for name in VERDICTS if name in verdicts)
    return [*sentences, f"Of {len(findings)} claims of the paper: {', '.join(counts)}."]


def _tested(compared: Sequence[Comparison]) -> str:
    """Say on how many tasks JMD differs from Ind, of those that have enough trials to test that."""
    tasks = [(task, len(found.tasks)) for found in compared for task in found.tasks if task.trials]
    tested = [task for task, count in tasks if is_testable(task.trials, count)]
    if not tested:
        most = max(task.trials for task, _ in tasks)
        number = "One trial cannot" if most == 1 else f"{most} trials cannot"
        return f"{number} tell whether that is significant; run more."
    better, worse = (sum(task.verdict == sign for task in tested) for sign in (1, -1))
    return (
        f"JMD is significantly better than Ind on {better} of {len(tested)} tasks, and significantly worse on {worse}."
    )


def _section(summary: Summary, deviations: Sequence[str]) -> dict[str, Any]:
    """What the page shows of one experiment."""
    counts = {method: summary.spread(method, MEAN).trials for method in summary.methods}
    return {
        "title": summary.title,
        "protocol": summary.protocol.capitalize(),
        "trials": len(summary.trials),
        "accuracy": tables.accuracy_grid(summary),
        "rivals": tables.rivals_grid(summary),
        "ours": tables.tasks_grid(summary.compare(OURS)) if OURS in summary.methods else None,
        "differences": tables.differences_grid(summary),
        "missing": tables.missing_grid({summary.dataset: summary}),
        "fewer": {method: count for method, count in counts.items() if count < len(summary.trials)},
        "has_tpc": any(method.startswith("TPC") for method in summary.methods),
        "deviations": deviations,
        "origin": summary.origin,
    }


def _title(summaries: Mapping[str, Summary], row: Row) -> str:
    return f"{summaries[row.dataset].title}, {row.task}"


def _slug(name: str) -> str:
    """Return a name that a file can have."""
    return re.sub(r"[^\w.-]+", "-", name)
