"""Figures of the experiments, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manifuse.errors import require
from manifuse.kernels.arrays import FloatArray
from manifuse.report.drawing import AMBER, BLUE, GREEN, GREY, ORANGE, ROSE, RULE, SKY, YELLOW, blank, draw_cells, ink
from manifuse.study.experiments.claims import MTL, TPC
from manifuse.study.experiments.comparison import MEAN
from manifuse.study.experiments.statistics import BASELINE, ORACLE, OURS, Summary
from manifuse.study.experiments.surface import Surface
from manifuse.study.experiments.toy import Metrics, merit

#: The bars of the paper's results figure, and colours for the rivals that stand between them and ours.
PAPER_BARS = {BASELINE: GREY, TPC: AMBER, MTL[0]: SKY, MTL[1]: ROSE}
RIVAL_COLOURS = (GREEN, YELLOW)

#: Accuracy below *Ind* at which a rival's bars would hide the differences of all others.
FAR_BELOW = 0.1

#: So many groups of bars are still legible side by side.
GROUPS_PER_LINE = 15


def draw_methods(accuracies: Mapping[str, Mapping[str, float]], *, title: str) -> Any:
    """Draw accuracy per task as one row of dots, an arrow from the predictor to its refinement.

    Parameters
    ----------
    accuracies : mapping of method to mapping of task to accuracy
        With the methods of `manifuse.study.experiments.methods.METHODS`.
    """
    figure, axes = blank(8.0, 0.52 * len(accuracies["Ind"]) + 1.5)
    tasks = list(accuracies["Ind"])
    places = np.arange(len(tasks))[::-1]
    for place, task in zip(places, tasks, strict=True):
        before, after = accuracies["Ind"][task], accuracies["JMD"][task]
        axes.annotate("", (after, place), (before, place), arrowprops={"arrowstyle": "-|>", "color": BLUE, "lw": 1.8})
    looks = {
        "Ind": ("o", GREY, "predictor alone"),
        "self-smoothing": ("s", ORANGE, "smoothed by itself, no reference"),
        "JMD": ("D", BLUE, "refined (joint manifold diffusion)"),
        "coupled oracle": ("|", GREEN, "oracle: references known on all rows"),
    }
    for method, (marker, colour, text) in looks.items():
        values = [accuracies[method][task] for task in tasks]
        axes.scatter(values, places, marker=marker, color=colour, s=52, label=text, zorder=3, linewidths=2)
    axes.axvline(max(accuracies["Ind"].values()), color=GREY, lw=0.9, ls=":", zorder=0)
    axes.set_yticks(places, tasks)
    axes.set_xlabel("ranking accuracy on test rows (dotted: best single predictor)")
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(axis="x", color=RULE, lw=0.7)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, frameon=False, fontsize=9)
    return figure


def draw_relevance(tasks: Sequence[str], relevance: FloatArray) -> Any:
    """Draw how main predictors (rows) align with references (columns) at their pairs; NaN stays blank."""
    figure, axes = blank(4.6, 4.0)
    image = axes.imshow(np.abs(relevance), cmap="cividis", vmin=0, vmax=1)
    for row, column in np.argwhere(np.isfinite(relevance)):
        value = abs(relevance[row, column])
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=ink(value))
    axes.set_xticks(range(len(tasks)), tasks, rotation=40, ha="right")
    axes.set_yticks(range(len(tasks)), tasks)
    axes.set_xlabel("reference")
    axes.set_ylabel("main predictor")
    figure.colorbar(image, ax=axes, fraction=0.046, label="|alignment| on the pairs")
    return figure


def draw_surface_of(surface: Surface, *, title: str) -> Any:
    """Draw the surface that a result row holds, the chosen cell marked."""
    return draw_cells(
        surface.values,
        surface.step_sizes,
        surface.weight_scales,
        (surface.step_size, surface.weight_scale),
        title=title,
        measure="accuracy on the labels, first round",
    )


def draw_results(summaries: Sequence[Summary]) -> Any:
    """Draw the paper's results figure: accuracy per task and method, a panel per dataset, bars ± one sd.

    Shown are the methods of the paper's figure and the strongest rivals (`rivals`), each where it has results.
    """
    pyplot = require("matplotlib.figure", extra="figures", purpose="Drawing")
    colours = {**PAPER_BARS, **dict(zip(rivals(summaries), RIVAL_COLOURS, strict=False)), OURS: BLUE}
    lines = _lines([summary for summary in summaries if summary.methods])
    figure = pyplot.Figure(figsize=(11.0, 2.75 * len(lines) + 0.4), layout="constrained")
    for part, line in zip(np.atleast_1d(figure.subfigures(len(lines), 1)), lines, strict=True):
        widths = [len(summary.tasks) + 1 for summary in line]
        panels = part.subplots(1, len(line), width_ratios=widths, squeeze=False)[0]
        for axes, summary in zip(panels, line, strict=True):
            _draw_bars(axes, summary, colours)
        panels[0].set_ylabel("ranking accuracy, %")
    shown = [method for method in colours if any(method in summary.methods for summary in summaries)]
    patches = require("matplotlib.patches", extra="figures", purpose="Drawing")
    figure.legend(
        handles=[patches.Patch(color=colours[method], label=method) for method in shown],
        loc="outside upper left",
        ncols=len(shown),
        frameon=False,
        fontsize=9.5,
        handlelength=1.1,
    )
    return figure


def rivals(summaries: Sequence[Summary]) -> list[str]:
    """Name the strongest methods besides the paper's: the best in the mean on most datasets, two at most.

    One that is good on a single set and far below *Ind* on another is left out: its bars would set the scale.

    Variants of JMD and TPC are not rivals, nor is the oracle, which knows what no method may.
    """
    first: list[str] = []
    for summary in summaries:
        means = {
            method: summary.spread(method, MEAN).mean
            for method in summary.methods
            if method not in PAPER_BARS and method != ORACLE and not method.startswith(("JMD", "TPC"))
        }
        known = {method: mean for method, mean in means.items() if np.isfinite(mean)}
        if known:
            first.append(max(known, key=known.__getitem__))
    legible = [method for method in dict.fromkeys(first) if not any(_is_far_below(each, method) for each in summaries)]
    return sorted(legible, key=first.count, reverse=True)[: len(RIVAL_COLOURS)]


def _is_far_below(summary: Summary, method: str) -> bool:
    return bool(summary.spread(method, MEAN).mean < summary.spread(BASELINE, MEAN).mean - FAR_BELOW)


def draw_toy(metrics: Metrics) -> Any:
    """Draw the paper's three panels: the true metric, over the first bridges, after joint diffusion."""
    pyplot = require("matplotlib.figure", extra="figures", purpose="Drawing")
    figure = pyplot.Figure(figsize=(10.5, 3.7), layout="constrained")
    panels = figure.subplots(1, 3)
    for axes, (title, metric) in zip(
        panels,
        {
            "true metric (coupled)": metrics.true,
            "over the first bridges": metrics.first,
            "after joint diffusion": metrics.final,
        }.items(),
        strict=True,
    ):
        image = axes.imshow(metric, cmap="cividis", vmin=0, vmax=1)
        found = merit(metric, metrics.true)
        axes.set_title(title, fontsize=11)
        axes.set_xlabel(
            f"correlation with the truth {found.correlation:.2f}\n"
            f"groups {found.within:.2f}, elsewhere {found.elsewhere:.2f}"
        )
        axes.set_xticks(range(0, 12, 4), ["1", "5", "9"])
        axes.set_yticks(range(0, 12, 4), ["1", "5", "9"])
    figure.colorbar(image, ax=panels, fraction=0.02, label="|alignment|")
    return figure


def _draw_bars(axes: Any, summary: Summary, colours: Mapping[str, str]) -> None:
    """Draw a group of bars per task, and one for the mean over tasks."""
    groups = (*summary.tasks, MEAN)
    # The mean stands a little apart.
    places = np.arange(len(groups)) + np.where(np.arange(len(groups)) == len(groups) - 1, 0.25, 0.0)
    methods = [method for method in colours if method in summary.methods]
    width = 0.84 / max(len(methods), 1)
    lows, highs = [1.0], [0.0]
    for number, method in enumerate(methods):
        spreads = [summary.spread(method, group) for group in groups]
        means, deviations = (np.array([getattr(each, name) for each in spreads]) for name in ("mean", "deviation"))
        at = places + (number - (len(methods) - 1) / 2) * width
        look = {"elinewidth": 0.8, "capsize": 1.2, "capthick": 0.8, "ecolor": "#333333"}
        bars = {"color": colours[method], "edgecolor": "white", "linewidth": 0.4, "error_kw": look}
        axes.bar(at, 100 * means, width, yerr=100 * deviations, **bars)
        lows.append(np.nanmin(means - np.nan_to_num(deviations), initial=1.0))
        highs.append(np.nanmax(means + np.nan_to_num(deviations), initial=0.0))
    # Twentieths below (and no bar vanishes) and above: bars from zero would leave no room for what is to be seen.
    axes.set_ylim(100 * np.floor(20 * min(lows) - 0.3) / 20, 100 * min(np.ceil(20 * max(highs)) / 20, 1.0))
    axes.set_xlim(places[0] - 0.6, places[-1] + 0.6)
    axes.set_xticks(places, [*summary.tasks, "mean"], rotation=30, ha="right", rotation_mode="anchor", fontsize=8.5)
    axes.set_title(summary.title, loc="left", fontsize=11)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=RULE, lw=0.7)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _lines(summaries: Sequence[Summary]) -> list[list[Summary]]:
    """Put panels side by side while they are legible, in their order."""
    lines: list[list[Summary]] = []
    for summary in summaries:
        if lines and sum(len(other.tasks) + 1 for other in (*lines[-1], summary)) <= GROUPS_PER_LINE:
            lines[-1].append(summary)
        else:
            lines.append([summary])
    return lines
