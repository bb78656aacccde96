"""The decoupled protocol (section 3.2.2, D-F): the only place where a decoupled trial is split and scored.

Rows are drawn into pairs (200, known on both sides), a main half and a reference half. The main ranker is
trained on 200 rows of the main half, and 200 others validate it and choose the method's hyperparameters;
what is left of the main half is the test set, used for nothing else. Every reference ranker is trained and
validated on rows of the reference half, drawn anew for each: whoever made it did not see the main half.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from manifuse.baselines.smoothing import self_smoothing
from manifuse.datasets.dataset import Dataset
from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.problem import Problem
from manifuse.diffusion.refine import refine
from manifuse.diffusion.refinement import Refinement
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.ranking.accuracy import ranking_accuracy
from manifuse.ranking.selection import select_ranker

PAIRS, TRAINING, VALIDATION = 200, 200, 200


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of one trial, as indices into the dataset."""

    pairs: IndexArray
    main_half: IndexArray
    reference_half: IndexArray

    @classmethod
    def draw(cls, rows: int, rng: np.random.Generator) -> Split:
        """Draw a split of ``rows`` rows."""
        order = rng.permutation(rows)
        middle = PAIRS + (rows - PAIRS) // 2
        return cls(order[:PAIRS], order[PAIRS:middle], order[middle:])

    @property
    def train(self) -> IndexArray:
        """Rows that train the main ranker."""
        return self.main_half[:TRAINING]

    @property
    def validation(self) -> IndexArray:
        """Rows that validate the main ranker and choose the method's hyperparameters."""
        return self.main_half[TRAINING : TRAINING + VALIDATION]

    @property
    def test(self) -> IndexArray:
        """Rows used for nothing else."""
        return self.main_half[TRAINING + VALIDATION :]

    @property
    def main_rows(self) -> IndexArray:
        """Rows of the main table."""
        return np.concatenate([self.pairs, self.main_half])

    @property
    def reference_rows(self) -> IndexArray:
        """Rows of every reference table."""
        return np.concatenate([self.pairs, self.reference_half])


@dataclass(frozen=True, eq=False)
class Trial:
    """One split of a dataset with a ranker for every view on either side.

    Attributes
    ----------
    dataset : Dataset
    split : Split
    main_scores, reference_scores : dict of str to (n,) array
        Scores of every view's main and reference ranker on all rows of the dataset. What a method may see
        of them is decided by the tables made from them.
    """

    dataset: Dataset
    split: Split
    main_scores: dict[str, FloatArray]
    reference_scores: dict[str, FloatArray]

    @classmethod
    def prepare(cls, dataset: Dataset, seed: int, tick: Callable[[], None] = lambda: None) -> Trial:
        """Draw the split and train the rankers; ``tick`` is called after each of them."""
        rng = np.random.default_rng(seed)
        split = Split.draw(len(dataset), rng)
        main_scores, reference_scores = {}, {}
        for view, features in dataset.views.items():
            table = standardise(features)
            main_scores[view] = _train(table, dataset.labels, split.train, split.validation)
            tick()
            drawn = rng.permutation(split.reference_half)[: TRAINING + VALIDATION]
            reference_scores[view] = _train(table, dataset.labels, drawn[:TRAINING], drawn[TRAINING:])
            tick()
        return cls(dataset, split, main_scores, reference_scores)

    def main(self, view: str) -> Observations:
        """Table of the main predictor on the main rows."""
        rows = self.split.main_rows
        return Observations(self.main_scores[view][rows], self.dataset.views[view][rows], ids=rows, name=view)

    def references(self, view: str) -> list[Observations]:
        """Tables of the other views' predictors on the reference rows."""
        rows = self.split.reference_rows
        return [
            Observations(self.reference_scores[other][rows], features[rows], ids=rows, name=other)
            for other, features in self.dataset.views.items()
            if other != view
        ]

    def coupled_references(self, view: str) -> list[Observations]:
        """Return what only an oracle knows: the other views' predictors on the main rows."""
        rows = self.split.main_rows
        return [
            Observations(self.reference_scores[other][rows], ids=rows, name=other)
            for other in self.dataset.views
            if other != view
        ]

    def labels(self) -> RankLabels:
        """Labels of the validation rows."""
        rows = self.split.validation
        return RankLabels(rows, self.dataset.labels[rows])

    def test_accuracy(self, predictions: FloatArray) -> float:
        """Ranking accuracy on the test rows of predictions for the main rows."""
        start = len(self.split.main_rows) - len(self.split.test)
        return ranking_accuracy(self.dataset.labels[self.split.test], predictions[start:])


@dataclass(frozen=True)
class Result:
    """Test accuracy of one method on one task of one trial."""

    task: str
    method: str
    accuracy: float
    seconds: float


#: What is compared: the predictor as it is, the control, the method without and with labels, the ceiling.
METHODS = ("Ind", "self-smoothing", "JMD without labels", "JMD", "coupled oracle")


def run_task(trial: Trial, view: str, method: JointDiffusion, seed: int) -> Iterator[tuple[Result, Refinement | None]]:
    """Run every method with ``view`` as the main predictor; refinements come with their result."""
    main, labels = trial.main(view), trial.labels()
    references = trial.references(view)
    refinements = {
        "JMD without labels": lambda: refine(main, references, method=method, rng=seed),
        "JMD": lambda: refine(main, references, labels=labels, method=method, rng=seed),
        "coupled oracle": lambda: refine(
            main, trial.coupled_references(view), labels=labels, method=replace(method, safeguarded=False), rng=seed
        ),
    }
    for name in METHODS:
        start = time.perf_counter()
        refinement = refinements[name]() if name in refinements else None
        if refinement is not None:
            predictions = refinement.predictions
        elif name == "self-smoothing":
            score = Problem.of(main, references).score(labels, regression=False)
            predictions = self_smoothing(main, score, np.random.default_rng(seed))
        else:
            predictions = main.scores
        seconds = time.perf_counter() - start
        yield Result(view, name, trial.test_accuracy(predictions), seconds), refinement


def _train(table: FloatArray, labels: FloatArray, train: IndexArray, validation: IndexArray) -> FloatArray:
    selected = select_ranker((table[train], labels[train]), (table[validation], labels[validation]))
    return selected.ranker.predict(table)
