"""Reading by polars: what a panic of it becomes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from manifuse.errors import InputError
from manifuse.files import reading


@contextmanager
def reading_table(path: Path, kind: str | None = None) -> Iterator[None]:
    """Turn any error inside into one sentence; see `reading`."""
    with reading(path, kind):
        try:
            yield
        except BaseException as error:
            # A panic of polars is not even an ``Exception``.
            if type(error).__name__ != "PanicException":
                raise
            what = kind or path.suffix[1:]
            raise InputError(f"{path} cannot be read as {what}, because it is damaged; save it again.") from None
