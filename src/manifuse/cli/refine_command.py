"""``manifuse refine``: files to tables, tables to the library, the result to files."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from manifuse.cli.backend_names import backend_named
from manifuse.cli.column_checks import demand_numbers
from manifuse.cli.config import config_text
from manifuse.cli.formats import read_columns
from manifuse.cli.output import check_output, write_table
from manifuse.cli.paths import check_paths
from manifuse.cli.request import RefineRequest
from manifuse.cli.score_tables import Table, observe, read_table
from manifuse.cli.summary import summarise
from manifuse.diffusion.containers import to_text
from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.problem import Problem
from manifuse.errors import InputError, ManifuseWarning
from manifuse.files import shorten
from manifuse.footprint import demand_memory_to_replay
from manifuse.persistence import check_model, save
from manifuse.refinement import Refinement
from manifuse.report.markup import write_page
from manifuse.report.refinement_page import check_report, page_of
from manifuse.run import refine


def run_refine(request: RefineRequest) -> tuple[Refinement, dict[str, Any]]:
    """Read, refine, write.

    Returns
    -------
    result : Refinement
    summary : dict
        What ``--json`` prints.
    """
    start = time.perf_counter()
    check_output(request.out)
    if request.save is not None:
        check_model(request.save)
    if request.report is not None:
        check_report(request.report)
    check_paths(
        read=(request.main, *request.references, request.labels, request.pairs, request.config, request.cache),
        written=(request.out, request.save, request.report, request.record),
    )
    ids, main, references, labels = read_problem(request)
    if request.save is not None or request.report is not None:
        _demand_memory_to_replay(main, references, request.method)
    backend = backend_named(request.backend, request.cache)
    result = refine(main, references, labels, request.method, request.seed, backend=backend)
    columns = {
        "id": ids,
        "score": np.asarray(result.predictions),
        "original": main.scores,
        "support": result.support,
    }
    page = None
    if request.report is not None:
        # Before anything is written, so that nothing is left behind by what could go wrong with it.
        page = page_of(result, references=references, seconds=time.perf_counter() - start)
    if request.save is not None:
        save(result, request.save)
    if request.report is not None and page is not None:
        write_page(request.report, page)
    record = {} if request.record is None else {request.record: config_text(request)}
    write_table(request.out, columns, beside=record)
    return result, summarise(result, seconds=time.perf_counter() - start)


def _demand_memory_to_replay(main: Observations, references: Sequence[Observations], method: JointDiffusion) -> None:
    """Refuse a model or a report that there is no memory for before the run, and not after it."""
    with warnings.catch_warnings():
        # The run itself warns.
        warnings.simplefilter("ignore", ManifuseWarning)
        demand_memory_to_replay(Problem.of(main, references), method)


def read_problem(request: RefineRequest) -> tuple[NDArray[Any], Observations, list[Observations], RankLabels | None]:
    """Read what a request names: the ids of main rows as they stood in the file, the tables, the labels."""
    table = read_table(request.main, features=request.features)
    others = [read_table(reference, features=request.features) for reference in request.references]
    if len({other.name for other in others}) < len(set(request.references)):
        # Files of one name in several folders go by their paths.
        others = [replace(other, name=given) for other, given in zip(others, request.references, strict=True)]
    if request.pairs is not None:
        others = rename_by_pairs(table, others, read_columns(request.pairs), source=request.pairs)
    main, *references = (observe(each, drop=request.drop_invalid) for each in (table, *others))
    return table.ids[main.rows], main, references, None if request.labels is None else read_labels(request.labels)


def read_labels(path: Path) -> RankLabels:
    """Read labels: columns ``id`` and ``label``, or ``better`` and ``worse``."""
    columns = read_columns(path)
    if {"id", "label"} <= columns.keys():
        demand_numbers(path, {"label": columns["label"]})
        return RankLabels(columns["id"], columns["label"])
    if {"better", "worse"} <= columns.keys():
        return RankLabels.from_pairs(columns["better"], columns["worse"])
    there = shorten(", ".join(columns)) or "none"
    raise InputError(f"{path} has the columns {there}, but id and label, or better and worse, were expected; rename.")


def rename_by_pairs(main: Table, references: Sequence[Table], pairs: dict[str, Any], *, source: Path) -> list[Table]:
    """Give paired reference rows the ids of their main rows, and all others ids that match nothing.

    Parameters
    ----------
    pairs : dict
        Columns ``main`` and ``reference``, and ``table`` where there are several references.
    """
    needed = ["main", "reference"] + (["table"] if len(references) > 1 else [])
    missing = [name for name in needed if name not in pairs]
    if missing:
        raise InputError(f"{source} has no column {missing[0]!r}; pairs need {', '.join(needed)}.")
    texts = {name: to_text(pairs[name], what=f"The column {name!r} of {source}").tolist() for name in needed}
    if not texts["main"]:
        raise InputError(f"{source} is empty, but pairs were expected; give one row for each.")
    tables = texts.get("table", [references[0].name] * len(texts["main"]))
    unknown = set(tables) - {reference.name for reference in references}
    if unknown:
        raise InputError(f"{source} names the table {min(unknown)!r}, which is none of the references; mend it.")
    known = {str(value) for value in main.ids.tolist()}
    renamed = []
    for reference in references:
        rows = [row for row, table in enumerate(tables) if table == reference.name]
        names = {texts["reference"][row]: texts["main"][row] for row in rows}
        if len(names) < len(rows) or len(set(names.values())) < len(rows):
            raise InputError(f"{source} pairs a row of {reference.name} or {main.name} twice; keep one pair for each.")
        ids = [str(value) for value in reference.ids.tolist()]
        strange = sorted((set(names) - set(ids)) | (set(names.values()) - known))
        if strange:
            raise InputError(
                f"{source} names {strange[0]!r}, which is no id of {reference.name} or {main.name}; mend it."
            )
        ours = np.array([names.get(name, f"{reference.name}\x1f{name}") for name in ids])
        renamed.append(replace(reference, ids=ours))
    return renamed
