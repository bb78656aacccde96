"""The command line. Reads options, calls the library, prints; heavy imports wait inside the commands."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from manifuse.cli.console import people, say, show_warning
from manifuse.cli.datasets_command import app as datasets_app
from manifuse.cli.options import AsJson, DropInvalid, FeatureNames, Labels, Pairs, References, Task
from manifuse.errors import InputError, ManifuseError, require

#: What shells say of a program that an interrupt (ctrl-C) ended.
INTERRUPTED = 130


class Interruptible(TyperGroup):
    """Commands that can be stopped by an interrupt; files are written whole, so nothing half done stays."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; say so in one sentence if it was stopped."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say("manifuse: Stopped; what was not finished is not written.", style="red")
            raise typer.Exit(INTERRUPTED) from None


app = typer.Typer(
    name="manifuse",
    cls=Interruptible,
    help="Improve a predictor by the scores of others, even when they were computed on other rows.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

app.add_typer(datasets_app, name="datasets", help="What data sets there are, what is missing, and how to get it.")


@app.callback(invoke_without_command=True)
def version_option(
    version: Annotated[
        bool, typer.Option("--version", help="Print the versions that matter for a bug report, and leave.")
    ] = False,
) -> None:
    """Improve a predictor by the scores of others, even when they were computed on other rows."""
    if version:
        from manifuse.study.experiments.provenance import versions

        typer.echo("\n".join(f"{name} {found}" for name, found in versions().items()))
        raise typer.Exit


@app.command("refine")
def refine_command(
    main: Annotated[
        str | None, typer.Argument(metavar="MAIN", help="The table to refine: id, score, features.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where the refined table goes.")] = None,
    reference: References = None,
    labels: Labels = None,
    pairs: Pairs = None,
    features: FeatureNames = None,
    task: Task = None,
    seed: Annotated[int | None, typer.Option(help="Gives the same result again; 0 by default.", min=0)] = None,
    drop_invalid: DropInvalid = None,
    safeguard: Annotated[
        bool | None, typer.Option(help="Keep the scores unless the gain is certain (the default).")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Where to keep the refinement (.npz), for manifuse apply.")] = None,
    backend: Annotated[
        str | None,
        typer.Option(help="Where the work is done: host (the default), cuda, or cpu (by torch)."),
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="A folder that keeps neighbour searches for later runs.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Where a page goes (.html) that says what it is worth, and why.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="A TOML file that says the same, and sets hyperparameters; options go before it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Refine the scores of MAIN by those of the references, and write id, score, original and support.

    Tables are CSV, Parquet, Arrow, JSON lines, .npz or .h5ad; rows with equal ids are the same thing. What the run
    used is written beside OUT, as a config that gives the same result again.
    """
    from manifuse.cli.config import read_config, request_of
    from manifuse.cli.refine_command import run_refine
    from manifuse.cli.summary import print_summary

    options: dict[str, Any] = {
        "main": main,
        "reference": reference,
        "out": out,
        "labels": labels,
        "pairs": pairs,
        "features": features,
        "save": save,
        "backend": backend,
        "cache": cache,
        "report": report,
        "config": config,
        "seed": seed,
        "drop_invalid": drop_invalid,
    }
    request = request_of(
        {} if config is None else read_config(config),
        {name: value for name, value in options.items() if value is not None},
        {name: value for name, value in (("task", task), ("safeguarded", safeguard)) if value is not None},
    )
    with people.status("Refining ..."):
        _, summary = run_refine(request)
    if as_json:
        typer.echo(json.dumps(summary, allow_nan=False))
    print_summary(summary, request.out)
    if request.report is not None:
        say(f"The report is {request.report}.")


@app.command("apply")
def apply_command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="What refine --save wrote.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="A table like MAIN: id, score, features.")],
    out: Annotated[Path, typer.Option(help="Where the refined table goes.")],
    features: FeatureNames = None,
    drop_invalid: Annotated[bool, typer.Option(help="Drop rows with NaN or infinite values.")] = False,
    as_json: AsJson = False,
) -> None:
    """Refine rows that came later, and write id, score, original and support.

    Rows that were in the fit get their fitted scores.
    """
    from manifuse.cli.apply_command import ApplyRequest, run_apply

    summary = run_apply(ApplyRequest(model, new, out, features, drop_invalid))
    if as_json:
        typer.echo(json.dumps(summary, allow_nan=False))
    say(
        f"{summary['rows']} rows written to {out}: {summary['fitted']} of them were in the fit, "
        f"{summary['little_support']} have hardly any evidence behind them."
        + ("" if summary["accepted"] else f" They are unchanged: {summary['reason']}")
    )


@app.command("demo")
def demo_command(
    dataset: Annotated[str, typer.Option(help="digits, or hw from the data folder.")] = "digits",
    data: Annotated[Path | None, typer.Option(help="The data folder; else MANIFUSE_DATA.")] = None,
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("demo.html"),
    splits: Annotated[int, typer.Option(help="Random splits to average over.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="The first split's seed.", min=0)] = 0,
) -> None:
    """Refine rankers of handwritten digits by rankers of other features on other digits."""
    from manifuse.cli.demo_command import run_demo

    run_demo(dataset, data, out, splits=splits, seed=seed)


@app.command("explore")
def explore_command(
    main: Annotated[
        str | None, typer.Argument(metavar="MAIN", help="The table to refine; without it, a data set is shown.")
    ] = None,
    reference: References = None,
    labels: Labels = None,
    pairs: Pairs = None,
    features: FeatureNames = None,
    task: Task = None,
    seed: Annotated[int | None, typer.Option(help="Gives the same page again; 0 by default.", min=0)] = None,
    drop_invalid: DropInvalid = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file as refine takes it; options go before it.")] = None,
    dataset: Annotated[str | None, typer.Option(help="A data set instead of tables; the digits by default.")] = None,
    view: Annotated[str | None, typer.Option(help="Which of its tasks the main predictor has; the first.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="The data folder; without --dataset, the first set in it is shown.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on; others can see the page only there.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="The port to listen on; 0 for any that is free.", min=0, max=65535)] = 8765,
) -> None:
    """Open a page in which hyperparameters and references are turned while one looks on.

    It shows MAIN refined by the references, or a data set of the data folder, or the digits of the demo. What is set
    there can be exported as a config that refine takes.
    """
    for module in ("starlette", "uvicorn"):
        require(module, extra="page", purpose="manifuse explore")
    from manifuse.cli.config import read_config, request_of
    from manifuse.cli.explore_command import explore_dataset, explore_files, listen, request_of_files, serve

    options: dict[str, Any] = {
        "main": main,
        "reference": reference,
        "labels": labels,
        "pairs": pairs,
        "features": features,
        "seed": seed,
        "drop_invalid": drop_invalid,
    }
    options = {name: value for name, value in options.items() if value is not None}
    hyperparameters: dict[str, Any] = {} if task is None else {"task": task}
    if (options.keys() - {"seed"}) or config is not None:
        if dataset is not None or view is not None or data is not None:
            raise InputError(
                "Both tables and a data set came; give --dataset, --view and --data, or tables, not both."
            )
        given = {**({} if config is None else read_config(config)), **options}
        request = request_of(request_of_files(given), {}, hyperparameters)
        with listen(host, port) as listening:
            with people.status("Reading ..."):
                page = explore_files(request)
            serve(page, listening, host=host)
    else:
        from manifuse.diffusion.method import JointDiffusion

        method = JointDiffusion(**hyperparameters)
        with listen(host, port) as listening:
            with people.status("Training rankers ..."):
                page = explore_dataset(dataset, view, data, method, seed or 0)
            serve(page, listening, host=host)


@app.command("report")
def report_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A results folder that reproduce wrote.")],
    out: Annotated[Path, typer.Option(help="Where the page goes.")],
    rows: Annotated[Path | None, typer.Option(help="Where the tidy rows go, as CSV.")] = None,
    surface: Annotated[
        list[str] | None, typer.Option(help="DATASET/TASK whose accuracy surface is shown; give one or more.")
    ] = None,
    files: Annotated[
        Path | None, typer.Option(help="A folder for figures (SVG, PDF) and tables (CSV, LaTeX).")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="The data folder, for what data sets say of themselves.")] = None,
) -> None:
    """Make one page of figures and tables from stored rows."""
    from manifuse.cli.report_command import write_report
    from manifuse.study.datasets.dataset import data_folder

    write_report(folder, out, rows=rows, surfaces=surface or [], files=files, data=data_folder(data))


@app.command("reproduce")
def reproduce_command(
    datasets: Annotated[
        list[str] | None, typer.Argument(metavar="[DATASET]...", help="Which; all whose data are there by default.")
    ] = None,
    trials: Annotated[int, typer.Option(help="Random splits of each.", min=1)] = 10,
    method: Annotated[list[str] | None, typer.Option(help="Only this method; give one or more.")] = None,
    jobs: Annotated[int, typer.Option(help="Processes to work with; 0 for one per core.", min=0)] = 0,
    engine: Annotated[
        str, typer.Option(help="processes, dask for a cluster of this machine, or dask://HOST:PORT of one that runs.")
    ] = "processes",
    out: Annotated[Path, typer.Option(help="The results folder; a run in it is gone on with.")] = Path("results"),
    data: Annotated[Path | None, typer.Option(help="The data folder; else MANIFUSE_DATA.")] = None,
) -> None:
    """Run the paper's experiments: every method on every task of every trial, a row for each.

    A run may be stopped at any time; the same command goes on from where it was.
    """
    from manifuse.cli.reproduce_command import run_reproduce

    failed = run_reproduce(datasets or [], method or [], out, data, trials=trials, jobs=jobs or -1, engine=engine)
    if failed:
        say("manifuse: some methods failed; the rows with status 'failed' say how.", style="red")
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; input that is refused ends in one sentence and exit status 2."""
    warnings.showwarning = show_warning
    try:
        app()
    except ManifuseError as error:
        say(f"manifuse: {error}", style="red")
        sys.exit(2 if isinstance(error, InputError) else 1)
    except (MemoryError, RuntimeError) as error:
        # A graphics card that is full is a RuntimeError of torch's, which may not be installed.
        if not isinstance(error, MemoryError) and type(error).__name__ != "OutOfMemoryError":
            raise
        say(
            "manifuse: The memory ran out and nothing was written; take fewer rows or neighbours, or more memory.",
            style="red",
        )
        sys.exit(1)
