"""Grid: a table before it is LaTeX, Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

#: Stands where there is no number.
ABSENT = "—"

#: Signs that LaTeX takes for commands, or does not have.
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    # A line that began with a bracket would be taken for an option of the line's end before it.
    "[": "{[}",
    "]": "{]}",
    "±": r"$\pm$",
    ABSENT: "--",
}


@dataclass(frozen=True)
class Cell:
    """Text in a table, ``strong`` if it stands out."""

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Grid:
    """A table before it is LaTeX, Markdown or HTML.

    Attributes
    ----------
    head : tuple of str
    body, foot : tuple of tuple of Cell
        Lines; those of the foot sum up those of the body.
    """

    head: tuple[str, ...]
    body: tuple[tuple[Cell, ...], ...]
    foot: tuple[tuple[Cell, ...], ...] = ()


def as_latex(grid: Grid) -> str:
    """Return a ``tabular`` with the rules of booktabs."""

    def line(cells: Sequence[Cell]) -> str:
        texts = (escape_latex(cell.text) for cell in cells)
        bold = (rf"\textbf{{{text}}}" if cell.strong else text for text, cell in zip(texts, cells, strict=True))
        return " & ".join(bold) + r" \\"

    lines = [r"\begin{tabular}{l" + "r" * (len(grid.head) - 1) + "}", r"\toprule", line([*map(Cell, grid.head)])]
    lines += [r"\midrule", *map(line, grid.body)]
    if grid.foot:
        lines += [r"\midrule", *map(line, grid.foot)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def as_markdown(grid: Grid) -> list[str]:
    """Return a table as lines of Markdown."""

    def line(texts: Sequence[str]) -> str:
        return f"| {' | '.join(text.replace('|', chr(92) + '|') for text in texts)} |"

    body = ([f"**{cell.text}**" if cell.strong else cell.text for cell in cells] for cells in grid.body + grid.foot)
    return [line(grid.head), line(["---", *["---:"] * (len(grid.head) - 1)]), *map(line, body)]


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints as it stands."""
    return re.sub("|".join(map(re.escape, LATEX)), lambda sign: LATEX[sign.group()], text)
