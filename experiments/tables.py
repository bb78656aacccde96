"""Write docs/results.md, and the tables and printed results of other pages, from the rows in experiments/results.

Usage: python experiments/tables.py [--data DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from manifuse.grid import as_markdown
from manifuse.study.datasets.dataset import data_folder
from manifuse.study.experiments.claims import Evidence, judge_claims
from manifuse.study.experiments.comparison import MEAN
from manifuse.study.experiments.payoff import MAPS, payoff_grid, payoffs, title_of
from manifuse.study.experiments.plan import EXPERIMENTS, deviations_of
from manifuse.study.experiments.result_figures import draw_payoffs
from manifuse.study.experiments.results_page import results_page
from manifuse.study.experiments.statistics import Summary, summarise
from manifuse.study.experiments.store import read_rows

HERE = Path(__file__).parent

#: What the README shows of every data set: heading, and the method of the decoupled or the coupled protocol.
COLUMNS = {
    "alone": ("Ind",),
    "smoothed alone": ("self-smoothing",),
    "scores stacked": ("stacking, RankSVM", "impute and stack"),
    "own labels": ("own labels",),
    "refined, no labels": ("JMD, no labels",),
    "refined": ("JMD",),
}

#: What the README shows of HW: method, and how it is described.
SHORT = {
    "Ind": "the predictor alone",
    "impute and stack": "others' scores predicted from own features (impute and stack)",
    "self-smoothing": "smoothed over its own graph, no reference, tuned on the labels",
    "own labels": "learned from 200 labels, own features and own scores, no reference",
    "JMD, no labels": "**refined, no labels at all**",
    "JMD": "**refined, 200 labels that teach**",
    "coupled oracle": "oracle: every reference known on all rows (features unused)",
}


#: The rivals that the comparison shows, by what they do; of two names, the one that a protocol has.
RIVALS = {
    "the predictor alone": ("Ind",),
    "smoothing over own features": ("self-smoothing",),
    "label spreading": ("label spreading",),
    "learning from own labels": ("own labels",),
    "stacking (coupled), impute and stack": ("stacking, RankSVM", "impute and stack"),
    "imputing by a random forest, and averaging": ("forest and average",),
    "retraining, with the training rows": ("retrained",),
}


def main() -> None:
    """Write the page and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None)
    folder = data_folder(parser.parse_args().data)
    summaries = summarise(read_rows(HERE / "results" / "paper"))
    findings = judge_claims(Evidence(summaries, seconds_of_30475_rows()))
    parts = [
        "# Results",
        "",
        "Written by `scripts/reproduce` from the rows in `experiments/results/`; each row holds its seed, the commit "
        "of the code and the versions. Accuracy is the share of correctly ordered pairs on test rows, which are used "
        "for nothing else.",
        "",
        results_page("results.md", summaries, findings, deviations_of(summaries, folder)).rstrip(),
        "",
        *(payoff(read("map")) if (HERE / "results" / "map.csv").exists() else []),
        *simulated(read("simulated")),
        *calibration(read("calibration")),
        *toy(read("toy")),
        *ablation(read("ablation")),
    ]
    (HERE.parent / "docs" / "results.md").write_text("\n".join(parts), encoding="utf-8")
    readme = HERE.parent / "README.md"
    text = readme.read_text(encoding="utf-8")
    text = replaced(text, "hw", short(summaries["hw"]))
    text = replaced(text, "all", overview(summaries))
    readme.write_text(replaced(text, "clinics", printed(text, "clinics")), encoding="utf-8")
    index, compare = (HERE.parent / "docs" / name for name in ("index.md", "compare.md"))
    text = index.read_text(encoding="utf-8")
    index.write_text(replaced(text, "clinics", printed(text, "clinics")), encoding="utf-8")
    text = compare.read_text(encoding="utf-8")
    text = replaced(text, "gains", gains(summaries))
    text = replaced(text, "unlabelled", unlabelled(summaries))
    compare.write_text(replaced(text, "rivals", printed(text, "rivals")), encoding="utf-8")


def replaced(text: str, mark: str, lines: list[str]) -> str:
    """Replace the lines between two marks of a text."""
    head, _, rest = text.partition(f"<!-- {mark} -->\n")
    _, _, tail = rest.partition(f"<!-- /{mark} -->")
    return "\n".join([f"{head}<!-- {mark} -->", *lines, f"<!-- /{mark} -->{tail}"])


def printed(text: str, mark: str) -> list[str]:
    """Run the last Python block before a mark, and return what it prints, as a block."""
    block = text.partition(f"<!-- {mark} -->")[0].rpartition("```python\n")[2].partition("```")[0]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(block, mark, "exec"), {})
    return ["```text", *said.getvalue().rstrip().splitlines(), "```"]


def gains(summaries: Mapping[str, Summary]) -> list[str]:
    """Return the first table of the comparison: what JMD gains over every rival, on every data set."""
    lines = header("gains over", tuple(summary.title for summary in summaries.values()))
    for name, methods in RIVALS.items():
        cells = []
        for summary in summaries.values():
            method = next((each for each in methods if each in summary.methods), None)
            cells.append("—" if method is None else f"{100 * difference(summary, method):+.1f}")
        lines.append(line(name, cells))
    return lines


def difference(summary: Summary, rival: str) -> float:
    """Mean of JMD less the mean of a rival."""
    return summary.spread("JMD", MEAN).mean - summary.spread(rival, MEAN).mean


def unlabelled(summaries: Mapping[str, Summary]) -> list[str]:
    """Return the second table of the comparison: accuracy without labels."""
    lines = header("accuracy, %", ("alone", "scores averaged", "refined"))
    for summary in summaries.values():
        average = next(each for each in ("mean", "impute and average") if each in summary.methods)
        cells = [f"{100 * summary.spread(each, MEAN).mean:.1f}" for each in ("Ind", average, "JMD, no labels")]
        lines.append(line(summary.title, cells))
    return lines


def seconds_of_30475_rows() -> float:
    """Return the time of a whole tuned coupled run, which `make perf` measured."""
    with (HERE.parent / "perf" / "results.csv").open(encoding="utf-8") as file:
        (row,) = [row for row in csv.DictReader(file) if row["work"].startswith("refine as published")]
    return float(row["ours"])


def read(name: str) -> list[dict[str, str]]:
    """Return the rows of one results file."""
    with (HERE / "results" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def short(summary: Summary) -> list[str]:
    """Return the first table of the README: mean accuracy over tasks and trials on one data set."""
    lines = header(f"{summary.title}, decoupled", ("accuracy, %",))
    for method, name in SHORT.items():
        lines.append(line(name, [f"{100 * summary.spread(method, MEAN).mean:.1f}"]))
    return lines


def overview(summaries: Mapping[str, Summary]) -> list[str]:
    """Return the second table of the README: mean accuracy over tasks and trials on every data set."""
    lines = header("accuracy, %", tuple(COLUMNS))
    for summary in summaries.values():
        cells = []
        for methods in COLUMNS.values():
            method = next(method for method in methods if method in summary.methods)
            found = summary.spread(method, MEAN)
            fewer = f" ({found.trials} trials)" if found.trials < len(summary.trials) else ""
            cells.append(f"{100 * found.mean:.1f}{fewer}")
        title = summary.title if "decoupled" in summary.title else f"{summary.title}, {summary.protocol}"
        lines.append(line(title, cells))
    return lines


def payoff(rows: list[dict[str, str]]) -> list[str]:
    """Show when references pay, and draw it."""
    maps = {title_of(*of): found for of in MAPS if (found := payoffs(rows, *of))}
    figure = draw_payoffs(maps)
    figure.savefig(HERE / "results" / "map.svg", metadata={"Date": None})
    figure.savefig(HERE / "results" / "map.png", dpi=110)
    trials = max(cell.trials for found in maps.values() for cell in found.values())
    lines = [
        "## When references pay",
        "",
        "![Gains by the number of labels and of pairs, a column for each data set](../experiments/results/map.png)",
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
    return [*lines, f"Commit {rows[0]['commit']}, {versions(rows[0])}.", ""]


def simulated(rows: list[dict[str, str]]) -> list[str]:
    """Show what refining does to problems that are made to mislead."""
    count = len({row["seed"] for row in rows})
    lines = [
        "## Simulated problems, made to mislead",
        "",
        f"{count} problems of each family (`experiments/simulated.py`): six references, 100 pairs, 600 main rows. The "
        "numbers are how many refinements were accepted, the mean gain of these on rows without a label, and how many "
        "of them are worse there by more than a point; with 50 labels also what these reported less what they gained, "
        "with the standard error of the mean. Points of ranking accuracy.",
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
    return [*lines, "", f"Commit {rows[0]['commit']}, {versions(rows[0])}.", ""]


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
        "Ten splits, all tasks whose refinement was accepted (`experiments/calibration.py`).",
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
    return [*lines, "", *held, f"Commit {rows[0]['commit']}, {versions(rows[0])}.", ""]


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
    return [*lines, "", f"Commit {rows[0]['commit']}, {versions(rows[0])}.", ""]


def toy(rows: list[dict[str, str]]) -> list[str]:
    """Show how well every rule estimates the metric of the toy tasks."""
    lines = [
        "## Toy tasks (section 3.1)",
        "",
        "![True metric, metric over the first bridges, metric after joint diffusion](../experiments/results/toy.png)",
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
    return [*lines, "", f"Commit {rows[0]['commit']}, {versions(rows[0])}.", ""]


def versions(row: dict[str, str]) -> str:
    """Name the versions behind a row."""
    return ", ".join(f"{name} {row[name]}" for name in ("python", "numpy", "scipy", "scikit-learn"))


def header(first: str, names: tuple[str, ...]) -> list[str]:
    """Return the head of a table."""
    return [line(first, list(names)), line("---", ["---:"] * len(names))]


def line(first: str, cells: list[str]) -> str:
    """Return a line of a table."""
    return "| " + " | ".join([first, *cells]) + " |"


if __name__ == "__main__":
    main()
