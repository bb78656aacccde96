"""The data sets of the study as examples: what `manifuse.datasets.load` calls, by an entry point."""

from __future__ import annotations

from pathlib import Path

from manifuse.datasets import Example, two_sides
from manifuse.errors import look_up
from manifuse.tables.labels import RankLabels
from manifuse_study.datasets.catalogue import CATALOGUE
from manifuse_study.datasets.dataset import data_folder


def load_example(
    name: str, task: str | None, *, labels: int, seed: int, folder: Path | str | None
) -> Example[RankLabels]:
    """Load a data set of the catalogue as two sides; see `manifuse.datasets.load`."""
    source = look_up(name, CATALOGUE, kind="data set")
    dataset = source.load(data_folder(None if folder is None else Path(folder)))
    tasks = {each: (known.features, known.labels) for each, known in dataset.tasks.items()}
    return two_sides(name, tasks, task, labels=labels, seed=seed)
