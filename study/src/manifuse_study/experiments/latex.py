"""Tables as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable

from manifuse.grid import ABSENT, Grid, StrongText

#: Signs that LaTeX reads as commands, or does not have.
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        # LaTeX would read a bracket at the start of a line as an option of the line break before it.
        "[": "{[}",
        "]": "{]}",
        "±": r"$\pm$",
        ABSENT: "--",
    }
)


def as_latex(grid: Grid) -> str:
    """Return a ``tabular`` with the rules of booktabs."""

    def cell(text: str) -> str:
        return rf"\textbf{{{escape_latex(text)}}}" if isinstance(text, StrongText) else escape_latex(text)

    def row(texts: Iterable[str]) -> str:
        return " & ".join(map(cell, texts)) + r" \\"

    lines = [r"\begin{tabular}{l" + "r" * (len(grid.head) - 1) + "}", r"\toprule", row(grid.head)]
    for part in filter(None, (grid.body, grid.foot)):
        lines += [r"\midrule", *map(row, part)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints unchanged."""
    return text.translate(LATEX)
