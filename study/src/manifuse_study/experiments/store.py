"""The store: a folder of tidy result rows. A run that is killed leaves only whole rows.

``rows.jsonl`` has one row a line. Rows are only appended: all rows of a task in one write, which is on the disk before
the next write begins. If a killed run left half a line, `open_store` cuts it off, and the task is run again. A task
with failed rows is run again, too. Of two rows with the same key the later one counts.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from io import FileIO
from pathlib import Path
from typing import Any, Literal, cast, get_args

from manifuse.errors import InputError, OutputError
from manifuse.files import bytes_writer, shorten, write_whole

#: Format of the folder. It is raised when an older row cannot be read as a row of now.
FORMAT = 1

#: What makes a row one of its kind: dataset, task, trial and method.
Key = tuple[str, str, int, str]


#: What became of a method.
Status = Literal["done", "skipped", "failed"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One method on one task of one trial.

    Attributes
    ----------
    dataset : str
        Name of the experiment, such as ``"hw"`` or ``"osr-decoupled"``.
    protocol : str
        ``"coupled"`` or ``"decoupled"``.
    task : str
    trial : int
        Counted from 0.
    method : str
    status : {"done", "skipped", "failed"}
    accuracy : float or None
        On the test rows, in [0, 1]: ranking accuracy, or of classes how often they are right; None unless done.
    seconds : float or None
        Wall time of the method on one core, without the training of rankers; of *Ind*, with it alone.
    reason : str
        Why it was skipped or how it failed; else empty.
    hyperparameters : mapping
        What was chosen; of JMD, also the accuracy surface from which it was chosen. Of a problem that was drawn, what
        it is, and other measures on its test rows.
    seed : int
        Draws the trial.
    provenance : mapping of str to str
        Commit, versions, checksum of the data.
    """

    dataset: str
    protocol: str
    task: str
    trial: int
    method: str
    status: Status
    accuracy: float | None = None
    seconds: float | None = None
    reason: str = ""
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int
    provenance: Mapping[str, str]

    @property
    def key(self) -> Key:
        """What makes a row one of its kind."""
        return self.dataset, self.task, self.trial, self.method

    def flat(self) -> dict[str, object]:
        """Return the row as columns of a table: hyperparameters as JSON, one column for each entry of provenance."""
        columns = asdict(self)
        provenance = columns.pop("provenance")
        return {**columns, "hyperparameters": json.dumps(self.hyperparameters), **provenance}


def _is_text(value: object) -> bool:
    """Whether it is text that a page can show: half a character of UTF-16 is none."""
    return isinstance(value, str) and not any("\ud800" <= character <= "\udfff" for character in value)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_amount(most: float) -> Callable[[object], bool]:
    return lambda value: value is None or (type(value) in (int, float) and 0 <= cast(float, value) <= most)


def _is_choice(value: object) -> bool:
    """Whether it is what a method chose; a surface comes with its axes, and with the choice among them."""
    if not isinstance(value, dict):
        return False
    if value.get("surface") is None:
        return True
    steps, scales = (_numbers(value.get(name)) for name in ("step_sizes", "weight_scales"))
    lines = [_numbers(line) for line in value["surface"]] if isinstance(value["surface"], list) else []
    chosen = value.get("step_size") in steps and value.get("weight_scale") in scales
    return chosen and [len(line) for line in lines] == [len(scales)] * len(steps)


def _numbers(value: object) -> list[float]:
    """A list of numbers as it is; anything else is an empty list."""
    return value if isinstance(value, list) and all(type(each) in (int, float) for each in value) else []


#: What the values of a stored row may be.
SCHEMA: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("dataset", "task", "method", "reason"), _is_text),
    "protocol": lambda value: value in ("coupled", "decoupled"),
    "status": lambda value: value in get_args(Status),
    "trial": _is_count,
    "seed": _is_count,
    "accuracy": _is_amount(1.0),
    "seconds": _is_amount(sys.float_info.max),
    "hyperparameters": _is_choice,
    "provenance": lambda value: isinstance(value, dict) and all(map(_is_text, value.values())),
}


@dataclass(frozen=True, eq=False)
class Store:
    """A results folder that is open for appending; see `open_store`.

    Attributes
    ----------
    file : binary file
        ``rows.jsonl``, not buffered.
    was_cut : bool
        Whether the last row was cut off, because a killed run had left half of it.
    keys : set
        Keys of the rows that are there and need not be run again.
    data : mapping of str to str
        Checksum of the data of every experiment that has rows of files.
    """

    file: FileIO
    was_cut: bool
    keys: set[Key]
    data: Mapping[str, str] = field(default_factory=dict)

    def append(self, rows: Iterable[Row]) -> None:
        """Put rows on the disk, all of them or none; rows that are there already are left out.

        Raises
        ------
        OutputError
            If the disk is full or gone; the folder is then as it was before.
        """
        new = [row for row in rows if row.key not in self.keys]
        text = "".join(json.dumps(asdict(row), allow_nan=False) + "\n" for row in new)
        size = os.fstat(self.file.fileno()).st_size
        try:
            left = memoryview(text.encode())
            # The file is not buffered, so that closing it writes nothing more after a failure.
            while left:
                left = left[self.file.write(left) :]
            os.fsync(self.file.fileno())
        except OSError as error:
            os.ftruncate(self.file.fileno(), size)
            raise OutputError(
                f"{self.file.name} cannot take more rows ({error}), but all rows before are whole. Make room on the "
                "disk, and run the same command again."
            ) from error
        self.keys.update(row.key for row in new)


@contextmanager
def open_store(folder: Path, *, version: str) -> Iterator[Store]:
    """Open a results folder for appending, by one run at a time.

    Parameters
    ----------
    folder : Path
        Created if it is missing.
    version : str
        Of the package. Rows of different versions are not mixed.

    Yields
    ------
    Store

    Raises
    ------
    InputError
        If another run has the folder open, or it is of another version, or it is not a results folder.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file, but a folder for results was expected; name another.")
    rows, marked = folder / "rows.jsonl", (folder / "run.json").exists()
    if marked or (rows.exists() and rows.stat().st_size > 0):
        _demand_format(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = rows.open("ab+", buffering=0)
    except OSError as error:
        raise InputError(f"{folder} cannot be written to ({error}); name another folder.") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"Another run is writing to {folder}; wait for it, or name another folder.") from None
        size = os.fstat(file.fileno()).st_size
        whole = os.pread(file.fileno(), size, 0).rfind(b"\n") + 1
        if whole == 0:
            mark = json.dumps({"format": FORMAT, "manifuse": version}) + "\n"
            write_whole(folder / "run.json", bytes_writer(mark.encode()))
        _demand_format(folder, version)
        there = read_rows(folder)
        keys = {row.key for row in there if row.status != "failed"}
        data = {row.dataset: row.provenance["data"] for row in there if row.provenance.get("data")}
        os.ftruncate(file.fileno(), whole)
        yield Store(file, whole < size, keys, data)


def read_rows(folder: Path) -> list[Row]:
    """Read the rows of a results folder.

    Raises
    ------
    InputError
        If the folder or its ``rows.jsonl`` is missing, is of another format, or has a damaged row.
    """
    path = folder / "rows.jsonl"
    if not path.is_file():
        raise InputError(f"{folder} holds no rows.jsonl; name a folder that 'manifuse reproduce' wrote.")
    _demand_format(folder)
    lines = path.read_bytes().split(b"\n")
    # The last piece is empty, or half a row of a run that was killed or is still writing.
    rows = [_row(line, path, number) for number, line in enumerate(lines[:-1], start=1)]
    # A failed row may have been run again since; the later row counts.
    return list({row.key: row for row in rows}.values())


def select(rows: Sequence[Row], **wanted: object) -> list[Row]:
    """Return the rows whose attributes have the wanted values."""
    return [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]


def _row(line: bytes, path: Path, number: int) -> Row:
    try:
        content = json.loads(line)
        if not isinstance(content, dict) or content.keys() != {field.name for field in fields(Row)}:
            raise ValueError("it is not a result row")
        wrong = next((name for name, fits in SCHEMA.items() if not fits(content[name])), None)
        if wrong is not None:
            raise ValueError(f"{wrong} is {shorten(json.dumps(content[wrong]), most=40)}")
        if (content["status"] == "done") != (content["accuracy"] is not None):
            raise ValueError(f"its status is {content['status']}, and its accuracy is {content['accuracy']}")
        return Row(**content)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"Row {number} of {path} is damaged ({error}); delete this line, and its task will be run again."
        ) from None


def _demand_format(folder: Path, expected: str | None = None) -> None:
    """Refuse a folder of another format, or of another version than expected."""
    try:
        mark = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        written, version = mark["format"], mark["manifuse"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder} has no readable run.json, so it is not a results folder; name another.") from None
    if written != FORMAT:
        raise InputError(
            f"{folder} has results of format {written}, but this version reads format {FORMAT}; use the version that "
            f"wrote it (manifuse {version})."
        )
    if expected not in (None, version):
        raise InputError(
            f"{folder} has results of manifuse {version}, but this is manifuse {expected}; name another folder, so "
            "that the versions are not mixed."
        )
