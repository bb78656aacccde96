"""Write docs/results.md, and the tables and printed results of other pages, from the rows in `results`.

Usage: python study/experiments/tables.py [--data DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Mapping
from pathlib import Path

import polars as pl
from classifiers import of_classes, of_risks
from ordinary import circumstances, gates, ordinary, shapes, short_of_tables
from sections import ablation, calibration, cut, payoff, simulated, toy

from manifuse_study.datasets.dataset import data_folder
from manifuse_study.experiments.claims import Evidence, judge_claims
from manifuse_study.experiments.comparison import MEAN
from manifuse_study.experiments.markdown import header, line, replace_parts
from manifuse_study.experiments.plan import deviations_of
from manifuse_study.experiments.results_page import results_page
from manifuse_study.experiments.rows import read_csv, read_frame
from manifuse_study.experiments.statistics import Summary, summarise
from manifuse_study.experiments.store import read_rows

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
        "Written by `scripts/reproduce` from the rows in `study/experiments/results/`; each holds its seed, the "
        "commit of the code and the versions. Accuracy is the share of correctly ordered pairs on test rows, which "
        "are used for nothing else. In the tables of images, *Ind* is the predictor alone, and *JMD* is `refine` as "
        "it ships. *JMD, as published* is the paper's Algorithm 1, and in *JMD, only tuned* labels choose its "
        "settings and do not teach. *MTL*, *TPC* and stacking by RankSVM are rivals of [the paper](paper.md). *Own "
        "labels* is a model of your features and scores that learns the labels, and *self-smoothing* averages your "
        "scores over rows with similar features. For the *coupled oracle* every reference knows all rows. "
        "[Rivals](compare.md) explains the others.",
        "",
        *ordinary(read_rows(HERE / "results" / "tables")),
        results_page("results.md", summaries, findings, deviations_of(summaries, folder)).rstrip(),
        "",
        *payoff(read("map")),
        *shapes(read("shapes")),
        *circumstances(read("circumstances")),
        *gates(read("gates")),
        *simulated(read("simulated")),
        *calibration(read("calibration")),
        *toy(read("toy")),
        *ablation(read("ablation")),
    ]
    docs, readme = HERE.parents[1] / "docs", HERE.parents[1] / "README.md"
    (docs / "results.md").write_text("\n".join(parts), encoding="utf-8")
    tables = short_of_tables(read_rows(HERE / "results" / "tables"))
    replace_parts(readme, {"tables": tables, "all": overview(summaries), "halves": printed(readme, "halves")})
    replace_parts(docs / "choosing.md", {"cut": cut(read("cut"))})
    results, risks = (read_rows(HERE / "results" / name) for name in ("classes", "risks"))
    replace_parts(docs / "classes.md", {"results": of_classes(results), "risks": of_risks(risks)})
    replace_parts(docs / "index.md", {"clinics": printed(docs / "index.md", "clinics")})
    compare = docs / "compare.md"
    tables = {"gains": gains(summaries), "unlabelled": unlabelled(summaries), "rivals": printed(compare, "rivals")}
    replace_parts(compare, tables)


def printed(page: Path, mark: str) -> list[str]:
    """Run the last Python block before a mark, and return what it prints, as a block."""
    text = page.read_text(encoding="utf-8")
    block = text.partition(f"<!-- {mark} -->")[0].rpartition("```python\n")[2].partition("```")[0]
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(block, mark, "exec"), {})
    return ["```text", *said.getvalue().rstrip().splitlines(), "```"]


def gains(summaries: Mapping[str, Summary]) -> list[str]:
    """Return the first table of the comparison: what JMD gains over every rival, on every data set."""
    lines = header("gains over", *(summary.title for summary in summaries.values()))
    for name, methods in RIVALS.items():
        cells = []
        for summary in summaries.values():
            method = next((each for each in methods if each in summary.methods), None)
            cells.append("—" if method is None else f"{100 * difference(summary, method):+.1f}")
        lines.append(line(name, *cells))
    return lines


def difference(summary: Summary, rival: str) -> float:
    """Mean of JMD less the mean of a rival."""
    return summary.spread("JMD", MEAN).mean - summary.spread(rival, MEAN).mean


def unlabelled(summaries: Mapping[str, Summary]) -> list[str]:
    """Return the second table of the comparison: accuracy without labels."""
    lines = header("accuracy, %", "alone", "scores averaged", "refined")
    for summary in summaries.values():
        average = next(each for each in ("mean", "impute and average") if each in summary.methods)
        cells = [f"{100 * summary.spread(each, MEAN).mean:.1f}" for each in ("Ind", average, "JMD, no labels")]
        lines.append(line(summary.title, *cells))
    return lines


def seconds_of_30475_rows() -> float:
    """Return the time of a whole tuned coupled run, which `make perf` measured."""
    works = read_csv(HERE.parent / "perf" / "results.csv")
    (row,) = [row for row in works if row["work"].startswith("Algorithm 1 as published")]
    return float(row["ours"])


def read(name: str) -> pl.DataFrame:
    """Return the rows of one results file."""
    return read_frame(HERE / "results" / f"{name}.csv")


def overview(summaries: Mapping[str, Summary]) -> list[str]:
    """Return the table of the README: mean accuracy over tasks and trials on every data set."""
    lines = header("accuracy, %", *COLUMNS)
    for summary in summaries.values():
        cells = []
        for methods in COLUMNS.values():
            method = next(method for method in methods if method in summary.methods)
            found = summary.spread(method, MEAN)
            fewer = f" ({found.trials} trials)" if found.trials < len(summary.trials) else ""
            cells.append(f"{100 * found.mean:.1f}{fewer}")
        title = summary.title if "decoupled" in summary.title else f"{summary.title}, {summary.protocol}"
        lines.append(line(title, *cells))
    return lines


if __name__ == "__main__":
    main()
