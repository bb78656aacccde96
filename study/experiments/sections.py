"""The sections of docs/results.md that are not the paper's data sets, from the rows in study/experiments/results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np

from manifuse_study.experiments.markdown import as_markdown
from manifuse_study.experiments.payoff import MAPS, payoff_grid, payoffs, title_of
from manifuse_study.experiments.plan import EXPERIMENTS
from manifuse_study.experiments.result_figures import draw_payoffs

HERE = Path(__file__).parent


def made_by(rows: Sequence[Mapping[str, str]]) -> str:
    """Say which commits of the code made rows, and with which versions."""
    return f"Commit {' and '.join(dict.fromkeys(row['commit'] for row in rows))}, {versions(rows[0])}."


def payoff(rows: list[dict[str, str]]) -> list[str]:
    """Show when references pay, and draw it."""
    maps = {title_of(*of): found for of in MAPS if (found := payoffs(rows, *of))}
    figure = draw_payoffs(maps)
    # With names that are the same in every run.
    with matplotlib.rc_context({"svg.hashsalt": "manifuse"}):
        figure.savefig(HERE / "results" / "map.svg", metadata={"Date": None})
    figure.savefig(HERE / "results" / "map.png", dpi=110)
    trials = max(cell.trials for found in maps.values() for cell in found.values())
    lines = [
        "## When references pay",
        "",
        "![Gains by the number of labels and of pairs, a column for each data set]"
        "(../study/experiments/results/map.png)",
        "",
        f"Labels by pairs, in the mean over tasks and up to {trials} trials, in points of ranking accuracy (of a "
        "regression, in hundredths of the unit of its root mean squared error). The three numbers of a cell are what "
        "JMD gains over the predictor alone, over the best rival without references, which the last column names, and "
        "over JMD without references: what references are worth. Without labels no rival "
        "has anything to learn from, and without references JMD is the predictor alone. The main table, its ranker "
        "and the test rows of a split are the same in all its cells.",
        "",
    ]
    for title, found in maps.items():
        lines += [f"### {title}", "", as_markdown(payoff_grid(found)), ""]
    return [*lines, made_by(rows), ""]


def simulated(rows: list[dict[str, str]]) -> list[str]:
    """Show what refining does to problems that are made to mislead."""
    count = len({row["seed"] for row in rows})
    lines = [
        "## Simulated problems, made to mislead",
        "",
        f"{count} problems of each family (`study/experiments/simulated.py`): six references, 100 pairs and 600 "
        "main rows. The numbers are how many refinements were accepted, the mean gain of these on rows without a "
        "label, and how many of them are worse there by more than a point; with 50 labels also what these reported "
        "less what they gained, with the standard error of the mean. Points of ranking accuracy.",
        "",
        *header("family", ("no labels", "gain", "worse", "50 labels", "gain", "worse", "reported less true")),
    ]
    for family in dict.fromkeys(row["family"] for row in rows):
        cells = []
        for labels in ("0", "50"):
            members = [row for row in rows if (row["family"], row["labels"]) == (family, labels)]
            gains = np.array([100 * (float(row["accuracy"]) - float(row["alone"])) for row in members])
            taken = np.array([row["accepted"] == "True" for row in members])
            mean = f"{gains[taken].mean():+.1f}" if taken.any() else "—"
            cells += [str(taken.sum()), mean, str((gains[taken] < -1.0).sum())]
        excess = np.array([100 * float(row["reported"]) for row in members])[taken] - gains[taken]
        cells.append(f"{excess.mean():+.2f} ± {excess.std(ddof=1) / np.sqrt(len(excess)):.2f}")
        lines.append(line(family, cells))
    return [*lines, "", made_by(rows), ""]


def calibration(rows: list[dict[str, str]]) -> list[str]:
    """Show how often pairs of test rows are ordered rightly, by the probability that was said."""
    groups: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        groups[row["what"], EXPERIMENTS[row["dataset"]].title].append(row)
    ends = ("50 to 60", "60 to 70", "70 to 80", "80 to 90", "90 to 100")
    lines = [
        "## Whether standard errors are right",
        "",
        "Pairs of test rows by the probability, in %, with which they are said to be ordered rightly, and how many of "
        "100 are. The calibration error is how far the two are apart, in points, on average over pairs and ten bins. "
        "Ten splits, all tasks whose refinement was accepted (`study/experiments/calibration.py`).",
        "",
        *header("said, %", (*ends, "calibration error")),
    ]
    held = []
    for (what, title), members in groups.items():
        number, said, right = (
            np.array([float(row[name]) for row in members]) for name in ("number", "expected", "right")
        )
        if what == "intervals":
            share = 100 * np.average(right, weights=number)
            held += [f"{title}, as a regression: {share:.1f} of 100 intervals of 90 % hold the truth.", ""]
            continue
        places = np.minimum((20 * (said - 0.5)).astype(int), 9)
        pairs, sure, true = (np.bincount(places, of, 10) for of in (number, number * said, number * right))
        both = (each.reshape(5, 2).sum(axis=1).tolist() for each in (true, pairs))
        cells = [f"{100 * rightly / of:.0f}" if of else "—" for rightly, of in zip(*both, strict=True)]
        lines.append(line(title, [*cells, f"{100 * np.abs(sure - true).sum() / pairs.sum():.1f}"]))
    return [*lines, "", *held, made_by(rows), ""]


def ablation(rows: list[dict[str, str]]) -> list[str]:
    """Show what every choice gains or loses, on the splits on which it was made."""
    lines = [
        "## One choice changed at a time",
        "",
        "JMD whose labels only tune, on seeds 0 to 4, on which the defaults were chosen; in the second and the third "
        "line labels teach. The tables above are on other splits. Mean accuracy over tasks and splits, in %, and mean "
        "number of rounds.",
        "",
        *header("variant", ("HW, labels", "rounds", "HW, none", "digits, labels", "rounds", "digits, none")),
    ]
    for variant in dict.fromkeys(row["variant"] for row in rows):
        cells = []
        for dataset in ("hw", "digits"):
            for labelled in ("True", "False"):
                chosen = [
                    row
                    for row in rows
                    if (row["dataset"], row["variant"], row["labelled"]) == (dataset, variant, labelled)
                ]
                cells.append(f"{100 * np.mean([float(row['accuracy']) for row in chosen]):.2f}" if chosen else "")
                if labelled == "True":
                    cells.append(f"{np.mean([float(row['rounds']) for row in chosen]):.1f}" if chosen else "")
        lines.append(line(variant, cells))
    ind = {d: np.mean([float(row["ind"]) for row in rows if row["dataset"] == d]) for d in ("hw", "digits")}
    lines += ["", f"Ind on these splits: HW {100 * ind['hw']:.2f}, digits {100 * ind['digits']:.2f}."]
    return [*lines, "", made_by(rows), ""]


def cut(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Show what is lost if references are cut to ids and scores of the common rows."""
    lines = header("points lost", ("without labels", "with labels"))
    for dataset in dict.fromkeys(row["dataset"] for row in rows):
        cells = []
        for labelled in ("False", "True"):
            lost: dict[str, list[float]] = defaultdict(list)
            for row in rows:
                if (row["dataset"], row["labelled"]) == (dataset, labelled):
                    lost[row["seed"]].append(100 * (float(row["whole"]) - float(row["cut"])))
            means = np.array([np.mean(each) for each in lost.values()])
            cells.append(f"{means.mean():z.1f} ± {means.std(ddof=1) / np.sqrt(len(means)):.1f}")
        lines.append(line(EXPERIMENTS[dataset].title, cells))
    return [*lines, "", made_by(rows)]


def toy(rows: list[dict[str, str]]) -> list[str]:
    """Show how well every rule estimates the metric of the toy tasks."""
    lines = [
        "## Toy tasks (section 3.1)",
        "",
        "![True metric, metric over the first bridges, metric after joint diffusion]"
        "(../study/experiments/results/toy.png)",
        "",
        "Seed 0 under the held-out rule. The table is over ten seeds: correlation of the estimated with the true "
        "metric (mean ± standard deviation), mean alignment inside the two groups and elsewhere (true values near "
        "0.96 and 0.1). No labels are used.",
        "",
        *header("rule", ("estimate", "correlation", "inside groups", "elsewhere", "separation")),
    ]
    groups: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        groups[row["rule"], row["panel"]].append(row)
    for (rule, panel), members in groups.items():
        correlation, within, elsewhere = (
            np.array([float(row[key]) for row in members]) for key in ("correlation", "within", "elsewhere")
        )
        cells = [panel, f"{correlation.mean():.3f} ± {correlation.std(ddof=1):.3f}"]
        cells += [f"{within.mean():.2f}", f"{elsewhere.mean():.2f}", f"{(within - elsewhere).mean():.2f}"]
        lines.append(line(rule, cells))
    return [*lines, "", made_by(rows), ""]


def versions(row: Mapping[str, str]) -> str:
    """Name the versions behind a row."""
    return ", ".join(f"{name} {row[name]}" for name in ("python", "numpy", "scipy", "scikit-learn"))


def header(first: str, names: Sequence[str]) -> list[str]:
    """Return the head of a table."""
    return [line(first, list(names)), line("---", ["---:"] * len(names))]


def line(first: str, cells: list[str]) -> str:
    """Return a line of a table."""
    return "| " + " | ".join([first, *cells]) + " |"
