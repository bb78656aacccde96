"""``manifuse demo``: the decoupled protocol on handwritten digits, as tables and as a page."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from manifuse.cli.console import people
from manifuse.errors import InputError
from manifuse.files import check_writable
from manifuse.grid import as_table
from manifuse.report.markup import write_page
from manifuse.study.datasets.catalogue import CATALOGUE
from manifuse.study.datasets.dataset import data_folder
from manifuse.study.experiments.demonstration import (
    SHOWN,
    accuracy_grid,
    demonstrate,
    demonstration_page,
    lessons,
    relevance_grid,
)
from manifuse.words.wording import COLUMNS


def run_demo(name: str, data: Path | None, out: Path, *, splits: int, seed: int) -> None:
    """Run the protocol, print the tables, write the page.

    Raises
    ------
    InputError
        If the data set is unknown or not there, or the page cannot be written.
    """
    if name not in ("digits", "hw"):
        raise InputError(f"--dataset {name} came, but digits or hw was expected.")
    check_writable(out)
    dataset = CATALOGUE[name].load(data_folder(data))
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=people, transient=True) as progress:
        # Training a ranker takes about as long as running one method.
        total = splits * len(dataset.tasks) * (1 + len(SHOWN))
        work = progress.add_task("training rankers, refining", total=total)
        found = demonstrate(dataset, splits=splits, seed=seed, tick=lambda: progress.advance(work))
    write_page(out, demonstration_page(found))
    console = Console(width=100)
    console.print(as_table(accuracy_grid(found), title=f"{dataset.title}: accuracy on test rows"))
    console.print(f"best single predictor: {found.best_single:.1%}", highlight=False)
    for sentence in lessons(found):
        console.print(sentence, highlight=False)
    title = "What each reference is worth to the others, in points of accuracy, mean over main predictors"
    console.print(as_table(relevance_grid(found), title=title))
    for explanation in ("worth: what is lost without it, ± one standard error;", *COLUMNS):
        console.print(explanation, highlight=False)
    console.print(f"The page with the pictures is {out}.", highlight=False, markup=False)
