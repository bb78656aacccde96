"""Reading by polars: a panic of it prints pages on standard error, and one sentence takes their place."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shutil import copyfileobj
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
        # If standard error is closed, its number may be that of another file.
        if sys.stderr is None:
            return
        _flush()
        # Without room for a file, nothing is held back.
        with suppress(OSError), ExitStack() as opened:
            held = opened.enter_context(TemporaryFile())
            self._original = os.dup(STANDARD_ERROR)
            os.dup2(held.fileno(), STANDARD_ERROR)
            opened.pop_all()
            self._held = held

    def _end(self, held: IO[bytes]) -> None:
        _flush()
        os.dup2(self._original, STANDARD_ERROR)
        # Standard error may be a full disk; that does not concern the table.
        with suppress(OSError), held, os.fdopen(self._original, "wb") as original:
            if not self._has_failed:
                held.seek(0)
                copyfileobj(held, original)
        self._held = None


def _flush() -> None:
    with suppress(OSError):
        sys.stderr.flush()


_HELD = _HeldOutput()
