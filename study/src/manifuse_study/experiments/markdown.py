"""Markdown: tables, and the lines of a page that are written from rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from manifuse.grid import Grid, StrongText


def as_markdown(grid: Grid) -> str:
    """Return a table as lines of Markdown."""
    body = (
        [f"**{text}**" if isinstance(text, StrongText) else text for text in texts] for texts in grid.body + grid.foot
    )
    return "\n".join([*header(*grid.head), *(line(*texts) for texts in body)])


def header(*names: str) -> list[str]:
    """Return the head of a table. All columns but the first are numbers."""
    return [line(*names), line("---", *["---:"] * (len(names) - 1))]


def line(*cells: str) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in cells)} |"


def replace_parts(page: Path, parts: Mapping[str, Sequence[str]]) -> None:
    """Replace the lines between pairs of marks of a page, by the names of the marks."""
    text = page.read_text(encoding="utf-8")
    for mark, lines in parts.items():
        head, _, rest = text.partition(f"<!-- {mark} -->\n")
        _, _, tail = rest.partition(f"<!-- /{mark} -->")
        text = "\n".join([f"{head}<!-- {mark} -->", *lines, f"<!-- /{mark} -->{tail}"])
    page.write_text(text, encoding="utf-8")


def made_by(rows: Iterable[Mapping[str, object]]) -> str:
    """Say which commits of the code made rows, and with which versions."""
    stored = list(rows)
    versions = ", ".join(f"{name} {stored[0][name]}" for name in ("python", "numpy", "scipy", "scikit-learn"))
    return f"Commit {' and '.join(dict.fromkeys(str(row['commit']) for row in stored))}, {versions}."
