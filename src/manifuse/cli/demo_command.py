"""``manifuse demo``: predictors of handwritten digits refined by each other, as tables, and the report on one."""

from itertools import count
from pathlib import Path

from manifuse.cli.console import answer, progress
from manifuse.datasets.digit_views import VIEWS
from manifuse.grid import as_text
from manifuse.report.demonstration import (
    accuracy_grid,
    classifier_grid,
    demonstrate,
    relevance_grid,
)
from manifuse.report.refinement_page import check_report, write_report
from manifuse.words.wording import COLUMNS

#: Characters of a line of the tables.
WIDTH = 100


def run_demo(out: Path, *, splits: int, seed: int) -> None:
    """Refine rankers and a classifier, print the tables, write the report on the ranker that gains most.

    Raises
    ------
    InputError
        If the page cannot be written, or is not named like one.
    """
    check_report(out)
    with progress("Refining ...") as tell:
        done, total = count(1), splits * (len(VIEWS) + 1)
        found = demonstrate(VIEWS, splits=splits, seed=seed, tick=lambda: tell(next(done), total))
    write_report(found.most_refined, out)
    texts = (
        "Handwritten digits: accuracy on test rows",
        as_text(accuracy_grid(found), width=WIDTH),
        f"The best single predictor has {found.best_single:.1%}.",
        "What each reference is worth to the others, in points of accuracy, in the mean of all predictors",
        as_text(relevance_grid(found), width=WIDTH),
        "\n".join(("worth: what is lost without it, ± one standard error;", *COLUMNS)),
        "A classifier of digits: classes that are right",
        as_text(classifier_grid(found), width=WIDTH),
        f"{out} is the report on {found.most_refined.main.name}, which gains most.",
    )
    answer("\n\n".join(texts))
