"""Reading by polars: a panic of it prints pages on standard error, and one sentence takes their place."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock
from typing import IO

from manifuse.errors import InputError
from manifuse.files import reading

#: The file descriptor of standard error, to which polars writes itself.
STANDARD_ERROR = 2


@contextmanager
def reading_table(path: Path, kind: str | None = None) -> Iterator[None]:
    """Turn any error inside into one sentence; see `reading`. What was printed before it is left out."""
    with reading(path, kind), _HELD:
        try:
            yield
        except BaseException as error:
            # A panic of polars is not even an ``Exception``.
            if type(error).__name__ != "PanicException":
                raise
            what = kind or path.suffix[1:]
            raise InputError(f"{path} cannot be read as {what}, because it is damaged; save it again.") from None


class _HeldOutput:
    """Standard error, held back while tables are read, by several threads perhaps; left out if reading fails."""

    def __init__(self) -> None:
        self._lock, self._readers, self._has_failed = Lock(), 0, False
        self._held: IO[bytes] | None = None
        self._original = -1

    def __enter__(self) -> None:
        with self._lock:
            self._readers += 1
            if self._readers == 1:
                self._begin()

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._readers -= 1
            self._has_failed |= error[0] is not None
            if self._readers == 0 and self._held is not None:
                self._end(self._held)

    def _begin(self) -> None:
        self._has_failed = False
        try:
            self._held = TemporaryFile()  # noqa: SIM115 (it stays open until the last reader leaves)
            sys.stderr.flush()
            self._original = os.dup(STANDARD_ERROR)
            os.dup2(self._held.fileno(), STANDARD_ERROR)
        except OSError:
            # Standard error is closed, or there is no room for a file: then nothing is held back.
            self._held = None

    def _end(self, held: IO[bytes]) -> None:
        sys.stderr.flush()
        os.dup2(self._original, STANDARD_ERROR)
        os.close(self._original)
        held.seek(0)
        if not self._has_failed:
            os.write(STANDARD_ERROR, held.read())
        held.close()
        self._held = None


_HELD = _HeldOutput()
