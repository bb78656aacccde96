"""The demo: rankers of handwritten digits, each refined by the others, and a classifier, as tables."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from manifuse.datasets import Example, load_digit_halves, load_digits
from manifuse.grid import Grid, strong_if
from manifuse.kernels.arrays import FloatArray
from manifuse.rivals import smooth_alone
from manifuse.run.refine import refine
from manifuse.run.refinement import Refinement
from manifuse.tables.labels import RankLabels

#: The columns: the predictor itself, smoothed by its own features, and refined by labels, by references, by both.
ALONE, SMOOTHED, TAUGHT = "alone", "self-smoothed", "labels, no references"
UNLABELLED, REFINED = "refined, no labels", "refined"
SHOWN = (ALONE, SMOOTHED, TAUGHT, UNLABELLED, REFINED)

#: The classifier, and its columns.
CLASSIFIER, SHOWN_OF_CLASSES = "left halves", (ALONE, TAUGHT, UNLABELLED, REFINED)

#: Main rows with a label, of rankers and of the classifier.
LABELS, CLASS_LABELS = 200, 100


@dataclass(frozen=True, eq=False)
class Demonstration:
    """What the demo found.

    Attributes
    ----------
    accuracies : mapping of view to mapping of column to float
        Mean accuracy over the splits, on test rows, in [0, 1]; of the classifier the share of test rows whose class is
        right.
    refinements : mapping of view to Refinement
        By labels and references, of the last split.
    """

    accuracies: Mapping[str, Mapping[str, float]]
    refinements: Mapping[str, Refinement]

    @property
    def best_single(self) -> float:
        """Accuracy of the best ranker alone."""
        return max(self.accuracies[view][ALONE] for view in self.refinements)

    @property
    def most_helped(self) -> Refinement:
        """The refinement of the predictor to which references add most, beyond its own features and labels."""
        added = {view: self.accuracies[view][REFINED] - self.accuracies[view][TAUGHT] for view in self.refinements}
        return self.refinements[max(added, key=added.__getitem__)]


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
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    refinements = {}
    for split in range(seed, seed + splits):
        for view in views:
            example = load_digits(view, labels=LABELS, seed=split)
            scores, refinements[view] = scores_of(example, split)
            found[view].append({column: example.accuracy(each) for column, each in scores.items()})
            tick()
        found[CLASSIFIER].append(accuracies_of_classifier(split))
        tick()
    return Demonstration({view: _means(each) for view, each in found.items()}, refinements)


def _means(each: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The mean of every column."""
    return {column: float(np.mean([accuracies[column] for accuracies in each])) for column in each[0]}


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
    return Grid(("main classifier", *SHOWN_OF_CLASSES), (_line(CLASSIFIER, found.accuracies[CLASSIFIER]),))


def accuracy_grid(found: Demonstration) -> Grid:
    """Accuracy on test rows, main predictors by columns."""
    rankers = {view: found.accuracies[view] for view in found.refinements}
    return Grid(
        head=("main predictor", *SHOWN),
        body=tuple(_line(view, each) for view, each in rankers.items()),
        foot=(_line("mean", _means(list(rankers.values()))),),
    )


def _line(name: str, accuracies: Mapping[str, float]) -> tuple[str, ...]:
    return name, *(strong_if(column == REFINED, f"{value:.1%}") for column, value in accuracies.items())
