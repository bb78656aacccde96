"""``manifuse reproduce``: the paper's experiments, resumable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from manifuse import __version__
from manifuse.cli.console import people, say
from manifuse.errors import InputError, require
from manifuse.study.datasets.catalogue import CATALOGUE
from manifuse.study.datasets.dataset import data_folder
from manifuse.study.experiments.engine import PROCESSES, check_engine
from manifuse.study.experiments.plan import Experiment, experiments_named, methods_named
from manifuse.study.experiments.runner import Plan, Progress, run
from manifuse.study.experiments.store import Store


def run_reproduce(
    names: Sequence[str],
    methods: Sequence[str],
    out: Path,
    data: Path | None,
    *,
    trials: int,
    jobs: int,
    engine: str = PROCESSES,
) -> int:
    """Run what the store lacks of the experiments named, or of all whose data are there.

    Returns
    -------
    int
        Rows with status failed among those written.

    Raises
    ------
    InputError
        If a name is unknown, the data folder or a data set named is missing, or the results folder cannot be used.
    OutputError
        If the disk is full.
    """
    require("torch", extra="deep", purpose="The deep ranker among the paper's rankers")
    check_engine(engine)
    folder = data_folder(data)
    wanted = [experiment for experiment in experiments_named(names) if _is_there(experiment, folder, bool(names))]
    plan = Plan(wanted, methods_named(methods), trials, folder.absolute(), jobs, engine)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Store(out, version=__version__) as store, Bar(*columns, console=people) as bar:
        if store.was_cut:
            say(f"The last row in {out} was cut short by a run that was killed; its task is run again.")
        before = len(store.keys)
        work = bar.add_task("starting", total=None)
        totals = run(
            plan,
            store,
            Progress(
                total=lambda total: bar.update(work, total=total),
                step=lambda what: bar.update(work, advance=1, description=what),
            ),
        )
    say(
        f"{totals.rows} rows written to {out} beside {before} from before, {totals.failed} of them failed; "
        f"{totals.seconds:.0f} s, at most {totals.peak_gib:.1f} GiB."
    )
    return totals.failed


def _is_there(experiment: Experiment, folder: Path, named: bool) -> bool:
    """Whether the data are there; if not, and the experiment was asked for, the loader says what is missing."""
    entry = CATALOGUE[experiment.dataset]
    if named and not entry.is_there(folder):
        entry.load(folder)  # which refuses, and says what is missing
    if named or entry.is_there(folder):
        return True
    if not folder.is_dir():
        raise InputError(
            f"The data folder {folder} is not there; name another with --data or MANIFUSE_DATA, or only 'digits'."
        )
    say(f"{experiment.name} is left out: {entry.title} is not in {folder} ('manifuse datasets check' says more).")
    return False
