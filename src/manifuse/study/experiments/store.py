"""The store: a folder of tidy result rows that a killed run leaves whole.

``rows.jsonl`` holds one row a line and is only ever appended to, all rows of a task in one write that is on the
disk before the next begins. A line that a killed run left half written is cut off when the folder is opened
again; its task is then run anew. So is what failed; of two rows of one kind the later stands.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from manifuse.errors import InputError, OutputError

#: Of the layout of the folder; raised when rows of before could not be read as rows of now.
FORMAT = 1

Status = Literal["done", "skipped", "failed"]


@dataclass(frozen=True)
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
        Ranking accuracy on the test rows, in [0, 1]; None unless done.
    seconds : float or None
        Wall time of the method on one core, rankers not included; of *Ind*, of training its rankers.
    reason : str
        Why it was skipped or how it failed; else empty.
    hyperparameters : mapping
        What was chosen, and with JMD the accuracy surface it was chosen from.
    seed : int
        Draws the trial.
    provenance : mapping of str to str
        Commit, versions, checksums of the data.
    """

    dataset: str
    protocol: str
    task: str
    trial: int
    method: str
    status: Status
    accuracy: float | None
    seconds: float | None
    reason: str
    hyperparameters: Mapping[str, Any]
    seed: int
    provenance: Mapping[str, str]

    @property
    def key(self) -> tuple[str, str, int, str]:
        """What makes a row one of its kind."""
        return self.dataset, self.task, self.trial, self.method

    def flat(self) -> dict[str, object]:
        """Return the row as columns of a table: hyperparameters as JSON, provenance a column each."""
        columns = asdict(self)
        provenance = columns.pop("provenance")
        return {**columns, "hyperparameters": json.dumps(self.hyperparameters), **provenance}


class Store:
    """A results folder opened for appending, by one run at a time.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    version : str
        Of the package; rows of another version are not mixed with its rows.

    Raises
    ------
    InputError
        If the folder is another run's, of another version, or holds something else.
    """

    def __init__(self, folder: Path, *, version: str) -> None:
        self._folder = folder
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file, but a folder for results was expected; name another.")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / "rows.jsonl").open("ab+")
        except OSError as error:
            raise InputError(f"{folder} cannot be written to ({error}); name another folder.") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise InputError(f"Another run is writing to {folder}; wait for it, or name another folder.") from None
        try:
            self.was_cut = _cut_half_row(self._file.fileno())
            _mark(folder, version, is_empty=os.fstat(self._file.fileno()).st_size == 0)
            self.keys = {row.key for row in read_rows(folder) if row.status != "failed"}
        except BaseException:
            self._file.close()
            raise

    def append(self, rows: Iterable[Row]) -> None:
        """Put rows on the disk, all of them or none; rows that are there already are left out.

        Raises
        ------
        OutputError
            If the disk is full or gone; the folder is then as it was before.
        """
        new = [row for row in rows if row.key not in self.keys]
        text = "".join(json.dumps(asdict(row), allow_nan=False) + "\n" for row in new)
        size = os.fstat(self._file.fileno()).st_size
        try:
            self._file.write(text.encode())
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            os.ftruncate(self._file.fileno(), size)
            raise OutputError(
                f"{self._folder} cannot take more rows ({error}); all rows before are whole: make room, and run the "
                "same command again."
            ) from error
        self.keys |= {row.key for row in new}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del kind, error, trace
        self._file.close()


def read_rows(folder: Path) -> list[Row]:
    """Read the rows of a results folder.

    Raises
    ------
    InputError
        If the folder is not there, holds no rows file, is of another format, or has a damaged row.
    """
    path = folder / "rows.jsonl"
    if not path.is_file():
        raise InputError(f"{folder} holds no rows.jsonl; name a folder that 'manifuse reproduce' wrote.")
    _demand_format(folder)
    lines = path.read_bytes().split(b"\n")
    # The last piece is empty, or the half row of a run that was killed or still goes on.
    rows = [_row(line, path, number) for number, line in enumerate(lines[:-1], start=1)]
    # What failed may have been run again since; the later row stands.
    return list({row.key: row for row in rows}.values())


def select(rows: Sequence[Row], **wanted: object) -> list[Row]:
    """Rows whose attributes have the wanted values."""
    return [row for row in rows if all(getattr(row, name) == value for name, value in wanted.items())]


def _row(line: bytes, path: Path, number: int) -> Row:
    try:
        content = json.loads(line)
        if not isinstance(content, dict) or content.keys() != {field.name for field in fields(Row)}:
            raise ValueError("it is no result row")
        return Row(**content)
    except ValueError as error:
        raise InputError(
            f"Row {number} of {path} is damaged ({error}); take the line out, and its task will be run again."
        ) from None


def _cut_half_row(file: int) -> bool:
    """Cut off what stands after the last line's end; return whether there was something."""
    size = os.fstat(file).st_size
    whole = os.pread(file, size, 0).rfind(b"\n") + 1
    if whole < size:
        os.ftruncate(file, whole)
    return whole < size


def _mark(folder: Path, version: str, *, is_empty: bool) -> None:
    """Write what the folder is, or compare it with what it was marked as."""
    path = folder / "run.json"
    if is_empty:
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps({"format": FORMAT, "manifuse": version}) + "\n", encoding="utf-8")
        temporary.replace(path)
        return
    before = _demand_format(folder)
    if before != version:
        raise InputError(
            f"{folder} holds results of manifuse {before}, but this is {version}; name another folder, so that "
            "they are not mixed."
        )


def _demand_format(folder: Path) -> str:
    """Refuse a folder of another format; return the version that wrote it."""
    path = folder / "run.json"
    try:
        mark = json.loads(path.read_text(encoding="utf-8"))
        written, version = mark["format"], mark["manifuse"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder} has no readable run.json, so it is no results folder; name another.") from None
    if written != FORMAT:
        raise InputError(
            f"{folder} is of results format {written}, but this version reads {FORMAT}; use the version that wrote "
            f"it (manifuse {version})."
        )
    return str(version)
