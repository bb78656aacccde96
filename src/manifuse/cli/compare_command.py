"""``manifuse compare``: the problem that options name, and what each method reaches on labels that it did not see."""

import math
from collections.abc import Callable
from inspect import getdoc
from pathlib import Path
from typing import Any

from manifuse import rivals
from manifuse.cli.config import method_of, read_options
from manifuse.cli.refine_command import read_problem
from manifuse.cli.refine_options import GivenOptions
from manifuse.errors import InputError
from manifuse.grid import Grid
from manifuse.words.wording import fill

#: See `note_on_pairs`.
AT_PAIRS = (
    "Here, a labelled row that is also a common row is judged with the reference's own score of it. The gain that "
    "refine reports leaves these scores out, so the two differ where many labelled rows are common rows. Every method "
    "learned from four of five labelled rows here, and refine learns from all of them."
)


def run_compare(given: GivenOptions, tell: Callable[[int, int], None]) -> list[dict[str, Any]]:
    """Compare `refine` with its rivals, as ``manifuse.rivals.compare`` does; a row for each method, the best first.

    ``tell`` gets how many times a method was fitted, and how many times one will be.

    Raises
    ------
    InputError
        If there are no labels, or ``compare`` refuses the problem.
    """
    options = read_options(given, out=Path())
    main, references, labels = read_problem(options)
    if labels is None:
        raise InputError("--labels is missing; methods are compared on rows whose truth is known, so give labels.")
    found = rivals.compare(main, references, labels, options.seed, method=method_of(options), tell=tell)
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows()]


def grid_of(rows: list[dict[str, Any]]) -> Grid:
    """The rows as a table, accuracies in points, and errors of a regression in units of the labels."""
    in_points, has_losses = "accuracy" in rows[0], "log_loss" in rows[0]
    head = ("accuracy", "minus refine, points") if in_points else ("rmse", "minus refine")
    lines, decimals = [], _decimals(rows)
    for row in rows:
        measure = f"{row['accuracy']:.1%}" if in_points else f"{row['rmse']:,.{decimals}f}"
        sign = "+" if row["minus_refine"] >= 0 else "-"
        loss = [f"{row['log_loss']:.3f}"] if has_losses else []
        lines.append((row["method"], measure, f"{sign}{_size(row, decimals)}", *loss))
    return Grid(("method", *head, *(["log loss"] if has_losses else [])), tuple(lines))


def meanings_of(rows: list[dict[str, Any]]) -> str:
    """Say what each of the other methods does, by the first sentence of its documentation."""
    said = {"alone": "Your own scores as they came."}
    if "rmse" in rows[0]:
        said["alone"] = "Your own scores, brought into units of the labels by a line."
    for row in rows:
        if row["method"] not in ("refine", *said):
            said[row["method"]] = str(getdoc(getattr(rivals, row["method"]))).partition("\n")[0].replace("`", "")
    return "\n".join(fill(f"{name}: {meaning}", subsequent_indent="  ") for name, meaning in said.items())


def note_on_pairs(rows: list[dict[str, Any]]) -> list[str]:
    """Why the numbers are not those that ``manifuse refine`` reports; nothing without references."""
    return [fill(AT_PAIRS)] if any(row["method"].startswith("impute") for row in rows) else []


def best_of_others(rows: list[dict[str, Any]]) -> str:
    """Say which of the other methods is best, and how far it is from `refine`."""
    best = next(row for row in rows if row["method"] != "refine")
    said = f"The best of the others is {best['method']},"
    if best["minus_refine"] == 0:
        return f"{said} level with refine."
    by = f"{_size(best, _decimals(rows))}{' points' if 'accuracy' in best else ''}"
    where = f"{by} {'ahead of' if rows[0] is best else 'behind'} refine"
    is_chance = abs(best["minus_refine"]) < 2 * best["standard_error"]
    return f"{said} {where}{'; that could be chance' if is_chance else ''}."


def _decimals(rows: list[dict[str, Any]]) -> int:
    """Digits after the point: one in points, and of a regression so many that the largest error has four digits."""
    largest = max(row.get("rmse", 0.0) for row in rows)
    return max(0, 3 - math.floor(math.log10(largest))) if largest > 0 else 1


def _size(row: dict[str, Any], decimals: int) -> str:
    """How far a method is from `refine`, and the standard error, in points or in units of the labels."""
    scale = 100.0 if "accuracy" in row else 1.0
    size, error = (f"{scale * each:,.{decimals}f}" for each in (abs(row["minus_refine"]), row["standard_error"]))
    return f"{size} ± {error}"
