"""The options of ``manifuse report`` and ``manifuse reproduce``. Heavy imports are inside the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from manifuse.cli.console import say

report, reproduce = (typer.Typer(add_completion=False, pretty_exceptions_enable=False) for _ in range(2))


@report.command()
def report_command(
    folder: Annotated[Path, Argument(metavar="DIR", help="The results folder that reproduce wrote.")],
    out: Annotated[Path, Option(help="The page to write.")],
    rows: Annotated[Path | None, Option(help="The CSV file to write the tidy rows to.")] = None,
    surface: Annotated[list[str] | None, Option(help="DATASET/TASK of a surface to show; may be repeated.")] = None,
    files: Annotated[Path | None, Option(help="A folder for figures (SVG, PDF) and tables (CSV, LaTeX).")] = None,
    data: Annotated[Path | None, Option(help="The data folder, for descriptions of the data sets.")] = None,
) -> None:
    """Make one page of figures and tables from stored rows."""
    from manifuse_study.commands.report_command import write_report

    write_report(folder, out, rows=rows, surfaces=surface or [], files=files, data=data)


@reproduce.command()
def reproduce_command(
    datasets: Annotated[
        list[str] | None,
        Argument(
            metavar="[DATASET]...",
            help="The data sets, tables, classes or risks; by default all data sets that are found.",
        ),
    ] = None,
    trials: Annotated[int, Option(help="The number of random splits of each data set.", min=1)] = 10,
    method: Annotated[list[str] | None, Option(help="Run only this method; may be repeated.")] = None,
    jobs: Annotated[int, Option(help="The number of processes; 0 for one per core.", min=0)] = 0,
    engine: Annotated[
        str,
        Option(help="processes, dask for a cluster on this machine, or dask://HOST:PORT for a running cluster."),
    ] = "processes",
    out: Annotated[Path, Option(help="The results folder; a run that it holds is continued.")] = Path("results"),
    data: Annotated[Path | None, Option(help="The data folder; MANIFUSE_DATA by default.")] = None,
) -> None:
    """Run the paper's experiments, and write one row for every method, task and trial.

    A run may be stopped at any time; the same command continues it.
    """
    from manifuse_study.commands.reproduce_command import run_reproduce

    failed = run_reproduce(datasets or [], method or [], out, data, trials=trials, jobs=jobs or -1, engine=engine)
    if failed:
        say("manifuse: Some methods failed; the rows with status 'failed' hold their errors.", style="red")
        raise typer.Exit(1)
