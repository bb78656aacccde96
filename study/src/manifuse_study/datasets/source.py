"""Source: what we know of a data set before we read it, and how we read it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from manifuse.errors import InputError
from manifuse_study.datasets.dataset import Dataset, Task

#: Files or folders that make up one form of a data set, by their paths in the data folder.
Form = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Contents:
    """What the files of a data set contain.

    Attributes
    ----------
    tasks : mapping of str to Task
    deviations : tuple of str
        How these files differ from the paper's data, a sentence each.
    checksums : mapping of str to str or None
        SHA-256 of what was read, by its path in the data folder; None: take those of the form's files.
    """

    tasks: Mapping[str, Task]
    deviations: tuple[str, ...] = ()
    checksums: Mapping[str, str] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Source:
    """A data set: who publishes it, in which forms its files come, and how to read them.

    Attributes
    ----------
    name : str
        The name that the command line uses.
    title : str
        One line for tables and figures.
    summary : str
        Its rows and tasks, in one line.
    owner : str
        Where its owner publishes it.
    citation : str
    forms : tuple of tuple of str
        Forms in which its files can come, each by its paths in the data folder. The first complete one is read.
        A bundled data set has none.
    read : callable
        Reads a form of it from the data folder. Raises an `InputError` for a file that is not there, is damaged, or
        contains something else.
    paper_rows : int or None
        Rows that the paper counts, if a copy may have another number.
    address : str or None
        URL of a zip archive with the files of the last form, if it has a stable public address.
    """

    name: str
    title: str
    summary: str
    owner: str
    citation: str
    forms: tuple[Form, ...]
    read: Callable[[Path, Form], Contents]
    paper_rows: int | None = None
    address: str | None = None

    @property
    def expected(self) -> str:
        """Its forms in words, for people who look for the files."""
        return "; or ".join(_in_words(form) for form in self.forms)

    def is_there(self, folder: Path) -> bool:
        """Whether the folder has any of its files, complete or not."""
        return not self.forms or any((folder / path).exists() for form in self.forms for path in form)

    def load(self, folder: Path) -> Dataset:
        """Read the data set from the data folder.

        Raises
        ------
        InputError
            If its files are missing or damaged, or contain something else.
        """
        form = self._complete_form(folder) if self.forms else ()
        contents = self.read(folder, form)
        rows = len(next(iter(contents.tasks.values())).labels)
        deviations = contents.deviations
        if self.paper_rows is not None and rows != self.paper_rows:
            deviations = (f"The paper counts {self.paper_rows:,} images; this copy has {rows:,}.", *deviations)
        sums = checksums(folder, form) if contents.checksums is None else contents.checksums
        return Dataset(self.name, self.title, contents.tasks, deviations, sums)

    def _complete_form(self, folder: Path) -> Form:
        """Choose the first form of which everything is in the folder."""
        missing = {form: [path for path in form if not (folder / path).exists()] for form in self.forms}
        for form, paths in missing.items():
            if not paths:
                return form
        for form, paths in missing.items():
            there = [path for path in form if path not in paths]
            if there:
                raise InputError(
                    f"{folder / paths[0]} is not there, but {there[0]} is, and {self.name} needs both; "
                    "add the missing one."
                )
        raise InputError(
            f"{folder / self.forms[0][0]} is not there; name the data folder with --data or MANIFUSE_DATA (it should "
            f"contain {self.expected}), and ask `manifuse datasets check` where its owner publishes it."
        )


def checksums(folder: Path, paths: Iterable[str]) -> dict[str, str]:
    """SHA-256 of files, in hexadecimal digits, by their paths in the data folder."""
    sums = {}
    for path in paths:
        with (folder / path).open("rb") as file:
            sums[path] = hashlib.file_digest(file, "sha256").hexdigest()
    return sums


def _in_words(form: Form) -> str:
    """Paths of a form, those of one folder together."""
    names: dict[PurePosixPath, list[str]] = {}
    for path in map(PurePosixPath, form):
        names.setdefault(path.parent, []).append(path.name)
    return " with ".join(f"{', '.join(inside)} in {parent}" for parent, inside in names.items())
