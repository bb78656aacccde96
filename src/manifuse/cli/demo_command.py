"""``manifuse demo``: predictors of handwritten digits refined by each other, as tables, and the report on one."""

from itertools import count
from pathlib import Path

from manifuse.cli.console import answer, progress
from manifuse.datasets.digit_views import VIEWS
from manifuse.grid import as_text
from manifuse.report.demonstration import accuracy_grid, classifier_grid, demonstrate
from manifuse.report.refinement_page import check_report, write_report
from manifuse.words.wording import COLUMNS

#: Characters of a line of the tables.
WIDTH = 100


def run_demo(out: Path, *, splits: int, seed: int) -> None:
    """Refine rankers and a classifier, print the tables, write the report on the ranker to which references add most.

    Raises
    ------
    InputError
        If the page cannot be written, or is not named like one.
    """
    check_report(out)
    with progress("Refining ...") as tell:
        done, total = count(1), splits * (len(VIEWS) + 1)
        found = demonstrate(VIEWS, splits=splits, seed=seed, tick=lambda: tell(next(done), total))
    most = found.most_helped
    write_report(most, out)
    texts = (
        "Handwritten digits: accuracy on test rows",
        as_text(accuracy_grid(found), width=WIDTH),
        f"The best single predictor has {found.best_single:.1%}.",
        f"What each reference is worth to {most.main.name}, to which references add most",
        as_text(most.relevance.grid, width=WIDTH),
        "\n".join((f"{most.relevance.said_of_worth()};", *COLUMNS)),
        "A classifier of digits: classes that are right",
        as_text(classifier_grid(found), width=WIDTH),
        f"{out} is the report on {most.main.name}.",
    )
    answer("\n\n".join(texts))
