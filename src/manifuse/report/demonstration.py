"""The demo: rankers of handwritten digits, each refined by the others, and a classifier, as tables and as a page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_digits as load_images

from manifuse.datasets import PAIRS, TRAINING, Example, digit_halves, load_digit_halves, load_digits
from manifuse.evidence.gain import Gain
from manifuse.grid import ABSENT, Grid, strong_if
from manifuse.kernels.arrays import FloatArray
from manifuse.report.drawing import BLUE, GREEN, GREY, ORANGE, PAGE_WIDTH, RULE, blank, draw_alignments
from manifuse.report.markup import render
from manifuse.rivals import smooth_alone
from manifuse.run.refine import refine
from manifuse.run.refinement import Refinement
from manifuse.tables.labels import RankLabels
from manifuse.words.wording import COLUMNS

#: The columns: the predictor itself, smoothed by its own features, and refined by labels, by references, by both.
ALONE, SMOOTHED, TAUGHT = "alone", "self-smoothed", "labels, no references"
UNLABELLED, REFINED = "refined, no labels", "refined"
SHOWN = (ALONE, SMOOTHED, TAUGHT, UNLABELLED, REFINED)

#: The columns of the classifier.
SHOWN_OF_CLASSES = (ALONE, TAUGHT, UNLABELLED, REFINED)

#: Main rows with a label, of rankers and of the classifier, and test rows that are drawn in their order.
LABELS, CLASS_LABELS, DRAWN = 200, 100, 16


@dataclass(frozen=True, eq=False)
class Demonstration:
    """What the demo found.

    Attributes
    ----------
    splits, seed : int
        The number of random splits, and the seed of the first.
    accuracies : mapping of column to mapping of view to float
        Mean accuracy over the splits, on test rows, in [0, 1].
    classifier : mapping of column to float
        The same of the classifier: the share of test rows whose class is right.
    examples : mapping of view to Example
        The tables of the last split.
    refinements : mapping of view to Refinement
        By labels and references, of the last split.
    """

    splits: int
    seed: int
    accuracies: Mapping[str, Mapping[str, float]]
    classifier: Mapping[str, float]
    examples: Mapping[str, Example[RankLabels]]
    refinements: Mapping[str, Refinement]

    @property
    def best_single(self) -> float:
        """Accuracy of the best predictor alone."""
        return max(self.accuracies[ALONE].values())

    def mean(self, column: str) -> float:
        """Mean accuracy over the views."""
        return float(np.mean(list(self.accuracies[column].values())))


def demonstrate(
    views: Iterable[str], *, splits: int, seed: int, tick: Callable[[], None] = lambda: None
) -> Demonstration:
    """Refine the ranker of each view and the classifier in each split, and call ``tick`` after each of them.

    Parameters
    ----------
    views : iterable of str
        Of `load_digits`.
    splits, seed : int
        The number of random splits, and the seed of the first.
    tick : callable
    """
    found: dict[str, dict[str, list[float]]] = {column: defaultdict(list) for column in SHOWN}
    of_classes: dict[str, list[float]] = defaultdict(list)
    examples, refinements = {}, {}
    for split in range(seed, seed + splits):
        for view in views:
            examples[view] = load_digits(view, labels=LABELS, seed=split)
            scores, refinements[view] = scores_of(examples[view], split)
            for column, each in scores.items():
                found[column][view].append(examples[view].accuracy(each))
            tick()
        for column, accuracy in accuracies_of_classifier(split).items():
            of_classes[column].append(accuracy)
        tick()
    means = {column: {view: float(np.mean(each)) for view, each in of.items()} for column, of in found.items()}
    classifier = {column: float(np.mean(each)) for column, each in of_classes.items()}
    return Demonstration(splits, seed, means, classifier, examples, refinements)


def scores_of(example: Example[RankLabels], seed: int) -> tuple[dict[str, FloatArray], Refinement]:
    """Scores (n,) of the main rows for each column, and the refinement by labels and references."""
    main, references, labels = example.main, example.references, example.labels
    result = refine(main, references, labels, rng=seed)
    scores = {
        ALONE: main.scores,
        SMOOTHED: np.asarray(smooth_alone(main, (), labels, rng=seed)),
        TAUGHT: refine(main, [], labels, rng=seed).scores,
        UNLABELLED: refine(main, references, rng=seed).scores,
        REFINED: result.scores,
    }
    return scores, result


def accuracies_of_classifier(seed: int) -> dict[str, float]:
    """Share of test rows whose class is right, for each column: the left halves of digits, refined by right halves."""
    halves = load_digit_halves(labels=CLASS_LABELS, seed=seed)
    main, references, labels = halves.main, halves.references, halves.labels
    found = {
        ALONE: main.came,
        TAUGHT: refine(main, [], labels, rng=seed).predictions,
        UNLABELLED: refine(main, references, rng=seed).predictions,
        REFINED: refine(main, references, labels, rng=seed).predictions,
    }
    return {column: halves.accuracy(probabilities) for column, probabilities in found.items()}


def classifier_grid(found: Demonstration) -> Grid:
    """Accuracy of the classifier on test rows."""
    texts = (strong_if(column == REFINED, f"{found.classifier[column]:.1%}") for column in SHOWN_OF_CLASSES)
    return Grid(("main classifier", *SHOWN_OF_CLASSES), (("left halves", *texts),))


def accuracy_grid(found: Demonstration) -> Grid:
    """Accuracy on test rows, main predictors by columns."""

    def texts(values: Iterable[float]) -> list[str]:
        return [strong_if(column == REFINED, f"{value:.1%}") for column, value in zip(SHOWN, values, strict=True)]

    return Grid(
        head=("main predictor", *SHOWN),
        body=tuple((view, *texts(found.accuracies[column][view] for column in SHOWN)) for view in found.refinements),
        foot=(("mean", *texts(map(found.mean, SHOWN))),),
    )


def draw_orders(found: Demonstration) -> Any:
    """Draw test rows in the order of their scores, before and after, of the predictor that gains most."""
    before, after = found.accuracies[ALONE], found.accuracies[REFINED]
    view = max(found.refinements, key=lambda view: after[view] - before[view])
    result, test = found.refinements[view], found.examples[view].test
    images, rows = load_images().images, result.main.keys.astype(np.intp)
    figure, panels = blank(PAGE_WIDTH, 1.5, rows=2)
    for axes, (column, scores) in zip(panels, ((ALONE, result.main.scores), (REFINED, result.scores)), strict=True):
        order = test[np.argsort(scores[test], kind="stable")]
        shown = rows[order[np.linspace(0, len(order) - 1, DRAWN).astype(np.intp)]]
        axes.imshow(np.hstack([images[row] for row in shown]), cmap="binary")
        axes.set_title(f"{view}, {column}", loc="left", fontsize=10)
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

    head = ("name", "worth", "weight", "held_out_alignment", "chance_alignment", "fidelity", "reached")
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
        found=found,
        pairs=PAIRS,
        training=TRAINING,
        labels=LABELS,
        better=sum(accuracy > found.best_single for accuracy in found.accuracies[REFINED].values()),
        accuracy=accuracy_grid(found),
        classifier=classifier_grid(found),
        class_labels=CLASS_LABELS,
        halves=digit_halves,
        relevance=relevance_grid(found),
        columns=" ".join(COLUMNS),
        chance=max(entry.chance_alignment for result in found.refinements.values() for entry in result.relevance),
        orders=draw_orders(found),
        drawn=DRAWN,
        accuracies=draw_accuracies(found),
        alignments=draw_pairs(found),
    )


def draw_accuracies(found: Demonstration) -> Any:
    """Draw accuracy per main predictor as one row of marks, with an arrow from the predictor to its refinement."""
    accuracies, views = found.accuracies, list(found.refinements)
    figure, axes = blank(PAGE_WIDTH, 0.4 * len(views) + 1.9)
    heights = np.arange(len(views))[::-1]
    for height, view in zip(heights, views, strict=True):
        before, after = (accuracies[ALONE][view], height), (accuracies[REFINED][view], height)
        axes.annotate("", after, before, arrowprops={"arrowstyle": "-|>", "color": BLUE, "lw": 1.8})
    looks = {
        ALONE: ("o", GREY, "predictor alone"),
        SMOOTHED: ("s", ORANGE, "smoothed by itself, no reference"),
        TAUGHT: ("|", GREEN, "taught by labels, no reference"),
        REFINED: ("D", BLUE, "refined by labels and references"),
    }
    for column, (marker, colour, text) in looks.items():
        values = [accuracies[column][view] for view in views]
        axes.scatter(values, heights, marker=marker, color=colour, s=52, label=text, zorder=3, linewidths=2)
    axes.axvline(found.best_single, color=GREY, lw=0.9, ls=":", zorder=0)
    axes.set_yticks(heights, views)
    axes.set_xlabel("ranking accuracy on test rows")
    axes.set_title("Handwritten digits", loc="left", fontsize=11)
    axes.grid(axis="x", color=RULE, lw=0.7)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8.5)
    return figure


def draw_pairs(found: Demonstration) -> Any:
    """Draw the absolute alignment at the pairs, main predictors by references."""
    views = list(found.refinements)
    values = np.full((len(views), len(views)), np.nan)
    for row, view in enumerate(views):
        for entry in found.refinements[view].relevance:
            values[row, views.index(entry.name)] = abs(entry.held_out_alignment)
    figure = draw_alignments(values, views, measure="|alignment| on the pairs")
    figure.axes[0].set(xlabel="reference", ylabel="main predictor")
    return figure
