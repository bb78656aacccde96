"""Rows in blocks: what a core's cache holds at once, and threads to share them."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

#: Rows of a block, and blocks from which it pays to start threads.
ROWS, BLOCKS = 1 << 14, 4


def row_blocks(rows: int) -> list[slice]:
    """Slices that make up ``rows``."""
    return [slice(first, min(first + ROWS, rows)) for first in range(0, rows, ROWS)]


def in_blocks(function: Callable[[slice], object], rows: int, *, threads: int) -> None:
    """Call ``function`` on the slices that make up ``rows``, from several threads where there are slices enough."""
    parts = row_blocks(rows)
    if threads == 1 or len(parts) < BLOCKS:
        for part in parts:
            function(part)
        return
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        for _ in pool.map(function, parts):
            pass
