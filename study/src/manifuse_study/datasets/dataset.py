"""Dataset: rows that several tasks describe, each task with its features and its graded truth."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from platformdirs import user_data_path

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Task:
    """One thing to predict for every row.

    Attributes
    ----------
    features : (n, d) array
    labels : (n,) array
        Graded truth, larger is better.
    """

    features: FloatArray
    labels: FloatArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows and their tasks; row i is the same thing in every task.

    Attributes
    ----------
    name, title : str
        The name that the command line uses, and one line for tables and figures.
    tasks : mapping of str to Task
    deviations : tuple of str
        How these data differ from the paper's, a sentence each.
    checksums : mapping of str to str
        SHA-256 of every file that was read, by its path in the data folder.

    Raises
    ------
    InputError
        If the tasks have different numbers of rows, a value is not a finite number, or all labels of a task are
        equal.
    """

    name: str
    title: str
    tasks: Mapping[str, Task]
    deviations: tuple[str, ...] = ()
    checksums: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = {len(table) for task in self.tasks.values() for table in (task.features, task.labels)}
        if len(rows) != 1:
            raise InputError(
                f"The tables of {self.name} have {sorted(rows)} rows, but all must have the same number; "
                "get its files again."
            )
        for task_name, task in self.tasks.items():
            if not (np.isfinite(task.features).all() and np.isfinite(task.labels).all()):
                raise InputError(
                    f"{self.name} has values in {task_name} that are not finite numbers; get its files again."
                )
            if len(np.unique(task.labels)) < 2:
                raise InputError(
                    f"All labels of {task_name} in {self.name} are equal, so there is nothing to rank; "
                    "get its files again."
                )

    def __len__(self) -> int:
        return len(next(iter(self.tasks.values())).labels)

    @property
    def shares_features(self) -> bool:
        """Whether all tasks have the same features, so that parameters can be compared."""
        first = next(iter(self.tasks.values())).features
        return all(task.features is first for task in self.tasks.values())


def data_folder(given: Path | None = None) -> Path:
    """Return the folder given, else the one in the variable ``MANIFUSE_DATA``, else the user's data directory."""
    if given is not None:
        return given
    named = os.environ.get("MANIFUSE_DATA")
    return Path(named) if named else user_data_path("manifuse")
