"""Figures of one refinement."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from manifuse.columns.refined_scores import LITTLE
from manifuse.evidence.intervals import NINETY
from manifuse.evidence.relevance import Relevance
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.report.drawing import AMBER, BLUE, GREEN, GREY, ORANGE, PAGE_WIDTH, ROSE, RULE, SKY, blank, label
from manifuse.report.refinement_statistics import Shift
from manifuse.run.refinement import Refinement

#: Lines that a reader can tell apart; further ones are grey.
LINES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."), (ROSE, ":"), (AMBER, "-"), (SKY, "--"))


def draw_worth(result: Refinement, order: Sequence[int]) -> Any:
    """Draw what is lost without each reference, and without all, with one standard error.

    Parameters
    ----------
    result : Refinement
    order : sequence of int
        Indices of references whose worth was measured.
    """
    each = [(label(result.relevance[index].name), result.relevance[index].worth, BLUE) for index in order]
    together = ("all together", result.worth, GREEN)
    bars = [(name, gain, colour) for name, gain, colour in (*each, together) if gain is not None]
    unit = bars[0][1].unit
    figure, axes = blank(PAGE_WIDTH, 0.4 * len(bars) + 1.1)
    heights = np.arange(len(bars))[::-1]
    for height, (_, gain, colour) in zip(heights, bars, strict=True):
        axes.barh(height, unit.factor * gain.value, height=0.6, color=colour, alpha=0.55)
        error = {"xerr": unit.factor * gain.standard_error, "fmt": "o", "ms": 4, "capsize": 3, "color": colour}
        axes.errorbar(unit.factor * gain.value, height, **error)
    axes.axvline(0.0, color=GREY, lw=0.9)
    axes.set_yticks(heights, [name for name, _, _ in bars])
    axes.set(ylim=(-0.6, len(bars) - 0.4), axisbelow=True)
    axes.set_xlabel(f"lost without it, {unit.words}", loc="right")
    axes.grid(axis="x", color=RULE, lw=0.7)
    return figure


def draw_relevance(relevance: Sequence[Relevance], *, accepted: bool) -> Any:
    """Draw how every reference agrees with the main predictor and with refined scores, if these were ``accepted``."""
    figure, axes = blank(PAGE_WIDTH, 0.42 * len(relevance) + 1.9)
    heights = np.arange(len(relevance))[::-1]

    def column(name: str) -> FloatArray:
        return np.array([getattr(entry, name) for entry in relevance], dtype=np.float64)

    chance = column("chance_alignment")
    axes.barh(heights, 2 * chance, left=-chance, height=0.74, color=RULE, label="permuted pairs, 95 of 100")
    marks = {
        "held_out_alignment": ("D", BLUE, BLUE, "main predictor at the pairs (held out)"),
        "fidelity": ("^", ORANGE, ORANGE, "predicted at held-out pairs (fidelity)"),
    }
    if accepted:
        marks["alignment"] = ("o", "none", BLUE, "refined scores (optimistic)")
    for name, (marker, face, edge, text) in marks.items():
        axes.scatter(
            column(name), heights, marker=marker, facecolors=face, edgecolors=edge, s=48, label=text, zorder=3
        )
    has_reverse = min(np.nanmin(column(name), initial=1.0) for name in marks) < -0.02
    least, first = (-1.04, -1.0) if has_reverse else (min(-0.04, -1.04 * chance.max()), 0.0)
    axes.set(xlim=(least, 1.04), xticks=np.arange(first, 1.1, 0.5), xlabel="alignment", axisbelow=True)
    axes.axvline(0, color=GREY, lw=0.8)
    axes.set_yticks(heights, [label(entry.name) for entry in relevance])
    axes.set_ylim(-0.6, len(relevance) - 0.4)
    axes.grid(axis="x", color=RULE, lw=0.7)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    return figure


def draw_course(result: Refinement, order: Sequence[int]) -> Any:
    """Draw the alignments over the steps.

    Parameters
    ----------
    result : Refinement
    order : sequence of int
        Indices of the references to draw, the most important first: these get colours.
    """
    history = result.history
    taken = np.cumsum([step.step > 0 for step in history])
    figure, panel = blank(PAGE_WIDTH, 3.4)
    alignments, lines = np.array([step.alignments for step in history]), []
    for number, index in enumerate(order):
        colour, style = LINES[number] if number < len(LINES) else (RULE, "-")
        look = {"color": colour, "ls": style, "lw": 1.7, "marker": "o", "ms": 2.5, "zorder": 3 - number / len(order)}
        lines += panel.plot(taken, alignments[:, index], **look)
    for start in taken[np.flatnonzero(np.diff([step.round for step in history])) + 1]:
        panel.axvline(start, color=RULE, lw=0.7, zorder=0)
    panel.set(xlabel="steps (lines: a new round)", ylabel="alignment with references")
    panel.xaxis.get_major_locator().set_params(integer=True)
    shown = lines[: len(LINES)]
    outside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    legend = panel.legend(shown, [str(number) for number in range(len(shown))], frameon=False, fontsize=8, **outside)
    # Written afterwards, because a legend leaves out the names that begin with an underscore.
    for text, index in zip(legend.get_texts(), order, strict=False):
        text.set_text(label(result.relevance[index].name))
    return figure


def draw_shift(shift: Shift, rows: IndexArray) -> Any:
    """Draw the scores of some rows before and after; the colour is the support."""
    figure, axes = blank(PAGE_WIDTH, 4.2)
    before, after = shift.before[rows], shift.after[rows]
    ends = np.array([before.min(), before.max()])
    axes.plot(ends, shift.line[0] + shift.line[1] * ends, color=GREY, lw=0.9, ls=":", zorder=1)
    dots = axes.scatter(before, after, c=shift.support[rows], cmap="cividis", vmin=0, vmax=1, s=11, lw=0, zorder=2)
    axes.set(xlabel="score before", ylabel="score after")
    figure.colorbar(dots, ax=axes, fraction=0.046, label="support")
    return figure


def draw_uncertainty(result: Refinement, rows: IndexArray) -> Any:
    """Draw the refined scores of some rows, which are in this order, with intervals by their standard errors."""
    figure, axes = blank(PAGE_WIDTH, 4.2)
    errors = result.refined.uncertainty
    assert errors is not None, "the caller asks whether there are standard errors"
    # Those of probabilities are of log-odds, so that no interval leaves [0, 1].
    least, after, most = (
        result.main.in_scale(result.refined.scores[rows] + times * errors[rows]) for times in (-NINETY, 0.0, NINETY)
    )
    look = {"color": BLUE, "ecolor": SKY, "ms": 3, "elinewidth": 1.2}
    axes.errorbar(np.arange(len(rows)), after, (after - least, most - after), fmt="o", **look)
    axes.set(xticks=[], xlabel="rows, in the order of their refined scores", ylabel="score after")
    return figure


def draw_support(support: FloatArray) -> Any:
    """Draw how many rows have how much support (n,)."""
    figure, axes = blank(PAGE_WIDTH, 4.2)
    edges = np.linspace(0.0, 1.0, round(1 / LITTLE) + 1)
    counts, _ = np.histogram(support, edges)
    colours = [ORANGE, *[BLUE] * (len(counts) - 1)]
    axes.bar(edges[:-1], counts, width=0.9 * LITTLE, align="edge", color=colours)
    axes.set(xlim=(0, 1), xlabel=f"support (first bar: below {LITTLE}, hardly any evidence)", ylabel="rows")
    return figure
