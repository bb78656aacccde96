"""What `refine` and its rivals gain on problems of classifiers, from the rows in `results`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from ordinary import bold, frame_of

from manifuse_study.experiments.classes import METHODS, METHODS_ON_RISKS, ORACLES
from manifuse_study.experiments.markdown import header, line, made_by
from manifuse_study.experiments.store import Row

#: How names of problems end that are made of views and of halves; others are drawn.
MADE = "labels"


def of_classes(rows: Iterable[Row]) -> list[str]:
    """Return the tables of docs/classes.md about classes.

    Raises
    ------
    ValueError
        If a row failed.
    """
    stored = list(rows)
    done, is_made = frame_of(stored), pl.col("task").str.ends_with(MADE)
    trials = len({row.trial for row in stored})
    return [
        f"Problems that are drawn ({trials} of each table); *calibration* is the error of 15 bins, in points:",
        "",
        *_gains(done.filter(~is_made)),
        "",
        f"Accuracy in per cent, mean of {trials} splits:",
        "",
        *_accuracies(done.filter(is_made)),
        "",
        made_by(row.provenance for row in stored),
    ]


def of_risks(rows: Iterable[Row]) -> list[str]:
    """Return the table of docs/classes.md about probabilities whose truth is 0 or 1, of problems with labels.

    Raises
    ------
    ValueError
        If a row failed.
    """
    stored = list(rows)
    done = frame_of(stored).filter(pl.col("labels") > 0)
    count = done.n_unique(["task", "trial"])
    lines = header(f"{count} problems", "accuracy, %", "log loss", "calibration error, points")
    for method in METHODS_ON_RISKS:
        of_method = done.filter(method=method)
        accuracy, loss, error = (of_method[name].to_numpy().mean() for name in ("accuracy", "log_loss", "calibration"))
        lines.append(line(bold(method), f"{100.0 * accuracy:.1f}", f"{loss:.3f}", f"{100.0 * error:.1f}"))
    return [*lines, "", made_by(row.provenance for row in stored)]


def _gains(rows: pl.DataFrame) -> list[str]:
    """What every method gains over the main classifier alone."""
    alone = rows.filter(method="alone")
    both = rows.join(alone, on=["task", "trial"], suffix=" alone", maintain_order="left")
    names = ("gain, points", "log loss", "5 % quantile", "worse by a point", "calibration", "before", "problems")
    lines = header("", *names)
    for method in METHODS:
        found = both.filter(method=method)
        if method == "alone" or not len(found):
            continue
        points = 100.0 * (found["accuracy"] - found["accuracy alone"]).to_numpy()
        losses = (found["log_loss"] - found["log_loss alone"]).to_numpy()
        after, before = (100.0 * found[name].to_numpy().mean() for name in ("calibration", "calibration alone"))
        cells = [f"{points.mean():+.1f}", f"{losses.mean():+.2f}", f"{np.quantile(points, 0.05):+.1f}"]
        cells += [f"{(points < -1.0).mean():.0%}", f"{after:.1f}", f"{before:.1f}", str(len(found))]
        lines.append(line(_name(method), *cells))
    return lines


def _accuracies(rows: pl.DataFrame) -> list[str]:
    """Mean accuracy of every method on the problems that are made of views and halves."""
    tasks = sorted(rows["task"].unique(), key=lambda task: (task.split(",")[0], len(task), task))
    lines = header("", *(task.removesuffix(" labels") for task in tasks))
    for method in METHODS:
        found = [rows.filter(task=task, method=method)["accuracy"].to_numpy() for task in tasks]
        lines.append(line(_name(method), *(f"{100.0 * each.mean():.1f}" if len(each) else "\u2013" for each in found)))
    return lines


def _name(method: str) -> str:
    """The name of a method; in italics if it knows more than a user has."""
    return f"*{method}*" if method in ORACLES else bold(method)
