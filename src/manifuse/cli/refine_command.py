"""``manifuse refine``: read the files, refine, write the result."""

import time
from collections.abc import Callable
from pathlib import Path

from manifuse.backends.backend import Backend
from manifuse.backends.host import Host
from manifuse.backends.torch import Torch
from manifuse.cli.config import config_text, demand_own_files, method_of
from manifuse.cli.console import say
from manifuse.cli.refine_options import HOST, RefineOptions
from manifuse.errors import InputError
from manifuse.files import Writer, bytes_writer
from manifuse.grid import many, told_apart
from manifuse.report.markup import page_writer
from manifuse.report.refinement_page import check_report, page_of
from manifuse.run.file_runs import run_files
from manifuse.run.persistence import check_model, model_writer
from manifuse.run.refinement import Refinement
from manifuse.tables.column_names import ColumnNames
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.output import check_output
from manifuse.tables.paths import check_paths
from manifuse.tables.problem_files import Files, Tables
from manifuse.tables.table import Table

#: Kinds of torch devices; a number may follow, as in ``cuda:1``.
DEVICES = ("cuda", "cpu", "mps", "xpu")

#: Names of features that are shown.
SHOWN = 8


def run_refine(
    options: RefineOptions, tell: Callable[[int, int | None], None] = lambda done, total: None
) -> tuple[Refinement, int]:
    """Read, say what was read, refine, write; return what was found, and how many rows were written.

    ``tell`` gets how many rows are written, and how many there are.

    Raises
    ------
    InputError
        If a file cannot be read or written, or its content cannot be used.
    """
    start = time.perf_counter()
    if not options.reference and options.labels is None:
        raise InputError(
            "Neither references nor labels came; give --reference or --labels, or set reference or labels in a "
            "--config file."
        )
    method = method_of(options)
    _check_files(options)
    demand_own_files(options, method)
    found = run_files(files_of(options), method, options.seed, backend_named(options.backend), _announce)
    beside: dict[Path, Writer] = {}
    if options.save is not None:
        beside[options.save] = model_writer(found.result)
    if options.report is not None:
        page = page_of(found.result, references=found.references, seconds=time.perf_counter() - start)
        beside[options.report] = page_writer(page)
    if options.record is not None:
        beside[options.record] = bytes_writer(config_text(options, method).encode())
    return found.result, found.write(options.out, beside, escape=options.escape_formulas, tell=tell)


def _announce(tables: Tables) -> None:
    """Say what was read: every table with its rows and features, and the labels."""
    lines = [f"{table.name}: {_described(table)}" for table in (tables.main, *tables.references)]
    labels = tables.labels
    if labels is not None:
        noun = "ordered pair" if isinstance(labels, RankLabels) and labels.grades is None else "labelled row"
        classes = f", {many(len({*labels.names.tolist()}), 'class')}" if isinstance(labels, ClassLabels) else ""
        groups = "" if labels.groups is None else f" in {many(len({*labels.groups.tolist()}), 'group')}"
        lines.append(f"labels: {many(len(labels), noun)}{groups}{classes}")
    say("\n".join(lines))


def _described(table: Table) -> str:
    shape = (0, 0) if table.source is None else table.source.shape
    # Features that are no matrix are refused later.
    width = shape[1] if len(shape) > 1 else 1
    rows = many(len(table), "row") + (f", {many(len(table.classes), 'class')}" if table.classes else "")
    if not width:
        return f"{rows}, no features"
    names = table.feature_names
    shown = "" if names is None else f" ({told_apart(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''})"
    return f"{rows}, {many(width, 'feature')}{shown}"


def _check_files(options: RefineOptions) -> None:
    """Refuse names of files that cannot be read or written, before any work is done."""
    check_output(options.out)
    if options.save is not None:
        check_model(options.save)
    if options.report is not None:
        check_report(options.report)
    check_paths(read=options.inputs, written=(options.out, options.save, options.report, options.record))


def backend_named(name: str) -> Backend:
    """Return the backend that ``--backend`` names.

    Raises
    ------
    InputError
        If no backend has this name.
    MissingExtraError
        If the backend needs a package that is not installed.
    """
    if name != HOST and name.partition(":")[0] not in DEVICES:
        raise InputError(f"backend={name!r} came, but host, cuda, cuda:1 or cpu was expected; name one of these.")
    return Host() if name == HOST else Torch(name)


def files_of(options: RefineOptions) -> Files:
    """The files that options name, and how they are read."""
    named = tuple(options.id), tuple(options.score), tuple(options.label), tuple(options.drop)
    return Files(
        main=options.main,
        references=tuple(options.reference),
        labels=options.labels,
        pairs=options.pairs,
        columns=ColumnNames(*named, classes=options.classes),
        features=options.features,
        scale=options.scale,
        drop_invalid=options.drop_invalid,
    )


def read_problem(options: RefineOptions) -> tuple[Observations, list[Observations], RankLabels | ClassLabels | None]:
    """Read the tables and labels that options name, all of their rows."""
    tables = files_of(options).read()
    return *tables.observed(), tables.labels
