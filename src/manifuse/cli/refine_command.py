"""``manifuse refine``: read the files, refine, write the result."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.backends.backend import Backend
from manifuse.backends.host import Host
from manifuse.backends.torch import Torch
from manifuse.cli.announcement import lines_of
from manifuse.cli.apply_part import refined_rows
from manifuse.cli.config import config_text, method_of
from manifuse.cli.console import once
from manifuse.cli.output import TableWriter, check_output, refined_columns
from manifuse.cli.refine_options import HOST, RefineOptions
from manifuse.errors import InputError, ManifuseWarning
from manifuse.files import Writer, bytes_writer
from manifuse.report.markup import page_writer
from manifuse.report.refinement_page import check_report, page_of
from manifuse.run.method import JointDiffusion
from manifuse.run.persistence import check_model, model_writer
from manifuse.run.refine import refine, rows_to_fit
from manifuse.run.refinement import Refinement
from manifuse.tables.column_checks import demand_columns
from manifuse.tables.containers import to_text
from manifuse.tables.formats import read_columns
from manifuse.tables.label_table import read_labels
from manifuse.tables.labels import RankLabels
from manifuse.tables.later_table import WINDOW
from manifuse.tables.observations import Observations
from manifuse.tables.paths import check_paths, files_in
from manifuse.tables.score_tables import Table, observe, observe_part, read_table

#: Kinds of torch devices; a number may follow, as in ``cuda:1``.
DEVICES = ("cuda", "cpu", "mps", "xpu")


def run_refine(
    options: RefineOptions,
    tell: Callable[[str], None] = lambda done: None,
    announce: Callable[[str], None] = lambda line: None,
) -> tuple[Refinement, int]:
    """Read, refine, write; return what was found, and how many rows were written.

    Of large tables, the features of the rows that are fitted are read first; then the main table is refined window by
    window. ``tell`` gets how far it is, and ``announce`` what was read.

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
    backend = backend_named(options.backend)
    tables = read_tables(options)
    fitted = fitted_rows(tables, method, options)
    main, references = observed(tables, options, fitted)
    announce("\n".join(lines_of(tables.main, tables.references, tables.labels)))
    whole, labels = tables.main, tables.labels
    del tables  # Ids of references take much memory.
    result = refine(main, references, labels, _of_sample(method, fitted), options.seed, backend=backend)
    beside: dict[Path, Writer] = {}
    if options.save is not None:
        beside[options.save] = model_writer(result)
    if options.report is not None:
        seconds, sampled_of = time.perf_counter() - start, None if fitted is None else len(whole)
        beside[options.report] = page_writer(page_of(result, references=references, seconds=seconds, whole=sampled_of))
    if options.record is not None:
        beside[options.record] = bytes_writer(config_text(options, method).encode())
    lowest, highest, came_in_range = np.inf, -np.inf, True
    with TableWriter(options.out, escape=options.escape_formulas) as writer, once():
        for columns in refined_parts(result, whole, None if fitted else main, options):
            came_in_range = came_in_range and bool(_in_unit_range(columns["original"]))
            lowest, highest = min(lowest, columns["score"].min()), max(highest, columns["score"].max())
            writer.add(columns)
            tell(f"{writer.rows:,} rows")
        if not method.is_regression and came_in_range and not 0 <= lowest <= highest <= 1:
            warnings.warn(
                f"The scores of {main.name} are in [0, 1], and the refined ones are not; if they are probabilities, "
                'say so with scale = "probability" in a config.',
                ManifuseWarning,
                stacklevel=2,
            )
        writer.finish(beside)
    return result, writer.rows


def refined_parts(
    result: Refinement, table: Table, main: Observations | None, options: RefineOptions
) -> Iterator[dict[str, NDArray[Any]]]:
    """Columns of the refined table: at once if all rows are in ``main``, else window by window."""
    if main is not None:
        original, refined = main.in_scale(main.scores), result.refined.in_scale_of(main)
        yield refined_columns(table.ids[main.rows], original, refined.scores, refined.support, refined.errors)
        return
    for first in range(0, len(table), WINDOW):
        rows = range(first, min(first + WINDOW, len(table)))
        yield refined_rows(result, observe_part(table, rows, scale=options.scale), table.ids[rows])


def _of_sample(method: JointDiffusion, rows: Sequence[NDArray[Any]] | None) -> JointDiffusion:
    """Return the method for the ``rows`` that were read as a sample: of these, all are fitted."""
    return method if rows is None else replace(method, fitted_rows=None)


def _in_unit_range(scores: NDArray[Any]) -> bool:
    return bool(scores.min() >= 0 and scores.max() <= 1)


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


@dataclass(frozen=True, eq=False)
class Tables:
    """What the files of a problem hold.

    Attributes
    ----------
    main : Table
    references : list of Table
    labels : RankLabels or None
    """

    main: Table
    references: list[Table]
    labels: RankLabels | None


def read_problem(options: RefineOptions) -> tuple[Observations, list[Observations], RankLabels | None]:
    """Read the tables and labels that options name, all of their rows."""
    tables = read_tables(options)
    return *observed(tables, options), tables.labels


def observed(
    tables: Tables, options: RefineOptions, rows: Sequence[NDArray[Any]] | None = None
) -> tuple[Observations, list[Observations]]:
    """Check the tables, or the ``rows`` of the main table and of every reference that are fitted."""
    if rows is None:
        main = observe(tables.main, drop=options.drop_invalid, scale=options.scale)
        return main, [observe(each, drop=options.drop_invalid) for each in tables.references]
    main = observe_part(tables.main, rows[0], scale=options.scale)
    return main, [observe_part(each, here) for each, here in zip(tables.references, rows[1:], strict=True)]


def fitted_rows(tables: Tables, method: JointDiffusion, options: RefineOptions) -> list[NDArray[Any]] | None:
    """Rows of the main table and of every reference that are fitted if their features are in files; None for all.

    They are those that `refine` chooses by itself of whole tables.

    Raises
    ------
    InputError
        If ids or scores of a table cannot be used.
    """
    all_tables, most = [tables.main, *tables.references], method.fitted_rows
    in_files = [table for table in all_tables if table.source is not None and not table.source.is_read]
    if most is None or options.drop_invalid or not any(len(table) > most for table in in_files):
        return None
    scale: Any = options.scale
    main = Observations(tables.main.scores, ids=tables.main.ids, name=tables.main.name, scale=scale)
    others = [Observations(table.scores, ids=table.ids, name=table.name) for table in tables.references]
    chosen = rows_to_fit(main, others, tables.labels, method, options.seed)
    return None if chosen is None else [chosen[0], *chosen[1]]


def read_tables(options: RefineOptions) -> Tables:
    """Read the ids and scores of the tables that options name, and their labels.

    Features stay in files of Parquet and Arrow until they are needed.
    """
    files = [tuple(os.path.realpath(part) for part in files_in(given)) for given in options.reference]
    twice = next((given for given, file in zip(options.reference, files, strict=True) if files.count(file) > 1), None)
    if twice is not None:
        raise InputError(f"The reference {twice} was given twice, and would count twice; give it once.")
    columns = options.columns
    table = read_table(options.main, features=options.features, columns=replace(columns, all_there=True))
    others = [read_table(reference, features=options.features, columns=columns) for reference in options.reference]
    _demand_dropped(options.drop, [table, *others])
    if len({other.name for other in others}) < len(others):
        # Files with the same name in several folders are named by their paths.
        others = [replace(other, name=given) for other, given in zip(others, options.reference, strict=True)]
    if options.pairs is not None:
        others = rename_by_pairs(table, others, options.pairs)
    labels = None if options.labels is None else read_labels(options.labels, columns, drop=options.drop_invalid)
    return Tables(table, others, labels)


def _demand_dropped(names: Sequence[str], tables: Sequence[Table]) -> None:
    """Refuse a column to drop that no table has, because a misspelt one would stay a feature."""
    for name in names:
        if not any(name in table.dropped for table in tables):
            raise InputError(
                f"--drop {name} came, but no table has such a column to leave out; correct it, and repeat --drop for "
                "each column."
            )


def rename_by_pairs(main: Table, references: Sequence[Table], source: Path) -> list[Table]:
    """Give paired reference rows the ids of their main rows, and all other reference rows ids that match nothing.

    Parameters
    ----------
    main : Table
    references : sequence of Table
    source : Path
        The file of pairs: columns ``main`` and ``reference``; with several references, also ``table``.

    Raises
    ------
    InputError
        If a column is missing, there are no pairs, or a pair names an unknown table or id, or an id twice.
    """
    needed = ["main", "reference"] + (["table"] if len(references) > 1 else [])
    pairs = read_columns(source)
    demand_columns(source, {name: name for name in pairs}, *needed)
    texts = {name: to_text(pairs[name], what=f"The column {name!r} of {source}").tolist() for name in needed}
    if not texts["main"]:
        raise InputError(f"{source} has no rows, but pairs were expected; give one row for each pair.")
    tables = texts.get("table", [references[0].name] * len(texts["main"]))
    known = [reference.name for reference in references]
    unknown = set(tables) - set(known)
    if unknown:
        raise InputError(
            f"{source} names the table {min(unknown)!r}, but the references are {', '.join(known)}; name one of these."
        )
    rows = list(zip(tables, texts["reference"], texts["main"], strict=True))
    return [
        _renamed(reference, main, [(theirs, ours) for table, theirs, ours in rows if table == reference.name], source)
        for reference in references
    ]


def _renamed(reference: Table, main: Table, pairs: Sequence[tuple[str, str]], source: Path) -> Table:
    """Rename the rows of one reference by its pairs of a reference id and a main id."""
    names = dict(pairs)
    if len(names) < len(pairs) or len(set(names.values())) < len(pairs):
        raise InputError(f"{source} pairs a row of {reference.name} or {main.name} twice; keep one pair for each row.")
    ids = [str(value) for value in reference.ids.tolist()]
    for table, named, there in ((reference, names, ids), (main, names.values(), map(str, main.ids.tolist()))):
        strange = set(named) - set(there)
        if strange:
            raise InputError(f"{source} names {min(strange)!r}, which is not an id of {table.name}; correct it.")
    return replace(reference, ids=np.array([names.get(name, f"{reference.name}\x1f{name}") for name in ids]))
