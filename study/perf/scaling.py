"""Put the measurements of perf/ into docs/scaling.md, fit the cost model to it, and draw docs/scaling.svg.

Usage: python study/perf/scaling.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import nnls

import manifuse as mf
from manifuse.diffusion.bridges import HELD_OUT_NUMBERS
from manifuse.kernels.chebyshev import smoothing_coefficients
from manifuse_study.experiments.markdown import header, line, replace_parts
from manifuse_study.experiments.rows import read_csv

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
SAMPLE = HERE.parent / "experiments" / "results" / "sample.csv"

Row = dict[str, str]

#: Matrix products of the smoothing of a round: one step of 10, to the tolerance of `smooth`.
SMOOTHING = len(smoothing_coefficients(10.0, tolerance=1e-8)) - 1

#: Folds of the held-out pairs, the default of the method.
FOLDS = 5


def main() -> None:
    """Write the tables between their marks, and draw the picture."""
    works, growth, large = (read_csv(HERE / f"{name}.csv") for name in ("results", "growth", "large"))
    replace_parts(
        DOCS / "scaling.md",
        {
            "works": table_of_works(works),
            "growth": table_of_growth(growth),
            "model": table_of_model(growth),
            "large": table_of_large(large),
            "sample": table_of_sample(read_csv(SAMPLE)),
        },
    )
    draw(growth)


def table_of_large(rows: list[Row]) -> list[str]:
    """Whole commands on large files."""
    lines = [
        (row["work"], f"{int(row['rows']):,}", row["seconds"], f"{int(row['rows_per_second']):,}", row["GiB"])
        for row in rows
    ]
    head = ("command", "rows", "seconds", "rows a second", "GiB")
    ends = next(row for row in rows if row["after"])
    said = f"Rank correlation with the truth: {ends['before']} before, {ends['after']} after."
    return [*markdown(head, lines), "", said, "", made(rows)]


def table_of_sample(rows: list[Row]) -> list[str]:
    """What fitting a part of each table does to the accuracy, over trials."""
    groups: dict[tuple[str, str], dict[str, dict[str, list[float]]]] = {}
    for row in rows:
        trials = groups.setdefault((row["dataset"], row["labelled"]), {}).setdefault(row["share"], {})
        trials.setdefault(row["seed"], []).append(100 * float(row["accuracy"]))
    lines = []
    for (name, labelled), shares in groups.items():
        means = {share: np.array([np.mean(each) for each in trials.values()]) for share, trials in shares.items()}
        cells = [f"{means['1.0'].mean():.1f}"]
        for share in ("0.5", "0.25"):
            difference = means[share] - means["1.0"]
            cells.append(f"{difference.mean():+.2f} ± {difference.std(ddof=1) / np.sqrt(len(difference)):.2f}")
        lines.append((f"{name}, {'200 labels' if labelled == 'True' else 'no labels, same target'}", *cells))
    commits = list(dict.fromkeys(row["commit"] for row in rows))
    return [
        *markdown(("data set", "all rows, %", "half of them", "a quarter"), lines),
        "",
        f"{'By commit' if len(commits) == 1 else 'By commits'} {' and '.join(commits)}.",
    ]


def markdown(head: tuple[str, ...], lines: list[tuple[object, ...]]) -> list[str]:
    """Format a Markdown table. All columns but the first are numbers."""
    return [*header(*head), *(line(*map(str, cells)) for cells in lines)]


def table_of_works(works: list[Row]) -> list[str]:
    """Return the table of our times against the rivals'."""
    lines = [
        (
            work["work"].strip(),
            work["against"],
            f"{float(work['ours']):.3g} s",
            f"{float(work['theirs']):.3g} s",
            f"{float(work['ratio']):.3g}",
            f"{float(work['least']):g}",
            work["note"],
        )
        for work in works
    ]
    return [*markdown(("work", "against", "ours", "theirs", "ratio", "at least", "and"), lines), "", made(works)]


def made(rows: list[Row]) -> str:
    """Name the machines and commits behind the rows of a table."""
    machines, commits = (sorted({row[name] for row in rows}) for name in ("machine", "commit"))
    return f"Made on {' and '.join(machines)}, by commit {' and '.join(commits)}."


def table_of_growth(growth: list[Row]) -> list[str]:
    """Return the table of time and memory of Algorithm 1."""
    head = ("rows a side", "seconds", "rounds", "GiB", "vectors", "predicted GiB")
    some = [row for row in growth if row["vary"] == "rows"]
    lines = [
        (
            f"{int(row['rows']):,}",
            *(row[name] for name in ("seconds", "rounds", "GiB", "vectors", "predicted_GiB")),
        )
        for row in some
    ]
    return [
        *markdown(head, lines),
        "",
        f"Over the last decade time grows by the power {slope(some, 'seconds'):.2f} of the rows, a round's time by "
        f"{slope(some, 'seconds', each='rounds'):.2f}, memory by {slope(some, 'GiB'):.2f}.",
    ]


def moved(row: Row) -> float:
    """Estimate the bytes that the matrix products of a run read and write, by the model."""
    rows, references, edges = float(row["rows"]), int(row["references"]), float(row["edges"])
    products = mf.ImplicitEuler(float(row["step"])).depth - 1
    rounds, tasks = int(row["rounds"]), FOLDS * references
    # A product reads the matrix once for all columns.
    turns = np.ceil(tasks / max(1, HELD_OUT_NUMBERS // (2 * int(rows))))
    matrix = 12 * edges
    # One more transport, after the last round, measures how much evidence reaches each row.
    carried = products * (matrix + 24 * 2 * references) * (rounds + 1)
    smoothed = SMOOTHING * (matrix + 24 * 2) * rounds
    moments = products * references * (matrix + 24 * 2)
    asked = products * (matrix * turns + 24 * 2 * tasks)
    return rows * float(carried + smoothed + asked + moments)


def table_of_model(growth: list[Row]) -> list[str]:
    """Return the table of the model, fitted to four sizes."""
    sizes = (1_000, 10_000, 100_000, 1_000_000)
    some = [row for row in growth if row["vary"] == "rows" and int(row["rows"]) in sizes]
    seconds = np.array([float(row["seconds"]) for row in some])
    amounts = np.array([moved(row) for row in some])
    turns = np.array([float(row["rounds"]) + 1 for row in some])
    # The fit uses relative errors, so that small sizes count as much as large ones.
    design = np.column_stack([turns, amounts]) / seconds[:, None]
    (overhead, pace), _ = nnls(design, np.ones(len(some)))
    fitted = overhead * turns + pace * amounts
    lines: list[tuple[object, ...]] = [
        (f"{int(row['rows']):,}", f"{amount / 1e9:.2f}", f"{second:.3g}", f"{model:.3g}")
        for row, amount, second, model in zip(some, amounts, seconds, fitted, strict=True)
    ]
    return [
        *markdown(("rows a side", "GB moved", "seconds", "model"), lines),
        "",
        f"Fitted: {1000 * overhead:.0f} ms a round and {1e-9 / pace:.1f} GB a second; the fit minimises relative "
        "errors.",
    ]


def slope(rows: list[Row], name: str, *, each: str | None = None) -> float:
    """Fit the exponent of growth over the last decade of sizes."""
    most = max(float(row["rows"]) for row in rows)
    large = [row for row in rows if float(row["rows"]) >= most / 10]
    values = [float(row[name]) / (1.0 if each is None else float(row[each])) for row in large]
    return float(np.polyfit(np.log([float(row["rows"]) for row in large]), np.log(values), 1)[0])


def draw(growth: list[Row]) -> None:
    """Draw time and memory against what varies."""
    # With this salt, the same rows give the same picture, to the byte.
    plt.rcParams["svg.hashsalt"] = "scaling"
    figure, panels = plt.subplots(2, 2, figsize=(7.5, 6), layout="constrained")
    some = [row for row in growth if row["vary"] == "rows"]
    sizes = [float(row["rows"]) for row in some]
    for panel, name, word in ((panels[0, 0], "seconds", "seconds"), (panels[0, 1], "GiB", "GiB beside the tables")):
        values = np.array([float(row[name]) for row in some])
        panel.loglog(sizes, np.maximum(values, 1e-3), "o-", color="#0072b2")
        panel.set(xlabel="rows a side", ylabel=word, title=f"slope over the last decade {slope(some, name):.2f}")
    for panel, vary, word in ((panels[1, 0], "references", "references"), (panels[1, 1], "step", "step size δ_B")):
        some = [row for row in growth if row["vary"] == vary]
        seconds = [float(row["seconds"]) / float(row["rounds"]) for row in some]
        panel.loglog([float(row[vary]) for row in some], seconds, "o-", color="#0072b2")
        panel.set(xlabel=word, ylabel="seconds a round", title=f"{int(some[0]['rows']):,} rows a side")
    for panel in panels.ravel():
        panel.grid(True, which="major", linewidth=0.4)
    figure.savefig(DOCS / "scaling.svg", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
