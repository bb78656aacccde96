"""Work in blocks of rows that fit into a core's cache, in several threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

#: Rows of a block, and the number of blocks from which threads pay.
ROWS, BLOCKS = 1 << 14, 4


def row_blocks(rows: int) -> list[slice]:
    """Return the slices of blocks that together make up ``rows``."""
    return [slice(first, min(first + ROWS, rows)) for first in range(0, rows, ROWS)]


def in_blocks(function: Callable[[slice], object], rows: int, *, threads: int) -> None:
    """Call ``function`` on every block of ``rows``, in several threads if there are enough blocks."""
    parts = row_blocks(rows)
    if threads == 1 or len(parts) < BLOCKS:
        for part in parts:
            function(part)
        return
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        for _ in pool.map(function, parts):
            pass
