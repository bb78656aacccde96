"""``manifuse demo``: predictors of handwritten digits refined by each other, as tables and as a page."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from manifuse.cli.console import answer, progress
from manifuse.datasets.digit_views import VIEWS
from manifuse.grid import as_table
from manifuse.report.demonstration import (
    accuracy_grid,
    classifier_grid,
    demonstrate,
    demonstration_page,
    relevance_grid,
)
from manifuse.report.markup import write_page
from manifuse.report.refinement_page import check_report
from manifuse.words.wording import COLUMNS

#: Characters of a line of the tables.
WIDTH = 100


def run_demo(out: Path, *, splits: int, seed: int) -> None:
    """Refine rankers and a classifier, print the tables, write the page.

    Raises
    ------
    InputError
        If the page cannot be written, or is not named like one.
    """
    check_report(out)
    with progress("Refining ...") as tell:
        done, total = count(1), splits * (len(VIEWS) + 1)
        found = demonstrate(VIEWS, splits=splits, seed=seed, tick=lambda: tell(next(done), total))
    write_page(out, demonstration_page(found))
    answer(as_table(accuracy_grid(found), title="Handwritten digits: accuracy on test rows"), width=WIDTH)
    answer(f"best single predictor: {found.best_single:.1%}")
    title = "What each reference is worth to the others, in points of accuracy, mean over main predictors"
    answer(as_table(relevance_grid(found), title=title), width=WIDTH)
    for sentence in ("worth: what is lost without it, ± one standard error;", *COLUMNS):
        answer(sentence)
    answer(as_table(classifier_grid(found), title="A classifier of digits: classes that are right"), width=WIDTH)
    answer(f"The page with the pictures is {out}.")
