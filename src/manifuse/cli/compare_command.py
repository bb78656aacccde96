"""``manifuse compare``: the problem that options name, and what each method reaches on labels that it did not see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from manifuse.cli.config import read_options
from manifuse.cli.refine_command import read_problem
from manifuse.cli.refine_options import Given, RefineOptions
from manifuse.errors import InputError
from manifuse.grid import Grid
from manifuse.rivals import compare
from manifuse.tables.labels import ClassLabels


def run_compare(given: Given, tell: Callable[[int, int], None]) -> list[dict[str, Any]]:
    """Compare `refine` with its rivals, as ``manifuse.rivals.compare`` does; a row for each method, the best first.

    ``tell`` gets how many times a method was fitted, and how many times one will be.

    Raises
    ------
    InputError
        If there are no labels, or ``compare`` refuses the problem.
    """
    options = read_options(RefineOptions, given, out=Path())
    main, references, labels = read_problem(options)
    if labels is None:
        raise InputError("--labels is missing; methods are compared on rows whose truth is known, so give labels.")
    if isinstance(labels, ClassLabels):
        raise InputError(f"{main.name} has classes, but only methods of scores are compared; give one score a row.")
    found = compare(main, references, labels, options.seed, tell=tell)
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows()]


def grid_of(rows: list[dict[str, Any]]) -> Grid:
    """The rows as a table, in points of ranking accuracy."""
    lines = [
        (
            row["method"],
            f"{row['accuracy']:.1%}",
            f"{100 * row['minus_refine']:+.1f} ± {100 * row['standard_error']:.1f}",
        )
        for row in rows
    ]
    return Grid(("method", "accuracy", "minus refine, points"), tuple(lines))
