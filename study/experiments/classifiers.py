"""What `refine` and its rivals gain on problems of classifiers, from the rows in `results`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from ordinary import bold

from manifuse.kernels.arrays import FloatArray
from manifuse_study.experiments.classes import METHODS, METHODS_ON_RISKS, ORACLES
from manifuse_study.experiments.markdown import header, line, made_by
from manifuse_study.experiments.store import Row

#: How names of problems end that are made of views and of halves; others are drawn.
MADE = ("labels",)


def of_classes(rows: Iterable[Row]) -> list[str]:
    """Return the tables of docs/classes.md about classes.

    Raises
    ------
    ValueError
        If a row failed.
    """
    stored = list(rows)
    done = _done(stored)
    drawn = [row for row in done if not row.task.endswith(MADE)]
    trials = len({row.trial for row in stored})
    return [
        f"Problems that are drawn ({trials} of each table); *calibration* is the error of 15 bins, in points:",
        "",
        *_gains(drawn),
        "",
        f"Accuracy in per cent, mean of {trials} splits:",
        "",
        *_accuracies([row for row in done if row.task.endswith(MADE)]),
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
    done = [row for row in _done(stored) if row.hyperparameters["labels"]]
    count = len({(row.task, row.trial) for row in done})
    lines = header(f"{count} problems", "accuracy, %", "log loss", "calibration error, points")
    for method in METHODS_ON_RISKS:
        of_method = [row for row in done if row.method == method]
        names = ("accuracy", "log_loss", "calibration")
        accuracy, loss, error = (np.mean([_measure(row, name) for row in of_method]) for name in names)
        lines.append(line(bold(method), f"{100.0 * accuracy:.1f}", f"{loss:.3f}", f"{100.0 * error:.1f}"))
    return [*lines, "", made_by(row.provenance for row in stored)]


def _done(rows: Sequence[Row]) -> list[Row]:
    """Rows with a result; a row that failed is an error."""
    failed = next((row for row in rows if row.status == "failed"), None)
    if failed is not None:
        raise ValueError(f"{failed.method} failed on {failed.task}: {failed.reason}")
    return [row for row in rows if row.status == "done"]


def _gains(rows: Sequence[Row]) -> list[str]:
    """What every method gains over the main classifier alone."""
    alone = {(row.task, row.trial): row for row in rows if row.method == "alone"}
    names = ("gain, points", "log loss", "5 % quantile", "worse by a point", "calibration", "before", "problems")
    lines = header("", *names)
    for method in METHODS:
        of_method = [row for row in rows if row.method == method]
        if method == "alone" or not of_method:
            continue
        pairs = [(row, alone[row.task, row.trial]) for row in of_method]
        points = np.array([100.0 * (_measure(one, "accuracy") - _measure(other, "accuracy")) for one, other in pairs])
        losses = [_measure(one, "log_loss") - _measure(other, "log_loss") for one, other in pairs]
        errors: FloatArray = 100.0 * np.array([[_measure(each, "calibration") for each in pair] for pair in pairs])
        after, before = errors.mean(axis=0)
        cells = [f"{points.mean():+.1f}", f"{np.mean(losses):+.2f}", f"{np.quantile(points, 0.05):+.1f}"]
        cells += [f"{(points < -1.0).mean():.0%}", f"{after:.1f}", f"{before:.1f}", str(len(pairs))]
        lines.append(line(_name(method), *cells))
    return lines


def _accuracies(rows: Sequence[Row]) -> list[str]:
    """Mean accuracy of every method on the problems that are made of views and halves."""
    tasks = sorted({row.task for row in rows}, key=lambda task: (task.split(",")[0], len(task), task))
    lines = header("", *(task.removesuffix(" labels") for task in tasks))
    for method in METHODS:
        cells = []
        for task in tasks:
            found = [_measure(row, "accuracy") for row in rows if (row.task, row.method) == (task, method)]
            cells.append(f"{100.0 * np.mean(found):.1f}" if found else "\u2013")
        lines.append(line(_name(method), *cells))
    return lines


def _measure(row: Row, name: str) -> float:
    return float((row.accuracy or 0.0) if name == "accuracy" else row.hyperparameters[name])


def _name(method: str) -> str:
    """The name of a method; in italics if it knows more than a user has."""
    return f"*{method}*" if method in ORACLES else bold(method)
