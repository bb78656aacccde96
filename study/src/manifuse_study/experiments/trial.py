"""A trial: one random split of a data set, and its rankers. Each task of it is a `Case`; only cases score methods."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.tables.labels import RankLabels
from manifuse.tables.observations import Observations
from manifuse_study.datasets.dataset import Dataset
from manifuse_study.experiments.protocol import Protocol, Roles
from manifuse_study.ranking.selection import Candidate, best_family, select_ranker


@dataclass(frozen=True, eq=False)
class Trained:
    """A ranker of one task.

    Attributes
    ----------
    families : mapping of str to Candidate
        The best ranker of every family.
    scores : (n,) array
        Scores of the best ranker on all rows of the dataset. A `Case` shows a method only a part of them.
    seconds : float
        Wall time of the training.
    """

    families: Mapping[str, Candidate]
    scores: FloatArray
    seconds: float


@dataclass(frozen=True, eq=False)
class Rankers:
    """The rankers of one task: one makes the scores of its main table, the other its scores as a reference."""

    main: Trained
    reference: Trained


def train_rankers(dataset: Dataset, roles: Roles, task: str, *, deep: bool) -> Rankers:
    """Train both rankers of a task; they are the same ranker if their training rows are the same."""
    table, labels = np.asarray(standardise(dataset.tasks[task].features)), dataset.tasks[task].labels

    def train(rows: IndexArray, validation: IndexArray) -> Trained:
        start = time.perf_counter()
        families = select_ranker((table[rows], labels[rows]), (table[validation], labels[validation]), deep=deep)
        scores = families[best_family(families)].ranker.predict(table)
        return Trained(families, scores, time.perf_counter() - start)

    main = train(roles.train[task], roles.validation)
    if roles.reference_train[task] is roles.train[task]:
        return Rankers(main, main)
    return Rankers(main, train(roles.reference_train[task], roles.reference_validation[task]))


@dataclass(frozen=True, eq=False)
class Trial:
    """One random split of a dataset, with its rankers.

    Attributes
    ----------
    dataset : Dataset
    protocol : Protocol
    seed : int
        Draws the roles, and whatever a method draws.
    roles : Roles
    rankers : mapping of task to Rankers
    """

    dataset: Dataset
    protocol: Protocol
    seed: int
    roles: Roles
    rankers: Mapping[str, Rankers]

    @classmethod
    def prepare(cls, dataset: Dataset, protocol: Protocol, seed: int) -> Trial:
        """Draw the roles and train all rankers but the deep one."""
        roles = Roles.draw(dataset, protocol, seed)
        rankers = {task: train_rankers(dataset, roles, task, deep=False) for task in dataset.tasks}
        return cls(dataset, protocol, seed, roles, rankers)


@dataclass(frozen=True, eq=False)
class Case:
    """One task of one trial: the tables and the validation labels that a method sees, and the score of the result."""

    trial: Trial
    task: str

    @cached_property
    def main(self) -> Observations:
        """Table of the main predictor on the main rows."""
        rows = self.trial.roles.main_rows
        scores = self.trial.rankers[self.task].main.scores[rows]
        return Observations(scores, self.trial.dataset.tasks[self.task].features[rows], ids=rows, name=self.task)

    @property
    def others(self) -> list[str]:
        """All tasks but this one."""
        return [other for other in self.trial.dataset.tasks if other != self.task]

    @cached_property
    def references(self) -> list[Observations]:
        """Tables of the other tasks' predictors, as the protocol has them."""
        return self.tables_of_others(coupled=self.trial.protocol.kind == "coupled")

    def tables_of_others(self, *, coupled: bool) -> list[Observations]:
        """Return the other tasks' predictors, on the main rows without features or on the reference rows with them."""
        trial, tables = self.trial, []
        rows = trial.roles.main_rows if coupled else trial.roles.reference_rows
        for other in self.others:
            features = None if coupled else trial.dataset.tasks[other].features[rows]
            tables.append(Observations(trial.rankers[other].reference.scores[rows], features, ids=rows, name=other))
        return tables

    @cached_property
    def rows(self) -> IndexArray:
        """Positions of the validation rows among the main rows, shape (v,)."""
        return self._positions(self.trial.roles.validation)

    @property
    def grades(self) -> FloatArray:
        """Labels of the validation rows, shape (v,)."""
        return self.trial.dataset.tasks[self.task].labels[self.trial.roles.validation]

    @property
    def labels(self) -> RankLabels:
        """Labels of the validation rows, as `refine` takes them."""
        return RankLabels(self.trial.roles.validation, self.grades)

    def accuracy(self, predictions: FloatArray) -> float:
        """Ranking accuracy on the validation rows of predictions (n,) for the main rows."""
        return ranking_accuracy(self.grades, predictions[self.rows])

    def test_accuracy(self, predictions: FloatArray) -> float:
        """Ranking accuracy on the test rows of predictions (n,) for the main rows; no method calls this."""
        test = self.trial.roles.test
        labels = self.trial.dataset.tasks[self.task].labels[test]
        return ranking_accuracy(labels, predictions[self._positions(test)])

    def test_error(self, predictions: FloatArray) -> float:
        """Root mean squared error on the test rows of predictions (n,) for the main rows; no method calls this."""
        test = self.trial.roles.test
        errors = predictions[self._positions(test)] - self.trial.dataset.tasks[self.task].labels[test]
        return float(np.sqrt(np.mean(errors**2)))

    def _positions(self, rows: IndexArray) -> IndexArray:
        """Positions of rows of the dataset among the main rows, which contain them all."""
        main_rows = self.trial.roles.main_rows
        order = np.argsort(main_rows)
        return np.asarray(order[np.searchsorted(main_rows[order], rows)])
