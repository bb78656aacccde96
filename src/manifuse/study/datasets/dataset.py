"""Dataset: rows that several tasks are about, each with its features and its graded truth."""

from __future__ import annotations

import hashlib
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
    """One thing to predict of every row.

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
    """Rows and the tasks about them; row i is the same thing in every task.

    Attributes
    ----------
    name : str
        What the command line calls it.
    title : str
        One line for tables and figures.
    tasks : mapping of str to Task
    deviations : tuple of str
        How the data at hand differ from the paper's, a sentence each.
    checksums : mapping of str to str
        SHA-256 of every file that was read, by its path in the data folder.
    """

    name: str
    title: str
    tasks: Mapping[str, Task]
    deviations: tuple[str, ...] = ()
    checksums: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_views(
        cls,
        name: str,
        title: str,
        views: Mapping[str, FloatArray],
        labels: FloatArray,
        *,
        deviations: tuple[str, ...] = (),
        checksums: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Make one task of every feature view (n, d); all share the labels (n,)."""
        tasks = {view: Task(features, labels) for view, features in views.items()}
        return cls(name, title, _checked(name, tasks), deviations, checksums or {})

    @classmethod
    def of_attributes(
        cls,
        name: str,
        title: str,
        features: FloatArray,
        attributes: Mapping[str, FloatArray],
        *,
        deviations: tuple[str, ...] = (),
        checksums: Mapping[str, str] | None = None,
    ) -> Dataset:
        """Make one task of every attribute's labels (n,); all share the features (n, d)."""
        tasks = {attribute: Task(features, labels) for attribute, labels in attributes.items()}
        return cls(name, title, _checked(name, tasks), deviations, checksums or {})

    def __len__(self) -> int:
        return len(next(iter(self.tasks.values())).labels)

    @property
    def shares_features(self) -> bool:
        """Whether all tasks are described by the same features, so that parameters can be compared."""
        first = next(iter(self.tasks.values())).features
        return all(task.features is first for task in self.tasks.values())


def data_folder(given: Path | None = None) -> Path:
    """Where data sets are: as given, else the variable ``MANIFUSE_DATA``, else the user's data directory."""
    if given is not None:
        return given
    named = os.environ.get("MANIFUSE_DATA")
    return Path(named) if named else user_data_path("manifuse")


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(name: str, tasks: Mapping[str, Task]) -> Mapping[str, Task]:
    """Refuse tasks that cannot be about the same rows, and values that are no numbers."""
    rows = {len(table) for task in tasks.values() for table in (task.features, task.labels)}
    if len(rows) != 1:
        raise InputError(f"The tables of {name} have {sorted(rows)} rows, but all must have the same; fetch it anew.")
    for task_name, task in tasks.items():
        if not (np.isfinite(task.features).all() and np.isfinite(task.labels).all()):
            raise InputError(f"{name} has values in {task_name} that are no finite numbers; fetch it anew.")
        if len(np.unique(task.labels)) < 2:
            raise InputError(f"All labels of {task_name} in {name} are equal, so there is nothing to rank.")
    return tasks
