"""``manifuse report``: the rows of a results folder as one page, as figures and as tables."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.progress import Progress

from manifuse import __version__
from manifuse.cli.console import people, say
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.schemes import ImplicitEuler
from manifuse.errors import InputError, look_up, require
from manifuse.files import check_folder_of, check_writable, write_whole
from manifuse.report.drawing import Figure, as_pdf
from manifuse.report.grid import Grid, as_latex
from manifuse.report.markup import render as fill
from manifuse.study.datasets.synthetic import TASKS, toy_tasks
from manifuse.study.experiments import result_tables as tables
from manifuse.study.experiments.claims import (
    CLAIMS_NOTE,
    TPC_NOTE,
    TPC_TIME_NOTE,
    VERDICTS,
    Evidence,
    Finding,
    judge_claims,
)
from manifuse.study.experiments.comparison import MEAN
from manifuse.study.experiments.plan import deviations_of
from manifuse.study.experiments.result_figures import draw_results, draw_surface_of, draw_toy
from manifuse.study.experiments.statistics import BASELINE, OURS, Summary, summarise
from manifuse.study.experiments.store import Row, read_rows
from manifuse.study.experiments.surface import Surface, roughness, surfaces_of
from manifuse.study.experiments.toy import estimate_metrics

#: The paper's figure of the hyperparameters is of attribute 3 of OSR.
PAPER_SURFACE = "osr/perspective"

#: The toy figure is of the paper's method, our additions to it left out, as docs/results.md has it.
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


@dataclass(frozen=True, eq=False)
class Section:
    """What the page shows of one dataset."""

    title: str
    protocol: str
    accuracy: Grid
    rivals: Grid
    ours: Grid | None
    differences: Grid
    origin: Sequence[str]


def write_report(
    folder: Path,
    out: Path,
    *,
    rows: Path | None = None,
    surfaces: Sequence[str] = (),
    files: Path | None = None,
    data: Path,
) -> None:
    """Write the page, and what else is asked for; each file whole or not at all.

    Parameters
    ----------
    folder : Path
        Of the results.
    out : Path
        The page, which needs nothing beside it.
    rows : Path, optional
        Gets the rows as CSV.
    surfaces : sequence of str
        ``"dataset/task"``: whose accuracy surfaces are shown besides the paper's.
    files : Path, optional
        A folder for figures as SVG and PDF and tables as CSV and LaTeX; made if its parent is there.
    data : Path
        The data folder: what is there says how it differs from the paper's.

    Raises
    ------
    InputError
        If the rows cannot be read or have no result, or something cannot be written.
    """
    for path in (out, rows):
        if path is not None:
            check_writable(path)
    if files is not None:
        check_folder_of(files)
    for module, extra in (("jinja2", "report"), ("matplotlib", "report")):
        require(module, extra=extra, purpose="The report")
    read = read_rows(folder)
    if not any(row.status == "done" for row in read):
        raise InputError(f"{folder} holds {len(read)} rows, but none with a result; run 'manifuse reproduce' first.")
    shown = choose_surfaces(read, surfaces)
    summaries = summarise(read)
    findings = judge_claims(Evidence(summaries))
    figures = draw_figures(summaries, shown)
    page = render(summaries, findings, figures, deviations_of(summaries, data))
    _write(out, page.encode())
    if rows is not None:
        write_whole(rows, lambda temporary: _write_rows(temporary, read))
    if files is not None:
        _write_files(files, summaries, figures)
    say(f"The report is {out}.")


def choose_surfaces(rows: Sequence[Row], wanted: Sequence[str]) -> list[Surface]:
    """Return the paper's surface (or the first there is) and those asked for, each of its first trial."""
    first: dict[str, Surface] = {}
    for surface in surfaces_of(rows):
        first.setdefault(f"{surface.dataset}/{surface.task}", surface)
    if wanted and not first:
        raise InputError(f"--surface {wanted[0]} came, but no row holds a surface; run 'manifuse reproduce' with JMD.")
    default = [PAPER_SURFACE] if PAPER_SURFACE in first else list(first)[:1]
    return [look_up(name, first, kind="accuracy surface") for name in dict.fromkeys((*default, *wanted))]


def draw_figures(summaries: Mapping[str, Summary], surfaces: Sequence[Surface]) -> list[Figure]:
    """Draw the results, the surfaces and the toy figure, for which the toy experiment is run."""
    results = (
        "Average accuracy over trials per task and method; error bars are ± one standard deviation. The axes do not "
        f"begin at zero. {TPC_NOTE}"
    )
    toy = (
        f"How well the relation of {TASKS} synthetic tasks is found again from decoupled predictions (section 3.1; "
        f"seed {TOY_SEED}, computed for this page); tasks 1 to 4 and 5 to 8 are groups."
    )
    drawn = [Figure("results", draw_results(list(summaries.values())), results)]
    for surface in surfaces:
        title = summaries[surface.dataset].title
        caption = (
            f"Accuracy on the validation labels over the two hyperparameters, {title}, {surface.task}, trial "
            f"{surface.trial}; the cross marks the chosen cell. Roughness {roughness(surface.values):.2f} (Geary's C: "
            "0 is smooth, 1 is cells in any order)."
        )
        name = f"surface-{surface.dataset}-{surface.task}"
        drawn.append(Figure(_slug(name), draw_surface_of(surface, title=f"{title}, {surface.task}"), caption))
    with Progress(console=people, transient=True) as progress:
        work = progress.add_task("toy figure", total=TASKS)
        drawing = toy_tasks(np.random.default_rng(TOY_SEED))
        metrics = estimate_metrics(drawing, TOY, TOY_SEED, tick=lambda: progress.advance(work))
    return [*drawn, Figure("toy", draw_toy(metrics), toy)]


def render(
    summaries: Mapping[str, Summary],
    findings: Sequence[Finding],
    figures: Sequence[Figure],
    deviations: Mapping[str, Sequence[str]],
) -> str:
    """Render the page, with its pictures and its style inside."""
    return fill(
        "report.html",
        room="manifuse.cli",
        lead=lead(summaries, findings),
        gains=tables.gains_grid(summaries),
        gains_note=tables.GAINS_NOTE,
        findings=findings,
        claims_note=CLAIMS_NOTE,
        marks=tables.MARKS,
        figures=figures,
        sections=[_section(summary) for summary in summaries.values()],
        trials_note=tables.TRIALS_NOTE,
        times=tables.times_grid(summaries),
        tpc_note=TPC_NOTE,
        tpc_time_note=TPC_TIME_NOTE,
        missing=tables.missing_grid(summaries),
        deviations={
            summary.title: deviations[name] for name, summary in summaries.items() if deviations.get(name, ())
        },
        version=__version__,
    )


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


def _section(summary: Summary) -> Section:
    return Section(
        title=summary.title,
        protocol=tables.protocol_sentence(summary),
        accuracy=tables.accuracy_grid(summary),
        rivals=tables.rivals_grid(summary),
        ours=tables.tasks_grid(summary.compare(OURS)) if OURS in summary.methods else None,
        differences=tables.differences_grid(summary),
        origin=tables.origin(summary),
    )


def _write_files(folder: Path, summaries: Mapping[str, Summary], figures: Sequence[Figure]) -> None:
    """Write every figure as SVG and PDF and every table as CSV and LaTeX."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a folder ({error.strerror}); name another.") from None
    for figure in figures:
        _write(folder / f"{figure.name}.svg", figure.svg.encode())
        _write(folder / f"{figure.name}.pdf", as_pdf(figure.drawing))
    for name, summary in summaries.items():
        _write(folder / f"{_slug(name)}.csv", tables.as_csv(summary).encode())
        _write(folder / f"{_slug(name)}.tex", as_latex(tables.accuracy_grid(summary)).encode())
        _write(folder / f"{_slug(name)}-less-ind.tex", as_latex(tables.rivals_grid(summary)).encode())
    _write(folder / "seconds.tex", as_latex(tables.times_grid(summaries)).encode())


def _slug(name: str) -> str:
    """Return a name that a file can have."""
    return re.sub(r"[^\w.-]+", "-", name)


def _write(path: Path, content: bytes) -> None:
    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    write_whole(path, write)


def _write_rows(path: Path, rows: Sequence[Row]) -> None:
    flat = [row.flat() for row in rows]
    # Rows of different machines may differ in what their provenance names.
    columns = list(dict.fromkeys(name for row in flat for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=columns, restval="")
        writer.writeheader()
        writer.writerows(flat)
