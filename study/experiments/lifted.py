"""Let references lift ten common rows on purpose, write a row for each problem, and the table of docs/governance.md.

Usage: python study/experiments/lifted.py [--data DIR]

The problems are the first 60 of the development seeds that have labels and three references or more.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

import manifuse as mf
from manifuse.evidence.neighbourhood import percentiles_of
from manifuse.kernels.arrays import IndexArray
from manifuse_study.datasets.dataset import data_folder
from manifuse_study.datasets.partners import Partners, with_scores
from manifuse_study.experiments.markdown import header, line, replace_parts
from manifuse_study.experiments.rows import read_frame, write_rows
from manifuse_study.experiments.scripts import drawn_from, parser_of

HERE = Path(__file__).parent
OUT, PAGE = HERE / "results" / "lifted.csv", HERE.parents[1] / "docs" / "governance.md"

PROBLEMS, REFERENCES, LIFTED, LABELS = 60, 3, 10, 50

#: How many of the three references lift the rows, and what that is called.
LIFTING = {1: "one reference of three", REFERENCES: "three references that agree to do so"}


def main() -> None:
    """Write the rows and the table."""
    options = parser_of(__doc__, OUT).parse_args()
    drawn = islice(problems(data_folder(options.data)), PROBLEMS)
    write_rows(options.out, ([row_of(problem)] for problem in drawn))
    replace_parts(PAGE, {"lifted": lines(options.out)})


def problems(folder: Path) -> Iterator[Partners]:
    """Draw problems that have labels and enough references, trial by trial."""
    for _, _, draw in drawn_from("tables", folder, range(4)):
        problem = draw()
        if problem.labels is not None and len(problem.references) >= REFERENCES:
            yield problem


def row_of(problem: Partners) -> dict[str, object]:
    """Return by how many percentiles the rows are lifted, and others moved, with labels and without."""
    ours, honest, labels = problem.main, list(problem.references[:REFERENCES]), problem.labels
    assert labels is not None, "there are labels"
    assert labels.grades is not None, "labels are graded"
    known = mf.RankLabels(labels.keys[:LABELS], labels.grades[:LABELS])
    common = np.flatnonzero(np.isin(ours.keys, honest[0].keys))
    low = common[np.argsort(ours.scores[common])][: max(LIFTED, len(common) // 4)]
    chosen = np.random.default_rng(0).choice(low, LIFTED, replace=False)
    others, row = np.setdiff1d(np.arange(len(ours)), chosen), {"main": ours.name, "common": len(common)}
    for what, given in (("none", None), ("labels", known)):
        plain = mf.refine(ours, honest, given, rng=0)
        before, row[f"named 0 {what}"] = percentiles_of(plain.scores), len(plain.evidence.unexplained)
        for count in LIFTING:
            forged = [lifted(each, ours, chosen) for each in honest[:count]]
            result = mf.refine(ours, [*forged, *honest[count:]], given, rng=0)
            moved = percentiles_of(result.scores) - before
            row |= {
                f"lifted {count} {what}": moved[chosen].mean(),
                f"others {count} {what}": np.abs(moved[others]).mean(),
                f"named {count} {what}": int(np.isin(ours.keys[chosen], result.evidence.unexplained).sum()),
            }
    return row


def lifted(table: mf.Observations, ours: mf.Observations, chosen: IndexArray) -> mf.Observations:
    """Return a reference that gives its highest score to chosen main rows."""
    scores = table.scores.copy()
    scores[np.isin(table.keys, ours.keys[chosen])] = scores.max()
    return with_scores(table, scores)


def lines(path: Path) -> list[str]:
    """Return the table of the page from the rows: mean, and 95 % quantile."""
    rows = read_frame(path)
    made = header("lifted by, in percentiles, mean (95 % quantile)", "no labels", "50 honest labels")
    for count, name in LIFTING.items():
        values = [rows[f"lifted {count} {what}"].to_numpy() for what in ("none", "labels")]
        made.append(line(name, *(f"{each.mean():.0f} ({np.quantile(each, 0.95):.0f})" for each in values)))
    return made


if __name__ == "__main__":
    main()
