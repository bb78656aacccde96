"""Figures of stored results and of the toy tasks."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from manifuse.report.drawing import AMBER, BLUE, GREEN, GREY, ORANGE, PAGE_WIDTH, ROSE, RULE, SKY, blank
from manifuse_study.experiments.claims import MTL, TPC
from manifuse_study.experiments.comparison import MEAN
from manifuse_study.experiments.payoff import Payoff
from manifuse_study.experiments.statistics import BASELINE, OURS, Summary, knows_more
from manifuse_study.experiments.toy import Metrics, merit

#: The methods of the paper's results figure with their colours, and the colours of the rivals beside them.
PAPER_BARS = {BASELINE: GREY, TPC: AMBER, MTL[0]: SKY, MTL[1]: ROSE}
RIVAL_COLOURS = (GREEN, "#f0e442")

#: A rival this far below *Ind* is not drawn, because its bars would hide the differences between all others.
FAR_BELOW = 0.1

#: Gains of this many points have the full colour of a map.
FULL = 4.0

#: The most groups of bars that are legible side by side.
GROUPS_PER_LINE = 15


def draw_results(summaries: Sequence[Summary]) -> Any:
    """Draw the paper's results figure: accuracy per task and method, a panel per data set, bars ± one sd.

    It shows the methods of the paper's figure and the strongest rivals (`rivals`), each where it has results.
    """
    pyplot = import_module("matplotlib.figure")
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
    patches = import_module("matplotlib.patches")
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
    """Name the strongest methods besides the paper's: the best in the mean on most data sets, two at most.

    A method that is far below *Ind* on some data set is left out, because its bars would set the scale. Variants of
    JMD and TPC are not rivals, nor are methods that know more than the others.
    """
    first: list[str] = []
    for summary in summaries:
        means = {
            method: summary.spread(method, MEAN).mean
            for method in summary.methods
            if method not in PAPER_BARS and not knows_more(method) and not method.startswith(("JMD", "TPC"))
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
    figure, panels = blank(10.5, 3.7, columns=3)
    shown = {
        "true metric (coupled)": metrics.true,
        "over the first bridges": metrics.first,
        "after joint diffusion": metrics.final,
    }
    for axes, (title, metric) in zip(panels, shown.items(), strict=True):
        image = axes.imshow(metric, cmap="cividis", vmin=0, vmax=1)
        found = merit(metric, metrics.true)
        axes.set_title(title, fontsize=11)
        axes.set_xlabel(
            f"correlation with the truth {found['correlation']:.2f}\n"
            f"groups {found['within']:.2f}, elsewhere {found['elsewhere']:.2f}"
        )
        axes.set_xticks(range(0, 12, 4), ["1", "5", "9"])
        axes.set_yticks(range(0, 12, 4), ["1", "5", "9"])
    figure.colorbar(image, ax=panels, fraction=0.02, label="|alignment|")
    return figure


def draw_payoffs(maps: Mapping[str, Mapping[tuple[int, int], Payoff]]) -> Any:
    """Draw a map for each data set and each of the three numbers, labels upwards by pairs, in one scale of points.

    Parameters
    ----------
    maps : mapping of title to mapping of (labels, pairs) to Payoff
    """
    lines = {"over_alone": "over alone", "over_rival": "over the best rival", "worth": "worth of references"}
    pyplot = import_module("matplotlib.figure")
    figure = pyplot.Figure(figsize=(2.6 * len(maps) + 1.2, 8.0), layout="constrained")
    panels = figure.subplots(len(lines), len(maps), squeeze=False)
    for column, (title, found) in enumerate(maps.items()):
        labels, pairs = (sorted({cell[axis] for cell in found}) for axis in (0, 1))
        for axes, (number, name) in zip(panels[:, column], lines.items(), strict=True):
            values = np.full((len(labels), len(pairs)), np.nan)
            for (count, pair), payoff in found.items():
                values[labels.index(count), pairs.index(pair)] = getattr(payoff, number)
            image = axes.imshow(values, cmap="PuOr", vmin=-FULL, vmax=FULL, origin="lower", aspect="auto")
            for place in np.argwhere(np.isfinite(values)):
                value = values[tuple(place)]
                colour = "white" if abs(value) > 0.5 * FULL else "black"
                axes.text(place[1], place[0], f"{value:+.1f}", ha="center", va="center", fontsize=8, color=colour)
            axes.set_xticks(range(len(pairs)), map(str, pairs))
            axes.set_yticks(range(len(labels)), map(str, labels))
            axes.set_title(f"{title}\n{name}", loc="left", fontsize=9.5)
        panels[-1, column].set_xlabel("pairs")
    for axes in panels[:, 0]:
        axes.set_ylabel("labels")
    figure.colorbar(image, ax=panels, fraction=0.02, label="points", extend="both")
    return figure


def _draw_bars(axes: Any, summary: Summary, colours: Mapping[str, str]) -> None:
    """Draw a group of bars per task, and one for the mean over tasks."""
    groups = (*summary.tasks, MEAN)
    positions = np.arange(len(groups), dtype=float)
    # A little distance sets the mean apart.
    positions[-1] += 0.25
    methods = [method for method in colours if method in summary.methods]
    width = 0.84 / max(len(methods), 1)
    lows, highs = [1.0], [0.0]
    for number, method in enumerate(methods):
        spreads = [summary.spread(method, group) for group in groups]
        means, deviations = (np.array([getattr(each, name) for each in spreads]) for name in ("mean", "deviation"))
        at = positions + (number - (len(methods) - 1) / 2) * width
        look = {"elinewidth": 0.8, "capsize": 1.2, "capthick": 0.8, "ecolor": "#333333"}
        bars = {"color": colours[method], "edgecolor": "white", "linewidth": 0.4, "error_kw": look}
        axes.bar(at, 100 * means, width, yerr=100 * deviations, **bars)
        lows.append(np.nanmin(means - np.nan_to_num(deviations), initial=1.0))
        highs.append(np.nanmax(means + np.nan_to_num(deviations), initial=0.0))
    # To the next twentieth below, so that no bar vanishes, and above: bars from zero would hide the differences.
    axes.set_ylim(100 * np.floor(20 * min(lows) - 0.3) / 20, 100 * min(np.ceil(20 * max(highs)) / 20, 1.0))
    axes.set_xlim(positions[0] - 0.6, positions[-1] + 0.6)
    axes.set_xticks(positions, [*summary.tasks, "mean"], rotation=30, ha="right", rotation_mode="anchor", fontsize=8.5)
    axes.set_title(summary.title, loc="left", fontsize=11)
    axes.set_axisbelow(True)
    axes.grid(axis="y", color=RULE, lw=0.7)
    axes.spines[["top", "right"]].set_visible(False)


def _lines(summaries: Sequence[Summary]) -> list[list[Summary]]:
    """Put panels side by side, in their order, as many as are legible."""
    lines: list[list[Summary]] = []
    for summary in summaries:
        if lines and sum(len(other.tasks) + 1 for other in (*lines[-1], summary)) <= GROUPS_PER_LINE:
            lines[-1].append(summary)
        else:
            lines.append([summary])
    return lines


def draw_surface(
    choice: Mapping[str, Any], *, title: str = "", measure: str = "accuracy on the labels, first round"
) -> Any:
    """Draw the score of every cell of the (delta, sigma²) grid, and mark the chosen cell.

    Parameters
    ----------
    choice : mapping
        ``surface``, the (step sizes, weight scales) values; ``step_sizes`` and ``weight_scales``, the axes; and
        ``step_size`` and ``weight_scale``, which were chosen from them.
    title : str
    measure : str
        What the values are.
    """
    figure, axes = blank(PAGE_WIDTH, 4.0)
    step_sizes, weight_scales = choice["step_sizes"], choice["weight_scales"]
    values = np.array(choice["surface"], dtype=np.float64)
    image = axes.imshow(values, cmap="cividis", origin="lower", aspect="auto")
    row, column = step_sizes.index(choice["step_size"]), weight_scales.index(choice["weight_scale"])
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


def as_pdf(figure: Any) -> bytes:
    """Return a figure as PDF in which text stays text; the same figure gives the same bytes."""
    matplotlib = import_module("matplotlib")
    content = io.BytesIO()
    with matplotlib.rc_context({"pdf.fonttype": 42}):
        figure.savefig(content, format="pdf", metadata={"CreationDate": None})
    return content.getvalue()
