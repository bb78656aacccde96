"""``manifuse compare``: the problem that options name, and what each method reaches on labels that it did not see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from manifuse.cli.config import read_options
from manifuse.cli.refine_command import read_problem
from manifuse.cli.refine_options import GivenOptions, RefineOptions
from manifuse.errors import InputError
from manifuse.grid import Grid, figures
from manifuse.rivals import compare


def run_compare(given: GivenOptions, tell: Callable[[int, int], None]) -> list[dict[str, Any]]:
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
    task: Any = options.task or "ranking"
    found = compare(main, references, labels, options.seed, task=task, tell=tell)
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows()]


def grid_of(rows: list[dict[str, Any]]) -> Grid:
    """The rows as a table, accuracies in points, and errors of a regression in units of the labels."""
    in_points, has_losses = "accuracy" in rows[0], "log_loss" in rows[0]
    head = ("accuracy", "minus refine, points") if in_points else ("rmse", "minus refine")
    lines = []
    for row in rows:
        difference, error = row["minus_refine"], row["standard_error"]
        cells = (
            (f"{row['accuracy']:.1%}", f"{100 * difference:+.1f} ± {100 * error:.1f}")
            if in_points
            else (figures(row["rmse"], 4), f"{'+' * (difference >= 0)}{figures(difference, 3)} ± {figures(error, 2)}")
        )
        lines.append((row["method"], *cells, *([f"{row['log_loss']:.3f}"] if has_losses else [])))
    return Grid(("method", *head, *(["log loss"] if has_losses else [])), tuple(lines))
