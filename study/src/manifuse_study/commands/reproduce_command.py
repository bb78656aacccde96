"""``manifuse reproduce``: the paper's experiments. A run that was stopped can be continued."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from manifuse import __version__
from manifuse.cli.console import answer, people, say
from manifuse.errors import InputError, require
from manifuse_study.datasets.catalogue import CATALOGUE
from manifuse_study.datasets.dataset import data_folder
from manifuse_study.experiments.drawn import DRAWN, methods_on, missing_draws, run_draws
from manifuse_study.experiments.methods import METHODS
from manifuse_study.experiments.plan import Experiment, experiments_named, methods_named
from manifuse_study.experiments.runner import missing_jobs, run
from manifuse_study.experiments.store import open_store
from manifuse_study.experiments.workers import workers


def run_reproduce(
    names: Sequence[str], methods: Sequence[str], out: Path, data: Path | None, *, trials: int, jobs: int, engine: str
) -> int:
    """Run what the store lacks of the experiments named; without names, of all of the paper whose data are there.

    Returns
    -------
    int
        How many of the rows written have status failed.

    Raises
    ------
    InputError
        If a name is unknown, the data folder or a data set named is missing, or the results folder cannot be used.
    OutputError
        If the disk is full.
    """
    folder, wanted = data_folder(data), []
    others, drawn = ([name for name in names if (name in DRAWN) is is_drawn] for is_drawn in (False, True))
    known = [*(METHODS if others or not names else ()), *methods_on(drawn)]
    chosen = methods_named(methods, known)
    if others or not names:
        require("torch", extra="deep", purpose="The deep ranker among the paper's rankers", of="manifuse-study")
        named = experiments_named(others, DRAWN)
        wanted = [experiment for experiment in named if _is_there(experiment, folder, bool(names))]
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
        console=people,
    )
    start, written = time.perf_counter(), []
    with workers(engine, jobs) as each, open_store(out, version=__version__) as store, bar:
        if store.was_cut:
            say(f"The last row in {out} was cut short because a run was killed; its task is run again.")
        before = len(store.keys)
        missing = missing_jobs(wanted, [name for name in METHODS if name in chosen], trials, folder.absolute(), store)
        draws = missing_draws(folder.absolute(), drawn, chosen, trials, store.keys)
        work = bar.add_task("starting", total=2 * sum(map(len, missing)) + len(draws))
        for step, rows in chain(run(missing, store, each), run_draws(draws, store, each)):
            bar.update(work, advance=1, description=step)
            written += rows
    failed = sum(row.status == "failed" for row in written)
    answer(
        f"{len(written)} rows written to {out} beside {before} from before, {failed} of them failed; "
        f"{time.perf_counter() - start:.0f} s."
    )
    return failed


def _is_there(experiment: Experiment, folder: Path, named: bool) -> bool:
    """Whether the data are there; if not and the experiment was named, the loader says what is missing."""
    entry = CATALOGUE[experiment.dataset]
    if entry.is_there(folder):
        return True
    if named:
        entry.load(folder)  # refuses, and says what is missing
    if not folder.is_dir():
        raise InputError(
            f"The data folder {folder} is not there; name another with --data or MANIFUSE_DATA, or only 'digits'."
        )
    say(f"{experiment.name} is left out: {entry.title} is not in {folder} ('manifuse datasets check' says more).")
    return False
