"""What `refine` and its rivals gain on problems drawn from ordinary tables, from the rows in `results`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from sections import groups, section

from manifuse.kernels.arrays import FloatArray
from manifuse_study.experiments.drawn import METHODS
from manifuse_study.experiments.markdown import header, line
from manifuse_study.experiments.store import Row

#: What is compared without labels, and with labels.
UNLABELLED = ("refined, no labels", "impute and average")
ALL = tuple(name for name in METHODS if name != "alone")

#: Where numbers of labels, references and pairs are cut into groups, and where the lead of the best reference is, in
#: points.
LABELS, REFERENCES, PAIRS, BETTER = (30, 50, 90, 150), (1, 2, 3, 5), (30, 50, 90, 150), (0.0, 3.0, 6.0)


def frame_of(rows: Iterable[Row]) -> pl.DataFrame:
    """Return the accuracies of stored rows, and the facts and measures that they hold.

    Raises
    ------
    ValueError
        If a row failed.
    """
    done = []
    for row in rows:
        if row.status == "failed":
            raise ValueError(f"{row.method} failed on {row.task}: {row.reason}")
        if row.status == "done":
            key = {"task": row.task, "trial": row.trial, "method": row.method}
            done.append({**key, "accuracy": row.accuracy, **row.hyperparameters})
    return pl.DataFrame(done, infer_schema_length=None)


def drawn(rows: Iterable[Row]) -> pl.DataFrame:
    """Return a row for every problem: its facts, and the gain of every method over the main predictor, in points."""
    found, problem = frame_of(rows), ["task", "trial"]
    accuracies = found.pivot("method", index=problem, values="accuracy")
    gains = accuracies.select(*problem, *((pl.col(name) - pl.col("alone")) * 100.0 for name in METHODS))
    return found.filter(method="alone").join(gains, on=problem, maintain_order="left")


def short_of_tables(rows: Iterable[Row]) -> list[str]:
    """Return the table of the README: every method with labels, and those that need none without."""
    problems = drawn(rows)
    labelled = problems.filter(pl.col("labels") > 0)
    lines = header("gain over the predictor alone", "mean", "5 % quantile", "worse by a point")
    for name in UNLABELLED:
        lines.append(line(f"{bold(name)} ({len(problems)} problems)", *three(problems[name].to_numpy())))
    for name in ALL:
        if name not in UNLABELLED:
            title = f"{bold(name)} ({len(labelled)} problems with labels)"
            lines.append(line(title, *three(labelled[name].to_numpy())))
    return lines


def ordinary(rows: Iterable[Row]) -> list[str]:
    """Return the section of docs/results.md."""
    stored = list(rows)
    problems = drawn(stored)
    labelled = problems.filter(pl.col("labels") > 0)
    text = (
        f"{len(problems)} problems drawn from {problems['task'].n_unique()} tables (`manifuse reproduce "
        f"tables`), {len(labelled)} of them with labels. The numbers are gains over the main predictor alone on test "
        "rows, in points of ranking accuracy: mean ± its standard error; 5 % quantile; share of problems that are "
        "worse by more than a point."
    )
    tables = []
    for title, members, methods in (
        ("Without labels", problems, UNLABELLED),
        ("With labels", labelled, ALL),
    ):
        lines = [f"### {title}", "", *header("problems", "number", *methods)]
        for name, chosen in groups_of(members):
            cells = [cell(chosen[method].to_numpy()) for method in methods]
            lines.append(line(name, str(len(chosen)), *cells))
        tables.append("\n".join(lines))
    return section("Ordinary tables", text, ["\n\n".join(tables)], pl.DataFrame([row.provenance for row in stored]))


def groups_of(problems: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """Return the groups of problems that the section shows, by name; empty ones are left out."""
    groups = [("all", problems)]
    for fact, cuts in (("labels", LABELS), ("references", REFERENCES), ("pairs", PAIRS)):
        for low, high in zip(cuts, (*cuts[1:], np.inf), strict=True):
            if fact == "references":
                name = f"{low} {fact if low > 1 else 'reference'}"
            else:
                name = f"{low} {fact} or more" if high == np.inf else f"{low} to {high - 1:.0f} {fact}"
            groups.append((name, problems.filter(pl.col(fact).is_between(low, high, closed="left"))))
    for low, high in zip((-np.inf, *BETTER), (*BETTER, np.inf), strict=True):
        name = f"best reference ahead by {low:.0f} to {high:.0f} points"
        name = "best reference behind" if low == -np.inf else name
        name = f"best reference ahead by {low:.0f} points or more" if high == np.inf else name
        groups.append((name, problems.filter((pl.col("better") * 100.0).is_between(low, high, closed="left"))))
    groups.append(("one reference of something else", problems.filter(pl.col("odd"))))
    return [(name, chosen) for name, chosen in groups if len(chosen)]


def three(values: FloatArray) -> list[str]:
    """Return mean with its standard error, 5 % quantile, and share of problems that are worse by a point."""
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return [
        f"{values.mean():+.2f} ± {error:.2f}",
        f"{np.quantile(values, 0.05):+.1f}",
        f"{100.0 * (values < -1.0).mean():.0f} %",
    ]


def cell(values: FloatArray) -> str:
    """Return the three numbers in one cell."""
    return "; ".join(three(values))


def bold(name: str) -> str:
    """Return a name, in bold if it is ours."""
    return f"**{name}**" if name.startswith("refined") else name


def shapes(rows: pl.DataFrame) -> list[str]:
    """Return the section on the shape of scores."""
    text = (
        "`study/experiments/shapes.py` gives all scores of a drawn problem (trials 100 and 101) another shape, "
        "without a change of their order. *Amounts* are the exponentials of twice the standardised scores, and "
        "*risks* are below 0.1 for most rows. Such scores count by their order. *Not straightened* takes that "
        "away. The numbers are those of [ordinary tables](#ordinary-tables)."
    )
    lines = header("method", "problems", *rows["shape"].unique(maintain_order=True))
    for (method,), members in groups(rows, "method"):
        values = [each["gain"].to_numpy() for _, each in groups(members, "shape")]
        lines.append(line(bold(method), str(len(values[0])), *map(cell, values)))
    return section("The shape of scores", text, lines, rows)


def circumstances(rows: pl.DataFrame) -> list[str]:
    """Return the section on what is common, who knows what, and what references say."""
    text = (
        "`study/experiments/circumstances.py` changes drawn problems: which rows are common, what references know, "
        "and what they say. A corner are the 40 of 100 rows with the lowest first principal component of the main "
        "features. A version of a reference has its scores and noise of 0.3 standard deviations. Scores are those of "
        "[ordinary tables](#ordinary-tables) (trial 100), in ranking accuracy. Classes are drawn from tables "
        "without views (trials 100 to 103), in accuracy. Problems with fewer than ten common rows are left out."
    )
    tables = []
    for (kind,), found in groups(rows, "kind"):
        methods = found["method"].unique(maintain_order=True)
        lines = header(kind, "problems", *map(bold, methods))
        for (circumstance,), members in groups(found, "circumstance"):
            values = [members.filter(method=method)["gain"].to_numpy() for method in methods]
            counts = ", ".join(dict.fromkeys(str(len(of_method)) for of_method in values))
            lines.append(line(circumstance, counts, *map(cell, values)))
        tables.append("\n".join(lines))
    return section("Other circumstances", text, ["\n\n".join(tables)], rows)


def gates(rows: pl.DataFrame) -> list[str]:
    """Return the section that takes every rule away in turn."""
    usual = rows["rule"][0]
    unlabelled, labelled = rows.filter(labels=0), rows.filter(pl.col("labels") > 0)
    counts = [len(found.filter(rule=usual)) for found in (unlabelled, labelled)]
    text = (
        f"`study/experiments/gates.py` takes one rule away at a time, on problems of the development seeds ("
        f"{counts[0]} without labels, {counts[1]} with). The numbers are the mean gain, its 5 "
        "% quantile, and the share of problems that are worse by more than a point. *Changed* is the mean difference "
        "that taking it away makes, with its standard error, in points, and the share of problems that change by more "
        "than 0.05 points."
    )
    tables = []
    for title, found in (("without labels", unlabelled), ("with labels", labelled)):
        lines = header(title, "mean", "5 % quantile", "worse by a point", "changed", "problems changed")
        base = found.filter(rule=usual)["gain"].to_numpy()
        for (rule,), members in groups(found, "rule"):
            gained = members["gain"].to_numpy()
            differences = gained - base
            error = differences.std(ddof=1) / np.sqrt(len(base))
            changed = f"{differences.mean():+.2f} ± {error:.2f}"
            lines.append(line(rule, *three(gained), changed, f"{100 * (abs(differences) > 0.05).mean():.0f} %"))
        tables.append("\n".join(lines))
    return section("Every rule that refuses, ignores or halves", text, ["\n\n".join(tables)], rows)
