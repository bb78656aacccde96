"""The sections of docs/results.md that are not the paper's data sets, from the rows in study/experiments/results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import polars as pl

from manifuse_study.experiments.markdown import as_markdown, header, line, made_by
from manifuse_study.experiments.payoff import MAPS, payoff_grid, payoffs, title_of
from manifuse_study.experiments.plan import EXPERIMENTS
from manifuse_study.experiments.result_figures import draw_payoffs

HERE = Path(__file__).parent


def section(title: str, text: str, lines: Sequence[str], rows: pl.DataFrame) -> list[str]:
    """Return a section: its title, what it shows, the lines of its tables, and which code made their rows."""
    return [f"## {title}", "", text, "", *lines, "", made_by(rows.iter_rows(named=True)), ""]


def groups(rows: pl.DataFrame, *names: str) -> Iterable[tuple[tuple[Any, ...], pl.DataFrame]]:
    """Return the rows with each combination of values of some columns, in order of first appearance."""
    return rows.partition_by(names, as_dict=True, maintain_order=True).items()


def payoff(rows: pl.DataFrame) -> list[str]:
    """Show when references pay, and draw it."""
    maps = {title_of(*of): found for of in MAPS if (found := payoffs(rows, *of))}
    figure = draw_payoffs(maps)
    # With names that are the same in every run.
    with matplotlib.rc_context({"svg.hashsalt": "manifuse"}):
        figure.savefig(HERE / "results" / "map.svg", metadata={"Date": None})
    figure.savefig(HERE / "results" / "map.png", dpi=110)
    trials = max(cell.trials for found in maps.values() for cell in found.values())
    text = (
        "![Gains by the number of labels and of pairs, a column for each data set]"
        "(../study/experiments/results/map.png)\n\n"
        f"Labels by pairs, in the mean over tasks and up to {trials} trials, in points of ranking accuracy (of a "
        "regression, in hundredths of the unit of its root mean squared error). The three numbers of a cell are what "
        "JMD gains over the predictor alone, over the best rival without references, which the last column names, and "
        "over JMD without references: what references are worth. Without labels no rival "
        "has anything to learn from, and without references JMD is the predictor alone. The main table, its ranker "
        "and the test rows of a split are the same in all its cells."
    )
    tables = [f"### {title}\n\n{as_markdown(payoff_grid(found))}" for title, found in maps.items()]
    return section("When references pay", text, ["\n\n".join(tables)], rows)


def simulated(rows: pl.DataFrame) -> list[str]:
    """Show what refining does to problems that are made to mislead."""
    text = (
        f"{rows['seed'].n_unique()} problems of each family (`study/experiments/simulated.py`): six references, 100 "
        "pairs and 600 main rows. The numbers are how many refinements were accepted, the mean gain of these on rows "
        "without a label, and how many of them are worse there by more than a point; with 50 labels also what these "
        "reported less what they gained, with the standard error of the mean. Points of ranking accuracy."
    )
    lines = header("family", "no labels", "gain", "worse", "50 labels", "gain", "worse", "reported less true")
    for (family,), members in groups(rows, "family"):
        cells = []
        for labels in (0, 50):
            taken = members.filter(pl.col("accepted"), labels=labels)
            gains = 100 * (taken["accuracy"] - taken["alone"]).to_numpy()
            mean = f"{gains.mean():+.1f}" if len(taken) else "—"
            cells += [str(len(taken)), mean, str((gains < -1.0).sum())]
        excess = 100 * taken["reported"].to_numpy() - gains
        cells.append(f"{excess.mean():+.2f} ± {excess.std(ddof=1) / np.sqrt(len(excess)):.2f}")
        lines.append(line(family, *cells))
    return section("Simulated problems, made to mislead", text, lines, rows)


def calibration(rows: pl.DataFrame) -> list[str]:
    """Show how often pairs of test rows are ordered rightly, by the probability that was said."""
    text = (
        "Pairs of test rows by the probability, in %, with which they are said to be ordered rightly, and how many of "
        "100 are. The calibration error is how far the two are apart, in points, on average over pairs and ten bins. "
        "Ten splits, all tasks whose refinement was accepted (`study/experiments/calibration.py`)."
    )
    ends = ("50 to 60", "60 to 70", "70 to 80", "80 to 90", "90 to 100")
    lines, held = header("said, %", *ends, "calibration error"), []
    for (what, dataset), members in groups(rows, "what", "dataset"):
        title = EXPERIMENTS[dataset].title
        number, said, right = (members[name].to_numpy() for name in ("number", "expected", "right"))
        if what == "intervals":
            share = 100 * np.average(right, weights=number)
            held += ["", f"{title}, as a regression: {share:.1f} of 100 intervals of 90 % hold the truth."]
            continue
        places = np.minimum((20 * (said - 0.5)).astype(int), 9)
        pairs, sure, true = (np.bincount(places, of, 10) for of in (number, number * said, number * right))
        both = (each.reshape(5, 2).sum(axis=1).tolist() for each in (true, pairs))
        cells = [f"{100 * rightly / of:.0f}" if of else "—" for rightly, of in zip(*both, strict=True)]
        lines.append(line(title, *cells, f"{100 * np.abs(sure - true).sum() / pairs.sum():.1f}"))
    return section("Whether standard errors are right", text, [*lines, *held], rows)


def ablation(rows: pl.DataFrame) -> list[str]:
    """Show what every choice gains or loses, on the splits on which it was made."""
    text = (
        "JMD whose labels only tune, on seeds 0 to 4, on which the defaults were chosen; in the second and the third "
        "line labels teach. The tables above are on other splits. Mean accuracy over tasks and splits, in %, and mean "
        "number of rounds."
    )
    lines = header("variant", "HW, labels", "rounds", "HW, none", "digits, labels", "rounds", "digits, none")
    for (variant,), members in groups(rows, "variant"):
        cells = []
        for dataset in ("hw", "digits"):
            for labelled in (True, False):
                chosen = members.filter(dataset=dataset, labelled=labelled)
                cells.append(f"{100 * chosen['accuracy'].to_numpy().mean():.2f}" if len(chosen) else "")
                if labelled:
                    cells.append(f"{chosen['rounds'].to_numpy().mean():.1f}" if len(chosen) else "")
        lines.append(line(variant, *cells))
    hw, digits = (100 * rows.filter(dataset=name)["ind"].to_numpy().mean() for name in ("hw", "digits"))
    lines += ["", f"Ind on these splits: HW {hw:.2f}, digits {digits:.2f}."]
    return section("One choice changed at a time", text, lines, rows)


def cut(rows: pl.DataFrame) -> list[str]:
    """Show what is lost if references are cut to ids and scores of the common rows."""
    lines = header("points lost", "without labels", "with labels")
    for (dataset,), members in groups(rows, "dataset"):
        cells = []
        for _, chosen in groups(members.sort("labelled", maintain_order=True), "labelled"):
            lost = [100 * (each["whole"] - each["cut"]).to_numpy() for _, each in groups(chosen, "seed")]
            means = np.array([each.mean() for each in lost])
            cells.append(f"{means.mean():z.1f} ± {means.std(ddof=1) / np.sqrt(len(means)):.1f}")
        lines.append(line(EXPERIMENTS[dataset].title, *cells))
    return [*lines, "", made_by(rows.iter_rows(named=True))]


def toy(rows: pl.DataFrame) -> list[str]:
    """Show how well every rule estimates the metric of the toy tasks."""
    text = (
        "![True metric, metric over the first bridges, metric after joint diffusion]"
        "(../study/experiments/results/toy.png)\n\n"
        "Seed 0 under the held-out rule. The table is over ten seeds: correlation of the estimated with the true "
        "metric (mean ± standard deviation), mean alignment inside the two groups and elsewhere (true values near "
        "0.96 and 0.1). No labels are used."
    )
    lines = header("rule", "estimate", "correlation", "inside groups", "elsewhere", "separation")
    for (rule, panel), members in groups(rows, "rule", "panel"):
        correlation, within, elsewhere = (members[key].to_numpy() for key in ("correlation", "within", "elsewhere"))
        cells = [panel, f"{correlation.mean():.3f} ± {correlation.std(ddof=1):.3f}"]
        cells += [f"{within.mean():.2f}", f"{elsewhere.mean():.2f}", f"{(within - elsewhere).mean():.2f}"]
        lines.append(line(rule, *cells))
    return section("Toy tasks (section 3.1)", text, lines, rows)
