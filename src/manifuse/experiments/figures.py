"""Figures, drawn with matplotlib and returned as SVG text or saved by the caller."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manifuse.diffusion.refinement import Choice
from manifuse.errors import require
from manifuse.experiments.toy import Metrics, merit
from manifuse.kernels.arrays import FloatArray

#: Colours that stay apart for colour-blind readers (Okabe and Ito).
GREY, ORANGE, BLUE, GREEN = "#8a8a8a", "#d55e00", "#0072b2", "#009e73"


def draw_methods(accuracies: Mapping[str, Mapping[str, float]], *, title: str) -> Any:
    """Draw accuracy per task as one row of dots, an arrow from the predictor to its refinement.

    Parameters
    ----------
    accuracies : mapping of method to mapping of task to accuracy
        With the methods of `manifuse.experiments.decoupled.METHODS`.
    """
    figure, axes = _figure(8.0, 0.52 * len(accuracies["Ind"]) + 1.5)
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
    axes.grid(axis="x", color="#e4e4e4", lw=0.7)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, frameon=False, fontsize=9)
    return figure


def draw_relevance(tasks: Sequence[str], relevance: FloatArray) -> Any:
    """Draw how main predictors (rows) align with references (columns) at their pairs; NaN stays blank."""
    figure, axes = _figure(4.6, 4.0)
    image = axes.imshow(np.abs(relevance), cmap="cividis", vmin=0, vmax=1)
    for row, column in np.argwhere(np.isfinite(relevance)):
        value = abs(relevance[row, column])
        axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8, color=_ink(value))
    axes.set_xticks(range(len(tasks)), tasks, rotation=40, ha="right")
    axes.set_yticks(range(len(tasks)), tasks)
    axes.set_xlabel("reference")
    axes.set_ylabel("main predictor")
    figure.colorbar(image, ax=axes, fraction=0.046, label="|alignment| on the pairs")
    return figure


def draw_surface(choice: Choice, *, title: str) -> Any:
    """Draw the accuracy on the labels over the (delta, sigma²) grid, the chosen cell marked."""
    assert choice.surface is not None, "there is a surface only with labels"
    figure, axes = _figure(4.6, 4.0)
    image = axes.imshow(choice.surface, cmap="cividis", origin="lower", aspect="auto")
    row, column = choice.step_sizes.index(choice.step_size), choice.weight_scales.index(choice.weight_scale)
    axes.scatter([column], [row], marker="x", color="white", s=70, linewidths=2.5)
    axes.scatter([column], [row], marker="x", color=ORANGE, s=60, linewidths=1.6)
    axes.set_xticks(range(len(choice.weight_scales)), [f"{value:.3g}" for value in choice.weight_scales])
    axes.set_yticks(range(len(choice.step_sizes)), [f"{value:.3g}" for value in choice.step_sizes])
    axes.set_xlabel("weight scale σ²")
    axes.set_ylabel("step size δ")
    axes.set_title(title, loc="left", fontsize=11)
    figure.colorbar(image, ax=axes, fraction=0.046, label="accuracy on the labels, first round")
    return figure


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


def as_svg(figure: Any) -> str:
    """Return a figure as SVG text to be put into a page, the same bytes for the same figure."""
    matplotlib = require("matplotlib", extra="figures", purpose="Drawing")
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "manifuse", "svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    return text.getvalue()[text.getvalue().index("<svg") :]


def _figure(width: float, height: float) -> tuple[Any, Any]:
    pyplot = require("matplotlib.figure", extra="figures", purpose="Drawing")
    figure = pyplot.Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _ink(value: float) -> str:
    """Text colour that can be read on the cividis colour of ``value``."""
    return "white" if value < 0.6 else "black"
