"""Tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from manifuse.grid import Grid, StrongText


def as_markdown(grid: Grid) -> str:
    """Return a table as lines of Markdown."""

    def row(texts: Iterable[str]) -> str:
        return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |"

    body = (
        [f"**{text}**" if isinstance(text, StrongText) else text for text in texts] for texts in grid.body + grid.foot
    )
    return "\n".join([row(grid.head), row(["---", *["---:"] * (len(grid.head) - 1)]), *map(row, body)])
