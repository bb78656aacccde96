"""Drawing: what all figures share, and how they become SVG or PDF."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from manifuse.errors import require
from manifuse.kernels.arrays import FloatArray

#: Colours that stay apart for colour-blind readers (Okabe and Ito).
GREY, ORANGE, BLUE, GREEN = "#8a8a8a", "#d55e00", "#0072b2", "#009e73"
AMBER, SKY, ROSE, YELLOW = "#e69f00", "#56b4e9", "#cc79a7", "#f0e442"

#: The lines behind what is drawn.
RULE = "#e4e4e4"

#: Characters of a name that a figure has room for.
LONGEST_NAME = 26


@dataclass(frozen=True, eq=False)
class Figure:
    """A drawn figure, the name of its files, and what is said below it."""

    name: str
    drawing: Any
    caption: str

    @cached_property
    def svg(self) -> str:
        """As it is put into a page."""
        return as_svg(self.drawing)


def blank(
    width: float, height: float, columns: int = 1, *, layout: str = "constrained", **panels: Any
) -> tuple[Any, Any]:
    """Make an empty figure of this size in inches, and its axes: one, or a row of several."""
    pyplot = require("matplotlib.figure", extra="figures", purpose="Drawing")
    figure = pyplot.Figure(figsize=(width, height), layout=layout)
    axes = figure.subplots(1, columns, **panels)
    for one in [axes] if columns == 1 else axes:
        for side in ("top", "right"):
            one.spines[side].set_visible(False)
    return figure, axes


def draw_cells(
    values: FloatArray,
    step_sizes: Sequence[float],
    weight_scales: Sequence[float],
    chosen: tuple[float, float],
    *,
    title: str,
    measure: str,
) -> Any:
    """Draw what every cell of the (delta, sigma²) grid reached, the chosen one marked.

    Parameters
    ----------
    values : (step sizes, weight scales) array
    step_sizes, weight_scales : sequence of float
    chosen : (float, float)
    title : str
    measure : str
        What the values are.
    """
    figure, axes = blank(4.6, 4.0)
    image = axes.imshow(values, cmap="cividis", origin="lower", aspect="auto")
    row, column = step_sizes.index(chosen[0]), weight_scales.index(chosen[1])
    axes.scatter([column], [row], marker="x", color="white", s=70, linewidths=2.5)
    axes.scatter([column], [row], marker="x", color=ORANGE, s=60, linewidths=1.6)
    axes.set_xticks(range(len(weight_scales)), [f"{value:.3g}" for value in weight_scales])
    axes.set_yticks(range(len(step_sizes)), [f"{value:.3g}" for value in step_sizes])
    # Seven labels side by side must not touch.
    axes.tick_params(labelsize=8)
    axes.set_xlabel("weight scale σ²")
    axes.set_ylabel("step size δ")
    axes.set_title(title, loc="left", fontsize=11)
    figure.colorbar(image, ax=axes, fraction=0.046, label=measure)
    return figure


def ink(value: float) -> str:
    """Text colour that can be read on the cividis colour of ``value``."""
    return "white" if value < 0.47 else "black"


def label(name: str) -> str:
    """Return a user's name as a figure can show it: on one line, not too long, and not taken for mathematics."""
    # Halves of surrogate pairs come from names of files that are no text; no font and no encoding has them.
    shown = "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(name.split()))
    if len(shown) > LONGEST_NAME:
        shown = shown[: LONGEST_NAME - 1] + "…"
    return shown.replace("$", r"\$")


def as_svg(figure: Any) -> str:
    """Return a figure as SVG text to be put into a page, the same bytes for the same figure."""
    matplotlib = require("matplotlib", extra="figures", purpose="Drawing")
    text = io.StringIO()
    # No metadata: it would name addresses in a page that needs none.
    metadata = dict.fromkeys(("Date", "Format", "Type", "Creator"))
    with matplotlib.rc_context({"svg.hashsalt": "manifuse", "svg.fonttype": "none"}), warnings.catch_warnings():
        # Text stays text: the reader's fonts draw what ours lack, and only its width is a guess.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(text, format="svg", metadata=metadata, transparent=True)
    return text.getvalue()[text.getvalue().index("<svg") :]


def as_pdf(figure: Any) -> bytes:
    """Return a figure as PDF with text as text, the same bytes for the same figure."""
    matplotlib = require("matplotlib", extra="figures", purpose="Drawing")
    content = io.BytesIO()
    with matplotlib.rc_context({"pdf.fonttype": 42}):
        figure.savefig(content, format="pdf", metadata={"CreationDate": None})
    return content.getvalue()
