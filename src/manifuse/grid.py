"""Grid: a table of texts before it is printed, or becomes HTML."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Self

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

#: Shown where there is no number.
ABSENT = "—"

#: Rows and columns of a large table that a notebook shows.
SHOWN = 5

#: The width of printed tables, and blanks between two columns.
WIDTH, GAP = 80, 2

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
    """Join names by commas; a name that is empty, or has commas or outer blanks, stands in quotes."""
    return ", ".join(repr(name) if not name or "," in name or name != name.strip() else name for name in names)


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
    heads = [grid.head[0], *("_\n".join(name.rsplit("_", 1)) for name in grid.head[1:])]
    widths = _widths(heads, grid.body + grid.foot, width - GAP * (len(heads) - 1))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for place, (name, size) in enumerate(zip(heads, widths, strict=True)):
        table.add_column(Text(name), width=size, justify="right" if place else "left", overflow="fold")
    for part, style in ((grid.body, None), (grid.foot, "bold")):
        table.add_section()
        for texts in part:
            table.add_row(*(Text(text, "bold" if isinstance(text, StrongText) else "") for text in texts), style=style)
    file = io.StringIO()
    Console(file=file, width=sum(widths) + GAP * len(widths), color_system=None).print(table)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def _widths(heads: Sequence[str], body: Iterable[Sequence[str]], room: int) -> list[int]:
    """Share the room for texts among columns: each gets what cannot break, and an equal part of the rest."""
    least, most = [], []
    for place, (head, *texts) in enumerate(zip(heads, *body, strict=True)):
        longest = max(map(cell_len, [*head.split("\n"), *texts]))
        words = max((cell_len(word) for text in texts for word in text.split()), default=0)
        unbroken = min(words, NAME) if place == 0 else longest if longest <= BROKEN else words
        least.append(max(unbroken, *map(cell_len, head.split("\n"))))
        most.append(longest)
    room -= sum(least)
    widths = list(least)
    wants = sorted(range(len(least)), key=lambda place: most[place] - least[place])
    for left, place in enumerate(wants):
        more = min(most[place] - least[place], max(0, room) // (len(wants) - left))
        widths[place], room = widths[place] + more, room - more
    return widths


def as_html(grid: Grid) -> str:
    """Return a table as HTML without a style, for notebooks."""

    def row(texts: Iterable[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in texts)}</tr>"

    body = "".join(row(texts, "td") for texts in grid.body + grid.foot)
    return f"<table><thead>{row(grid.head, 'th')}</thead><tbody>{body}</tbody></table>"


def many(count: int, noun: str) -> str:
    """Return a count with its noun: 1 row, 2 rows, 1,000 classes."""
    return f"{count:,} {noun}" + ("" if count == 1 else "es" if noun.endswith("s") else "s")
