"""The command lines of the scripts in ``study/experiments``, and how they run an experiment."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from manifuse_study.datasets.dataset import data_folder
from manifuse_study.experiments.drawn import DRAWN
from manifuse_study.experiments.plan import EXPERIMENTS, FIRST_SEED
from manifuse_study.experiments.rows import read_csv, write_rows
from manifuse_study.experiments.trial import Case, Trial

Rows = Iterable[Mapping[str, object]]

#: The name of a table, the seed of a problem, and a function that draws it.
Drawn = tuple[str, int, Callable[[], Any]]


def parser_of(description: str | None, out: Path) -> ArgumentParser:
    """Return the options that every script has: the data folder, and the file to write in place of ``out``."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--out", type=Path, default=out)
    return parser


def run_by_set(
    run: Callable[[str, Path, int], Rows],
    out: Path,
    sets: Sequence[str],
    *,
    trials: int,
    first: int = FIRST_SEED,
    column: str = "dataset",
    description: str | None,
) -> None:
    """Read the options of a script, run every split that is asked for, and write its rows beside those of other sets.

    Parameters
    ----------
    run : callable
        From the name of a set, the data folder and a seed to the rows of one split.
    out : Path
        The CSV file to write, unless an option names another.
    sets : sequence of str
        The sets to run if none is named; rows are written in their order.
    trials, first : int
        How many splits, and the seed of the first, unless options say otherwise.
    column : str
        Where a row has the name of its set.
    description : str or None
        Of the script, for its help.
    """
    parser = parser_of(description, out)
    parser.add_argument("sets", nargs="*", default=sets)
    parser.add_argument("--trials", type=int, default=trials)
    parser.add_argument("--first", type=int, default=first, help="seed of the first split")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    folder, seeds = data_folder(options.data), range(options.first, options.first + options.trials)
    known = read_csv(options.out) if options.out.exists() else []
    before = [row for row in known if row[column] not in options.sets]
    places = {name: place for place, name in enumerate(sets)}
    jobs = (delayed(run)(name, folder, seed) for name in options.sets for seed in seeds)
    # One part: if the run is killed, the rows of before stay.
    parts = [chain.from_iterable(Parallel(n_jobs=options.jobs, verbose=5)(jobs))]
    write_rows(options.out, parts, before, place=lambda row: places.get(str(row[column]), len(places)))


def cases_of(name: str, folder: Path, seed: int) -> list[Case]:
    """Prepare one split of an experiment of the plan, and return its tasks."""
    experiment = EXPERIMENTS[name]
    trial = Trial.prepare(experiment.load(folder), experiment.protocol, seed)
    return [Case(trial, task) for task in trial.dataset.tasks]


def run_by_problem(
    run: Callable[[Any], Rows], out: Path, drawn: Callable[[Path], Iterable[Drawn]], *, description: str | None
) -> None:
    """Read the options of a script, run every problem, and write its rows.

    Parameters
    ----------
    run : callable
        From a problem to its rows.
    out : Path
        The CSV file to write, unless an option names another.
    drawn : callable
        From the data folder to problems.
    description : str or None
        Of the script, for its help.
    """
    options = parser_of(description, out).parse_args()
    problems = drawn(data_folder(options.data))
    write_rows(
        options.out,
        ([{"table": name, "seed": seed, **row} for row in run(draw())] for name, seed, draw in problems),
    )


def drawn_from(kind: str, folder: Path, trials: Iterable[int]) -> Iterator[Drawn]:
    """Problems of one kind of `DRAWN`, trial by trial."""
    for trial in trials:
        for name, (draw, seed) in DRAWN[kind].problems(folder, trial).items():
            yield name, seed, draw
