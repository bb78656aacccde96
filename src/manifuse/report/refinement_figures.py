"""Figures of one refinement, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from manifuse.evidence.relevance import Relevance
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.refinement import Choice
from manifuse.report.drawing import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    ROSE,
    RULE,
    SKY,
    blank,
    draw_cells,
    ink,
    label,
)
from manifuse.report.refinement_statistics import LITTLE, Course, Metric, Shift

#: References that a figure has room for; tables have all.
MOST_DRAWN = 24

#: Lines that can be told apart; further ones are grey.
LINES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."), (ROSE, ":"), (AMBER, "-"), (SKY, "--"))

#: Entries up to which the cells of a metric are small print and not only colours.
LEGIBLE = 12


def draw_surface(choice: Choice, *, title: str, measure: str = "accuracy on the labels, first round") -> Any:
    """Draw the score on the labels over the (delta, sigma²) grid, the chosen cell marked."""
    assert choice.surface is not None, "there is a surface only with labels"
    chosen = choice.step_size, choice.weight_scale
    return draw_cells(choice.surface, choice.step_sizes, choice.weight_scales, chosen, title=title, measure=measure)


def draw_relevance(relevance: Sequence[Relevance]) -> Any:
    """Draw what is known of every reference: alignments over chance, fidelity, weight and reach."""
    figure, (left, right) = blank(8.4, 0.46 * len(relevance) + 1.7, columns=2, width_ratios=[3, 2], sharey=True)
    places = np.arange(len(relevance))[::-1]

    def column(name: str) -> FloatArray:
        return np.array([getattr(entry, name) for entry in relevance])

    chance = column("chance_alignment")
    left.barh(places, 2 * chance, left=-chance, height=0.74, color=RULE, label="permuted pairs, 95 of 100")
    marks = {
        "held_out_alignment": ("D", BLUE, BLUE, "main predictor at the pairs (held out)"),
        "alignment": ("o", "none", BLUE, "refined scores over the bridge (optimistic)"),
        "fidelity": ("^", ORANGE, ORANGE, "bridge at held-out pairs (fidelity)"),
    }
    for name, (marker, face, edge, text) in marks.items():
        left.scatter(column(name), places, marker=marker, facecolors=face, edgecolors=edge, s=48, label=text, zorder=3)
    reversed_ones = min(column(name).min() for name in marks) < -0.02
    left.set_xlim(-1.04 if reversed_ones else min(-0.04, -1.04 * chance.max()), 1.04)
    left.set_xticks(np.arange(-1.0 if reversed_ones else 0.0, 1.1, 0.5))
    left.axvline(0, color=GREY, lw=0.8)
    left.set_xlabel("alignment")
    left.set_yticks(places, [label(entry.name) for entry in relevance])
    right.barh(places + 0.17, column("weight"), height=0.3, color=BLUE, label="weight")
    right.barh(places - 0.17, column("reached"), height=0.3, color=AMBER, label="share of rows reached")
    right.set_xlim(0, 1.04)
    right.set_ylim(-0.6, len(relevance) - 0.4)
    right.set_xlabel("weight and reach")
    for axes in (left, right):
        axes.set_axisbelow(True)
        axes.grid(axis="x", color=RULE, lw=0.7)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8.5)
    return figure


def draw_metric(metric: Metric) -> Any:
    """Draw how main predictor, refinement and references align with each other on the main rows."""
    count = len(metric.names)
    side = max(4.2, 0.34 * count + 1.8)
    figure, axes = blank(side + 0.6, 0.92 * side, layout="compressed")
    image = axes.imshow(np.abs(metric.values), cmap="cividis", vmin=0, vmax=1)
    if count <= LEGIBLE:
        for (row, column), value in np.ndenumerate(metric.values):
            axes.text(
                column, row, f"{value:.2f}", ha="center", va="center", fontsize=7.5, color=ink(abs(float(value)))
            )
    names = [label(name) for name in metric.names]
    axes.set_xticks(range(count), names, rotation=40, ha="right", rotation_mode="anchor", fontsize=8.5)
    axes.set_yticks(range(count), names, fontsize=8.5)
    figure.colorbar(image, ax=axes, fraction=0.046, label="|alignment| on the main rows")
    return figure


def draw_course(course: Course, names: Sequence[str], order: Sequence[int], *, measure: str, before: float) -> Any:
    """Draw how scores on the labels, where there are any, and alignments went over the steps.

    Parameters
    ----------
    course : Course
    names : sequence of str
        Of the references.
    order : sequence of int
        Places of the references, the most important first: these get colours.
    measure : str
        What the scores are.
    before : float
        The score of the main predictor as it came; NaN without labels.
    """
    labelled = bool(np.isfinite(course.scores).all())
    figure, axes = blank(8.4 if labelled else 6.4, 3.4, columns=2 if labelled else 1)
    panels = list(axes) if labelled else [axes]
    if labelled:
        panels[0].axhline(before, color=GREY, lw=1.0, ls=":", label="as it came")
        panels[0].plot(course.taken, course.scores, color=BLUE, marker="o", ms=3.5, label="in the diffusion")
        panels[0].set_ylabel(measure)
        panels[0].legend(frameon=False, fontsize=8, loc="center right")
    lines = []
    for number, place in enumerate(order):
        colour, style = LINES[number] if number < len(LINES) else (RULE, "-")
        look = {"color": colour, "ls": style, "lw": 1.7, "marker": "o", "ms": 2.5, "zorder": 3 - number / len(order)}
        lines += panels[-1].plot(course.taken, course.alignments[:, place], **look)
    panels[-1].set_ylabel("alignment with references")
    shown = min(len(LINES), len(order))
    legend = panels[-1].legend(
        lines[:shown],
        [str(number) for number in range(shown)],
        frameon=False,
        fontsize=8,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
    )
    # Given as they are, names that begin with an underscore would be left out.
    for text, place in zip(legend.get_texts(), order, strict=False):
        text.set_text(label(names[place]))
    for axes in panels:
        for start in course.starts:
            axes.axvline(start, color=RULE, lw=0.7, zorder=0)
        axes.set_xlabel("steps (lines: a new round)")
        axes.xaxis.get_major_locator().set_params(integer=True)
    return figure


def draw_shift(shift: Shift, rows: IndexArray) -> Any:
    """Draw scores before and after of some rows, their colour the support."""
    figure, axes = blank(5.0, 4.2)
    before, after = shift.before[rows], shift.after[rows]
    ends = [min(before.min(), after.min()), max(before.max(), after.max())]
    axes.plot(ends, ends, color=GREY, lw=0.9, ls=":", zorder=1)
    dots = axes.scatter(before, after, c=shift.support[rows], cmap="cividis", vmin=0, vmax=1, s=11, lw=0, zorder=2)
    axes.set_xlabel("score before")
    axes.set_ylabel("score after")
    figure.colorbar(dots, ax=axes, fraction=0.046, label="support")
    return figure


def draw_support(shift: Shift) -> Any:
    """Draw how many rows have how much support."""
    figure, axes = blank(5.0, 4.2)
    edges = np.linspace(0.0, 1.0, round(1 / LITTLE) + 1)
    counts, _ = np.histogram(shift.support, edges)
    colours = [ORANGE, *[BLUE] * (len(counts) - 1)]
    axes.bar(edges[:-1], counts, width=LITTLE, align="edge", color=colours, edgecolor="white", linewidth=0.5)
    axes.set_xlim(0, 1)
    axes.set_xlabel(f"support (first bar: below {LITTLE}, hardly any evidence)")
    axes.set_ylabel("rows")
    return figure
