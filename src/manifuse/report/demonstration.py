"""The demo: the decoupled protocol on handwritten digits, as tables and as a page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from manifuse.evidence.gain import Gain
from manifuse.grid import ABSENT, Grid, strong_if
from manifuse.kernels.arrays import IndexArray
from manifuse.refinement import Refinement
from manifuse.report.drawing import BLUE, GREEN, GREY, ORANGE, PAGE_WIDTH, RULE, blank, draw_alignments
from manifuse.report.markup import render
from manifuse.study.datasets.dataset import Dataset
from manifuse.study.experiments.methods import METHODS
from manifuse.study.experiments.plan import EXPERIMENTS
from manifuse.study.experiments.trial import Case, Trial
from manifuse.wording import COLUMNS

#: The methods shown, with their headings: the predictor itself, the control, the method without and with labels, the
#: ceiling.
SHOWN = {
    "Ind": "alone",
    "self-smoothing": "self-smoothed",
    "JMD, no labels": "refined, no labels",
    "JMD": "refined",
    "coupled oracle": "if all knew all rows",
}

#: The view of HW that is a picture, the shape of that picture, and how many rows are drawn in their order.
PIXELS, PIXEL_SHAPE, DRAWN = "pix", (16, 15), 16


@dataclass(frozen=True, eq=False)
class Demonstration:
    """What the demo found.

    Attributes
    ----------
    dataset : Dataset
    splits, seed : int
        The number of random splits, and the seed of the first.
    accuracies : mapping of method to mapping of view to float
        Mean test accuracy over the splits.
    refinements : mapping of view to Refinement
        With labels, of the last split.
    test : (t,) array of int
        Rows of the dataset that the last split is judged on.
    """

    dataset: Dataset
    splits: int
    seed: int
    accuracies: Mapping[str, Mapping[str, float]]
    refinements: Mapping[str, Refinement]
    test: IndexArray

    @property
    def best_single(self) -> float:
        """Accuracy of the best predictor alone."""
        return max(self.accuracies["Ind"].values())

    def mean(self, method: str) -> float:
        """Mean accuracy over the views."""
        return float(np.mean(list(self.accuracies[method].values())))


def demonstrate(dataset: Dataset, *, splits: int, seed: int, tick: Callable[[], None] = lambda: None) -> Demonstration:
    """Run every method on every view of every split; ``tick`` is called after each ranker and each method."""
    collected, refinements = defaultdict(list), {}
    for split in range(seed, seed + splits):
        trial = Trial.prepare(dataset, EXPERIMENTS[dataset.name].protocol, split, tick=tick)
        for view in dataset.tasks:
            for method in SHOWN:
                case = Case(trial, view)
                outcome = METHODS[method].run(case)
                collected[method, view].append(case.test_accuracy(outcome.predictions))
                if method == "JMD" and outcome.refinement is not None:
                    refinements[view] = outcome.refinement
                tick()
    means = {method: {view: float(np.mean(collected[method, view])) for view in dataset.tasks} for method in SHOWN}
    return Demonstration(dataset, splits, seed, means, refinements, trial.roles.test)


def accuracy_grid(found: Demonstration) -> Grid:
    """Accuracy on test rows, main predictors by methods."""

    def texts(values: Iterable[float]) -> list[str]:
        return [strong_if(method == "JMD", f"{value:.1%}") for method, value in zip(SHOWN, values, strict=True)]

    return Grid(
        head=("main predictor", *SHOWN.values()),
        body=tuple((view, *texts(found.accuracies[method][view] for method in SHOWN)) for view in found.dataset.tasks),
        foot=(("mean", *texts(map(found.mean, SHOWN))),),
    )


def lessons(found: Demonstration) -> list[str]:
    """Say where labels do worse than no labels, and why that may be; no sentence if they do so nowhere."""
    lost = {
        view: found.accuracies["JMD, no labels"][view] - found.accuracies["JMD"][view] for view in found.dataset.tasks
    }
    worse = [f"{view} by {100 * loss:.1f} points" for view, loss in lost.items() if loss > 0]
    if not worse:
        return []
    return [
        f"With labels the accuracy is lower than without: {', '.join(worse)}. There the references know nearly all "
        "that can be known, and a few hundred labels are noisier than they are."
    ]


def images_of(dataset: Dataset) -> NDArray[Any] | None:
    """Return pictures of the rows, (n, height, width), or None if the data set has none."""
    if dataset.name == "digits":
        return np.asarray(load_digits().images)
    pixels = dataset.tasks.get(PIXELS)
    return None if pixels is None else pixels.features.reshape(len(dataset), *PIXEL_SHAPE)


def draw_orders(found: Demonstration) -> Any:
    """Draw test rows in the order of their scores, before and after; None if the data set has no pictures.

    Shown is the predictor that gains most.
    """
    images = images_of(found.dataset)
    if images is None:
        return None
    accuracies = found.accuracies
    view = max(found.refinements, key=lambda view: accuracies["JMD"][view] - accuracies["Ind"][view])
    result = found.refinements[view]
    rows = result.main.keys.astype(np.intp)
    tested = np.flatnonzero(np.isin(rows, found.test))
    figure, panels = blank(PAGE_WIDTH, 1.7, rows=2)
    before, after = ("Ind", result.main.scores), ("JMD", result.scores)
    for axes, (method, scores) in zip(panels, (before, after), strict=True):
        order = tested[np.argsort(scores[tested], kind="stable")]
        shown = rows[order[np.linspace(0, len(order) - 1, DRAWN).astype(np.intp)]]
        axes.imshow(np.hstack([images[row] for row in shown]), cmap="binary")
        axes.set_title(f"{view}, {SHOWN[method]}", loc="left", fontsize=10)
        axes.set_axis_off()
    return figure


def relevance_grid(found: Demonstration) -> Grid:
    """What is known of every reference, in the mean over main predictors; the columns as those of `RelevanceTable`."""

    def line(view: str) -> tuple[str, ...]:
        entries = [entry for result in found.refinements.values() for entry in result.relevance if entry.name == view]

        def mean(number: str, form: str = ".2f") -> str:
            return format(float(np.mean([abs(getattr(entry, number)) for entry in entries])), form)

        measured = (mean("held_out_alignment"), mean("chance_alignment"), mean("fidelity"), mean("reached", ".0%"))
        return (view, mean_worth(entry.worth for entry in entries), mean("weight"), *measured)

    head = ("reference", "worth", "weight", "agrees", "chance", "imputed", "known")
    together = mean_worth(result.worth for result in found.refinements.values())
    return Grid(head, tuple(map(line, found.refinements)), (("all together", together, *[ABSENT] * 5),))


def mean_worth(worths: Iterable[Gain | None]) -> str:
    """Mean of worths and of their standard errors, as text: all are measured on the same labels, so errors add up."""
    known = [worth for worth in worths if worth is not None]
    if not known:
        return ABSENT
    value, error = (float(np.mean([getattr(worth, name) for worth in known])) for name in ("value", "standard_error"))
    return Gain(value, error, known[0].rows, known[0].measure).text(signed=True)


def demonstration_page(found: Demonstration) -> str:
    """Return the page as HTML, with its figures and its style inside."""
    return render(
        "demonstration.html",
        room="manifuse.study.experiments",
        found=found,
        protocol=EXPERIMENTS[found.dataset.name].protocol,
        better=sum(accuracy > found.best_single for accuracy in found.accuracies["JMD"].values()),
        accuracy=accuracy_grid(found),
        relevance=relevance_grid(found),
        columns=" ".join(COLUMNS),
        chance=max(entry.chance_alignment for result in found.refinements.values() for entry in result.relevance),
        lessons=lessons(found),
        orders=draw_orders(found),
        drawn=DRAWN,
        accuracies=draw_accuracies(found),
        alignments=draw_pairs(found),
        worths=draw_worths(found),
    )


def draw_accuracies(found: Demonstration) -> Any:
    """Draw accuracy per main predictor as one row of marks, with an arrow from the predictor to its refinement."""
    accuracies, views = found.accuracies, list(found.dataset.tasks)
    figure, axes = blank(8.0, 0.52 * len(views) + 1.5)
    heights = np.arange(len(views))[::-1]
    for height, view in zip(heights, views, strict=True):
        before, after = (accuracies["Ind"][view], height), (accuracies["JMD"][view], height)
        axes.annotate("", after, before, arrowprops={"arrowstyle": "-|>", "color": BLUE, "lw": 1.8})
    looks = {
        "Ind": ("o", GREY, "predictor alone"),
        "self-smoothing": ("s", ORANGE, "smoothed by itself, no reference"),
        "JMD": ("D", BLUE, "refined (joint manifold diffusion)"),
        "coupled oracle": ("|", GREEN, "if all references knew all rows"),
    }
    for method, (marker, colour, text) in looks.items():
        values = [accuracies[method][view] for view in views]
        axes.scatter(values, heights, marker=marker, color=colour, s=52, label=text, zorder=3, linewidths=2)
    axes.axvline(found.best_single, color=GREY, lw=0.9, ls=":", zorder=0)
    axes.set_yticks(heights, views)
    axes.set_xlabel("ranking accuracy on test rows (dotted: best single predictor)")
    axes.set_title(found.dataset.title, loc="left", fontsize=11)
    axes.grid(axis="x", color=RULE, lw=0.7)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2, frameon=False, fontsize=9)
    return figure


def draw_pairs(found: Demonstration) -> Any:
    """Draw the absolute alignment at the pairs, main predictors by references."""
    views = list(found.dataset.tasks)
    values = np.full((len(views), len(views)), np.nan)
    for row, view in enumerate(views):
        for entry in found.refinements[view].relevance:
            values[row, views.index(entry.name)] = abs(entry.held_out_alignment)
    figure = draw_alignments(values, views, measure="|alignment| on the pairs")
    figure.axes[0].set(xlabel="reference", ylabel="main predictor")
    return figure


def draw_worths(found: Demonstration) -> Any:
    """Draw what all references together are worth to each main predictor, with one standard error."""
    views = list(found.refinements)
    figure, axes = blank(PAGE_WIDTH, 0.52 * len(views) + 1.2)
    for height, view in zip(range(len(views))[::-1], views, strict=True):
        worth = found.refinements[view].worth
        if worth is not None:
            axes.errorbar(100 * worth.value, height, xerr=100 * worth.standard_error, fmt="D", color=BLUE, capsize=3)
    axes.axvline(0.0, color=GREY, lw=0.9, ls=":", zorder=0)
    axes.set_yticks(range(len(views))[::-1], views)
    axes.set(xlabel="points of accuracy lost without references", ylabel="main predictor")
    axes.grid(axis="x", color=RULE, lw=0.7)
    return figure
