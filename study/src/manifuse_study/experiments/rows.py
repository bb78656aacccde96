"""Rows: what an experiment measures, as a CSV file; every row says which code and which versions made it."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl
from threadpoolctl import threadpool_limits

from manifuse.cli.console import answer
from manifuse.files import bytes_writer, write_whole
from manifuse_study.experiments.provenance import provenance


def rows_csv(rows: Sequence[Mapping[str, object]]) -> bytes:
    """Return tidy rows as CSV; rows of different machines may have different columns."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file, as texts."""
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_frame(path: Path) -> pl.DataFrame:
    """Return the rows of a file as columns; commits and versions stay texts."""
    texts = dict.fromkeys(provenance(), pl.String)
    return pl.read_csv(path, schema_overrides=texts, null_values="nan", infer_schema_length=None)


def write_rows(
    path: Path,
    parts: Iterable[Iterable[Mapping[str, object]]],
    before: Sequence[Mapping[str, object]] = (),
    *,
    place: Callable[[Mapping[str, object]], int] = lambda row: 0,
) -> None:
    """Measure part after part, and write all rows after each, so that a run that is killed leaves whole rows.

    Parameters
    ----------
    path : Path
    parts : iterable of iterables of rows
        They are computed in one thread of this process, unless in others, and without warnings.
    before : sequence of rows
        Rows that are there already.
    place : callable
        Where a row stands among the others; by default, rows stay in their order.
    """
    rows = [*before]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            found = [{**row, **provenance()} for row in part]
            rows = sorted([*rows, *found], key=place)
            write_whole(path, bytes_writer(rows_csv(rows)))
            for row in found[-1:]:
                answer(f"{len(rows)}: {', '.join(map(str, [*row.values()][:5]))}")
