"""Row names: what messages call the rows of a table."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from manifuse.kernels.arrays import IndexArray

#: What messages call a row, and the number of the first row or of each.
Counting = tuple[str, int | IndexArray]

ROWS_AS: ContextVar[Counting] = ContextVar("rows_as", default=("row", 0))


def name_rows(rows: list[int], *, most: int = 5) -> str:
    """List row numbers, which count from 0, for a sentence: ``rows 3, 7, 9``, or the first few and how many more.

    Of a file of text they are its lines; see `rows_as`.
    """
    (noun, numbers), rest = ROWS_AS.get(), len(rows) - most
    shown = ", ".join(str(numbers + row if isinstance(numbers, int) else numbers[row]) for row in rows[:most])
    return f"{noun}{'s' if len(rows) > 1 else ''} {shown}" + (f" and {rest} more" if rest > 0 else "")


@contextmanager
def rows_as(counted: Counting) -> Iterator[None]:
    """Let messages call rows by another noun, and count them from another number, as in ``("line", 2)``."""
    before = ROWS_AS.set(counted)
    try:
        yield
    finally:
        ROWS_AS.reset(before)
