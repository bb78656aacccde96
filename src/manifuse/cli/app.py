"""The command line: reads options, calls the library, prints. Heavy imports are inside the commands."""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from manifuse import __version__
from manifuse.cli.commands import Commands
from manifuse.cli.console import answer, in_flags, once, people, progress, say, say_unprinted, show_warning
from manifuse.cli.refine_options import AsJson, GivenOptions, RefineOptions, Strict, takes
from manifuse.errors import InputError, ManifuseError, require
from manifuse.grid import many

if TYPE_CHECKING:
    from manifuse.run.refinement import Refinement

#: The options of ``refine`` that do not say which problem it is. ``compare`` and ``explore`` have only the others.
NOT_OF_PROBLEM = ("out", "save", "report", "backend", "same_target")
PROBLEM = [each.name for each in fields(RefineOptions) if each.name not in NOT_OF_PROBLEM]

#: The exit status of a command that was asked to be strict, if there was a warning or the scores are unchanged.
UNSURE = 3

app = typer.Typer(
    name="manifuse",
    cls=Commands,
    help="Improve a predictor with the scores of others, even if they were computed on other rows.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def version_option(
    version: Annotated[bool, Option("--version", help="Print the versions for a bug report.")] = False,
) -> None:
    """Print the versions, if asked."""
    if version:
        from manifuse.machine import versions

        answer("\n".join(f"{name} {found}" for name, found in versions().items()))
        raise typer.Exit


@app.command("refine")
@takes()
def refine_command(given: GivenOptions, as_json: AsJson = False, strict: Strict = False) -> None:
    """Refine the scores of MAIN by references, by labels or by both, and write id, score, original and support.

    If labels teach, it also writes uncertainty, the standard error of each score.
    Tables are CSV, Parquet, Arrow, JSON lines, .npz or .h5ad.
    Rows with equal ids are the same thing.
    A config may also set hyperparameters, in a table named method.
    The run writes such a config beside OUT, which repeats the run.
    """
    from manifuse.cli.config import read_options
    from manifuse.cli.refine_command import run_refine

    options = read_options(given)
    start = time.perf_counter()
    with once() as warned, progress("Refining ...") as tell:
        result, rows = run_refine(options, tell)
    if as_json:
        seconds = round(time.perf_counter() - start, 3)
        facts = {**result.to_dict(), "rows": rows, "seconds": seconds, "version": __version__, "warnings": warned}
        answer(json.dumps(facts, allow_nan=False))
    else:
        _tell(result, rows, options)
    _end(strict and (bool(warned) or not result.accepted))


def _tell(result: Refinement, rows: int, options: RefineOptions) -> None:
    """Say what a run found and what it wrote."""
    answer(f"{in_flags(result.summary())}\n\n{many(rows, 'row')} written to {options.out}.")
    for what, path in {"The report is": options.report, "For later rows there is": options.save}.items():
        if path is not None:
            answer(f"{what} {path}.")


@app.command("apply")
@takes("id", "score", "drop", "features", "classes", "drop_invalid")
def apply_command(
    given: GivenOptions,
    model: Annotated[Path, Argument(metavar="MODEL", help="The file that refine --save wrote.")],
    new: Annotated[str, Argument(metavar="NEW", help="A table like MAIN: id, score, features.")],
    out: Annotated[Path, Option(help="The file to write the refined table to; with --engine, the folder.")],
    engine: Annotated[
        str | None,
        Option(help="dask for a cluster on this machine, or dask://HOST:PORT for a running cluster; writes a folder."),
    ] = None,
    escape_formulas: Annotated[
        bool, Option("--escape-formulas", help="In CSV, put ' before text that a spreadsheet would run.")
    ] = False,
    as_json: AsJson = False,
    strict: Strict = False,
) -> None:
    """Refine rows that came later, and write id, score, original and support, and uncertainty if labels taught.

    Rows that were in the fit get their fitted scores, unless they changed.
    Columns are called as in the main table, unless options say otherwise.
    """
    from manifuse.cli.apply_command import run_apply, told_of

    with once() as warned, progress("Refining ...") as tell:
        summary = run_apply(
            model,
            new,
            out,
            **given,
            engine=engine,
            escape_formulas=escape_formulas,
            tell=tell,
        )
    if as_json:
        answer(json.dumps({**summary, "warnings": warned}, allow_nan=False))
    else:
        answer(in_flags(told_of(summary, out)))
    _end(strict and (bool(warned) or summary["unmoved"] == summary["rows"]))


@app.command("compare")
@takes(*PROBLEM)
def compare_command(given: GivenOptions, as_json: AsJson = False) -> None:
    """Compare refine with what else can be done with the same tables, on labels that are held out.

    Every fifth of the labels in turn judges what each method makes of the others; at least 50 are needed, not
    ordered pairs. Methods whose difference is within two standard errors cannot be told apart.
    """
    from manifuse.cli.compare_command import best_of_others, grid_of, meanings_of, note_on_pairs, run_compare
    from manifuse.grid import as_text

    with once() as warned, progress("Comparing ...") as tell:
        rows = run_compare(given, tell)
    if as_json:
        answer(json.dumps({"methods": rows, "warnings": warned}, allow_nan=False))
    else:
        answer("\n\n".join([as_text(grid_of(rows)), best_of_others(rows), meanings_of(rows), *note_on_pairs(rows)]))


@app.command("show")
def show_command(
    model: Annotated[Path, Argument(metavar="MODEL", help="The file that refine --save wrote.")],
    as_json: AsJson = False,
) -> None:
    """Say what a saved refinement is, what it was made of, and what it expects of later rows."""
    from manifuse.cli.show_command import lines_of_model, run_show

    facts = run_show(model)
    answer(json.dumps(facts, allow_nan=False) if as_json else in_flags("\n".join(lines_of_model(model, facts))))


@app.command("demo")
def demo_command(
    out: Annotated[Path, Option(help="The report to write.")] = Path("demo.html"),
    splits: Annotated[int, Option(help="The number of random splits to average over.", min=1)] = 1,
    seed: Annotated[int, Option(help="The seed of the first split.", min=0)] = 0,
) -> None:
    """Refine rankers of handwritten digits by rankers that know other features of other digits."""
    from manifuse.cli.demo_command import run_demo

    run_demo(out, splits=splits, seed=seed)


@app.command("explore")
@takes(*PROBLEM)
def explore_command(
    given: GivenOptions,
    dataset: Annotated[str | None, Option(help="A data set to show instead of tables; digits by default.")] = None,
    view: Annotated[str | None, Option(help="The view whose predictor is refined; by default the first.")] = None,
    data: Annotated[Path | None, Option(help="The data folder of the data set; MANIFUSE_DATA by default.")] = None,
    host: Annotated[str, Option(help="The address; by default only this machine can open the page.")] = "127.0.0.1",
    port: Annotated[int, Option(help="The port; 0 for any that is free.", min=0, max=65535)] = 8765,
) -> None:
    """Serve a page on this machine that shows what refine gives, and what it gives without a reference.

    The page shows MAIN refined by the references; without tables, it shows a data set.
    It exports a config with which refine repeats what it shows.
    """
    for module in ("starlette", "uvicorn"):
        require(module, extra="page", purpose="manifuse explore")
    from manifuse.cli.explore_command import listen, open_page, serve

    with listen(host, port) as listening:
        with people.status("Preparing the page ..."):
            page = open_page(given, dataset, view, data)
        serve(page, listening, host=host)


def _end(unsure: bool) -> None:
    """End a command that was asked to be strict, with what it wrote in place."""
    if unsure:
        raise typer.Exit(UNSURE)


def main() -> None:
    """Run the command line; refused input ends in one sentence and exit status 2."""
    warnings.showwarning = show_warning
    try:
        _demand_folder()
        _demand_values(sys.argv[1:])
        app(prog_name="manifuse")
    except ManifuseError as error:
        _fail(str(error), status=2 if isinstance(error, InputError) else 1)
    except (MemoryError, RuntimeError) as error:
        # For a full graphics card, torch raises a RuntimeError of its own; torch may not be installed.
        if not isinstance(error, MemoryError) and type(error).__name__ != "OutOfMemoryError":
            raise
        _fail(
            "The memory ran out and nothing was written; use fewer rows or neighbours, or a machine with more memory.",
            status=1,
        )
    except OSError as error:
        # Errors of files have the file's name. A reader who leaves early is no failure; Typer answers that.
        if error.filename is not None:
            raise
        say_unprinted(error)
        sys.exit(2)


def _fail(sentence: str, *, status: int) -> None:
    """End with a sentence for people and, if JSON was asked for, an object for programs."""
    say(f"manifuse: {sentence}", style="red")
    if "--json" in sys.argv[1:]:
        try:
            answer(json.dumps({"status": status, "error": in_flags(sentence)}))
        except OSError as error:
            say_unprinted(error)
    sys.exit(status)


def _demand_folder() -> None:
    """Refuse to run in a folder that is gone, relative to which no name says anything."""
    try:
        os.getcwd()
    except OSError as error:
        raise InputError(f"The working directory cannot be found ({error.strerror}); change to another.") from None


def _demand_values(arguments: list[str]) -> None:
    """Refuse an empty argument, such as of a variable that is not set; as a path it would be the current folder.

    The column without a name, as R and pandas write row names, may hold ids, or be left out.
    """
    for before, each in pairwise(["manifuse", *arguments]):
        option, sign, value = each.partition("=") if each.startswith("--") else (before, "", each)
        if not value and (sign or not each) and option not in ("--drop", "--id"):
            raise InputError(
                f"An empty text came after {option}, but a value was expected; give one, or leave it out."
            )
