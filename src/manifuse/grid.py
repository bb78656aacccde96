"""Grid: a table of texts before it is printed, or becomes HTML."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Self

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

#: Shown where there is no number.
ABSENT = "—"

#: Rows and columns of a large table that a notebook shows.
SHOWN = 5

#: The width of printed tables, in characters, and that of those that cannot be as narrow.
WIDTH, MOST_CHARACTERS = 80, 10_000

#: Longer texts may break, and longer words in the first column.
BROKEN, NAME = 16, 16


class StrongText(str):
    """Text in a table that stands out."""

    strong = True


def strong_if(condition: bool, text: str) -> str:
    """Return a text that stands out if the condition holds."""
    return StrongText(text) if condition else text


def figures(value: float, digits: int) -> str:
    """Return a number with so many digits that count; larger ones are whole, without a power of ten up to 10^12."""
    return f"{value:,.0f}" if 10.0**digits - 0.5 <= abs(value) < 1e12 else f"{value:.{digits}g}"


def told_apart(names: Iterable[str]) -> str:
    """Join names by commas; a name that has commas or outer blanks stands in quotes."""
    return ", ".join(repr(name) if "," in name or name != name.strip() else name for name in names)


def first_of(names: Sequence[str], most: int) -> str:
    """Join the first names by commas, with dots if there are more."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


@dataclass(frozen=True)
class Grid:
    """A table before it becomes HTML or text.

    Attributes
    ----------
    head : tuple of str
    body, foot : tuple of tuple of str
        Lines, in which a `StrongText` text stands out; those of the foot summarise those of the body.
    """

    head: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    foot: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, records: Iterable[Mapping[str, str]]) -> Self:
        """Make a table of lines that name the column of each cell; without a line there is no column."""
        lines = list(records)
        return cls(tuple(lines[0]) if lines else (), tuple(tuple(each.values()) for each in lines))


def as_text(grid: Grid, *, width: int = WIDTH) -> str:
    """Return a table as lines of plain text, at most ``width`` wide if no cell has to be cut for that.

    Texts in the first column and long texts in others break between words, names of columns at their last underscore,
    and longer words in the first column anywhere.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column(Text(grid.head[0]), overflow="fold", min_width=len(grid.head[0]))
    for place, name in enumerate(grid.head[1:], 1):
        is_short = all(len(texts[place]) <= BROKEN for texts in grid.body + grid.foot)
        table.add_column(Text("_\n".join(name.rsplit("_", 1))), justify="right", no_wrap=is_short)
    for part, style in ((grid.body, None), (grid.foot, "bold")):
        table.add_section()
        for texts in part:
            table.add_row(*(Text(text, "bold" if isinstance(text, StrongText) else "") for text in texts), style=style)
    file = io.StringIO()
    console = Console(file=file, width=MOST_CHARACTERS, color_system=None)
    words = " ".join(texts[0] for texts in grid.body + grid.foot).split()
    beyond = max(0, max(map(len, words), default=0) - NAME)
    console.width = max(width, console.measure(table).minimum - beyond)
    console.print(table)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def as_html(grid: Grid) -> str:
    """Return a table as HTML without a style, for notebooks."""

    def row(texts: Iterable[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in texts)}</tr>"

    body = "".join(row(texts, "td") for texts in grid.body + grid.foot)
    return f"<table><thead>{row(grid.head, 'th')}</thead><tbody>{body}</tbody></table>"


def many(count: int, noun: str) -> str:
    """Return a count with its noun: 1 row, 2 rows, 1,000 classes."""
    return f"{count:,} {noun}" + ("" if count == 1 else "es" if noun.endswith("s") else "s")
