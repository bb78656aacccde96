"""Drawing: what all figures share, and how a figure becomes SVG or PDF."""

import io
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from manifuse.kernels.arrays import FloatArray

#: Colours that colour-blind readers can tell apart (Okabe and Ito).
GREY, ORANGE, BLUE, GREEN = "#8a8a8a", "#d55e00", "#0072b2", "#009e73"
AMBER, SKY, ROSE = "#e69f00", "#56b4e9", "#cc79a7"

#: The colour of grid lines.
RULE = "#e4e4e4"

#: The width of the figures of a page, and of those of which three stand side by side, in inches. Both fit on a phone.
#: Figures of one width have letters of one size.
PAGE_WIDTH, SLIM_WIDTH = 5.0, 4.2

#: Colours of lines that follow those of the page, light or dark; text without a colour follows its style sheet.
THEMED = {"#000000": "var(--ink)", RULE: "var(--line)"}

#: The most characters of a name that a figure has room for.
LONGEST_NAME = 26

#: The most rows of a map of alignments for which the number is written into each cell.
LEGIBLE = 12


def blank(width: float, height: float, columns: int = 1, *, layout: str = "constrained") -> tuple[Any, Any]:
    """Make an empty figure of this size in inches, and its axes: one, or a row of several."""
    figure = import_module("matplotlib.figure").Figure(figsize=(width, height), layout=layout)
    # Notebooks show it, on white, because a notebook or a page of documentation may be dark.
    figure._repr_html_ = lambda: f'<div style="background: white; width: fit-content">{as_svg(figure)}</div>'
    axes = figure.subplots(1, columns)
    for one in np.atleast_1d(axes):
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes


def draw_alignments(values: FloatArray, names: Sequence[str], *, measure: str) -> Any:
    """Draw the alignment of each name with each, shape (k, k); a cell that is NaN stays blank."""
    count = len(names)
    side = max(4.2, 0.34 * count + 1.8)
    figure, axes = blank(max(PAGE_WIDTH, side + 0.6), 0.92 * side, layout="compressed")
    image = heat_map(axes, np.abs(values), values if count <= LEGIBLE else np.full_like(values, np.nan), "{:.2f}", 7.5)
    shown = [label(name) for name in names]
    axes.set_xticks(range(count), shown, rotation=40, ha="right", rotation_mode="anchor", fontsize=8.5)
    axes.set_yticks(range(count), shown, fontsize=8.5)
    figure.colorbar(image, ax=axes, fraction=0.046, label=measure)
    return figure


def heat_map(axes: Any, shades: FloatArray, numbers: FloatArray, form: str, size: float) -> Any:
    """Draw shades in [0, 1] (k, l), and write numbers (k, l) into cells unless they are NaN."""
    for row, column in np.argwhere(np.isfinite(numbers)):
        look = {"ha": "center", "va": "center", "fontsize": size, "color": ink(shades[row, column])}
        axes.text(column, row, form.format(numbers[row, column]), **look)
    return axes.imshow(shades, cmap="cividis", vmin=0, vmax=1)


def ink(value: float) -> str:
    """Return the text colour that is legible on the cividis colour of ``value``."""
    # Not quite black, so that it stays what it is on a dark page.
    return "white" if value < 0.47 else "#010101"


def label(name: str) -> str:
    """Return a user's name as a figure can show it: on one line, short enough, and not read as mathematics."""
    # A file name that is not text can hold half of a surrogate pair, which no font and no encoding has.
    shown = "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(name.split()))
    if len(shown) > LONGEST_NAME:
        shown = shown[: LONGEST_NAME - 1] + "…"
    return shown.replace("$", r"\$")


def as_svg(figure: Any) -> str:
    """Return a figure as SVG text for a page; the same figure gives the same bytes."""
    matplotlib = import_module("matplotlib")
    text = io.StringIO()
    # Without metadata: they would put addresses into a page that loads nothing.
    metadata = dict.fromkeys(("Date", "Format", "Type", "Creator"))
    with matplotlib.rc_context({"svg.hashsalt": "manifuse", "svg.fonttype": "none"}), warnings.catch_warnings():
        # Text stays text. The reader's fonts draw the signs that our font lacks; only their width is a guess.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(text, format="svg", metadata=metadata, transparent=True)
    # Each drawing lays a figure out again, a little differently. Now the page and the files show the same.
    figure.set_layout_engine("none")
    return text.getvalue()[text.getvalue().index("<svg") :]


def themed(svg: str) -> str:
    """Return SVG text for a page, in which lines and grid lines take the colours of the page."""
    for colour, variable in THEMED.items():
        svg = svg.replace(colour, variable)
    return svg
