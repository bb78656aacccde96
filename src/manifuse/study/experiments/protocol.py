"""The protocols of section 3.2, and the only place where a trial is split and scored.

*Decoupled* (Cal7, NUS, HW, and the attributes of Shoes): rows are drawn into pairs, known on both sides, a main
half and a reference half. The main ranker is trained on rows of the main half, others of them validate it and choose
every method's hyperparameters; what is left of the main half is the test set. Every reference ranker is trained and
validated on rows of the reference side, drawn anew for each: whoever made it did not see the main half.

*Coupled* (PubFig, OSR, AWA): all predictors are known on all rows. The validation rows are common to all tasks; each
task draws a training sample of its own (trained on the same rows with the same features, references hold nothing
new); and the test rows are those that no ranker was trained on, the main one or another.

In both, test rows are used for nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.observations import Observations
from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise
from manifuse.study.datasets.dataset import Dataset
from manifuse.study.ranking.accuracy import ranking_accuracy
from manifuse.study.ranking.selection import Selected, select_ranker

#: Test rows below which a trial would measure nothing.
LEAST_TEST = 50

Kind = Literal["coupled", "decoupled"]


@dataclass(frozen=True)
class Protocol:
    """Which protocol, and how many rows play which part.

    Parameters
    ----------
    kind : {"coupled", "decoupled"}
    pairs : int
        Rows known on both sides; decoupled only.
    training, validation : int
        Rows of the main ranker. A reference ranker has as many to train on, and as many or what is left to validate.
    main_half : int, optional
        Rows of the main half, pairs apart; half of what is left by default. Decoupled only.
    region : int, optional
        Rows that training samples are drawn from; by default a sample of its own for every task. Coupled only.
    """

    kind: Kind
    pairs: int = 200
    training: int = 200
    validation: int = 200
    main_half: int | None = None
    region: int | None = None


@dataclass(frozen=True, eq=False)
class Roles:
    """Which row plays which part in one trial, as indices into the dataset.

    Attributes
    ----------
    main_rows, reference_rows : (n,) and (n',) array of int
        Rows of the main table and of every reference table, the pairs first.
    validation, test : arrays of int
        Of the main table.
    train : mapping of task to array of int
        Rows that train the main ranker.
    reference_train, reference_validation : mapping of task to array of int
        Rows that train and validate the reference ranker.
    """

    main_rows: IndexArray
    reference_rows: IndexArray
    validation: IndexArray
    test: IndexArray
    train: Mapping[str, IndexArray]
    reference_train: Mapping[str, IndexArray]
    reference_validation: Mapping[str, IndexArray]

    @classmethod
    def draw(cls, dataset: Dataset, protocol: Protocol, seed: int) -> Roles:
        """Draw the parts of one trial.

        Raises
        ------
        InputError
            If there are too few rows to test on.
        """
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(dataset))
        tasks = list(dataset.tasks)
        roles = (
            _draw_coupled(order, tasks, protocol, rng)
            if protocol.kind == "coupled"
            else _draw_decoupled(order, tasks, protocol, rng)
        )
        if len(roles.test) < LEAST_TEST:
            raise InputError(
                f"{dataset.name} has {len(dataset)} rows, which leaves {len(roles.test)} to test on under {protocol}; "
                f"at least {LEAST_TEST} are needed."
            )
        return roles


def _draw_decoupled(order: IndexArray, tasks: Sequence[str], protocol: Protocol, rng: np.random.Generator) -> Roles:
    rest = len(order) - protocol.pairs
    size = rest // 2 if protocol.main_half is None else protocol.main_half
    pairs, main_half, reference_half = np.split(order, [protocol.pairs, protocol.pairs + size])
    trained = protocol.training + protocol.validation
    # Where the reference half alone is too small to train on, pairs are trained on as well.
    pool = reference_half if len(reference_half) >= trained else np.concatenate([pairs, reference_half])
    drawn = {task: rng.permutation(pool)[:trained] for task in tasks}
    return Roles(
        main_rows=np.concatenate([pairs, main_half]),
        reference_rows=np.concatenate([pairs, reference_half]),
        validation=main_half[protocol.training : trained],
        test=main_half[trained:],
        train=dict.fromkeys(tasks, main_half[: protocol.training]),
        reference_train={task: rows[: protocol.training] for task, rows in drawn.items()},
        reference_validation={task: rows[protocol.training :] for task, rows in drawn.items()},
    )


def _draw_coupled(order: IndexArray, tasks: Sequence[str], protocol: Protocol, rng: np.random.Generator) -> Roles:
    size = protocol.training * len(tasks) if protocol.region is None else protocol.region
    validation, region, test = np.split(order, [protocol.validation, protocol.validation + size])
    if protocol.region is None:
        train = dict(zip(tasks, np.split(region, len(tasks)), strict=True)) if len(test) else {}
    else:
        train = {task: rng.permutation(region)[: protocol.training] for task in tasks}
    everything = np.arange(len(order))
    return Roles(
        main_rows=everything,
        reference_rows=everything,
        validation=validation,
        test=test,
        train=train,
        reference_train=train,
        reference_validation=dict.fromkeys(tasks, validation),
    )


@dataclass(frozen=True, eq=False)
class Trained:
    """Rankers of one task.

    Attributes
    ----------
    selected : Selected
        The best of every family, and which won.
    scores : (n,) array
        Of the one that won, on all rows of the dataset; what a method may see of them its tables decide.
    seconds : float
    """

    selected: Selected
    scores: FloatArray
    seconds: float


def train_rankers(dataset: Dataset, roles: Roles, task: str, *, deep: bool) -> tuple[Trained, Trained]:
    """Train the main and the reference ranker of a task; one and the same where their rows are the same."""
    table, labels = np.asarray(standardise(dataset.tasks[task].features)), dataset.tasks[task].labels

    def train(rows: IndexArray, validation: IndexArray) -> Trained:
        start = time.perf_counter()
        selected = select_ranker((table[rows], labels[rows]), (table[validation], labels[validation]), deep=deep)
        return Trained(selected, selected.ranker.predict(table), time.perf_counter() - start)

    main = train(roles.train[task], roles.validation)
    if roles.reference_train[task] is roles.train[task]:
        return main, main
    return main, train(roles.reference_train[task], roles.reference_validation[task])


@dataclass(frozen=True, eq=False)
class Trial:
    """One draw of a dataset with its rankers.

    Attributes
    ----------
    dataset : Dataset
    protocol : Protocol
    seed : int
    roles : Roles
    main, reference : mapping of task to Trained
    """

    dataset: Dataset
    protocol: Protocol
    seed: int
    roles: Roles
    main: Mapping[str, Trained]
    reference: Mapping[str, Trained]

    @classmethod
    def prepare(
        cls,
        dataset: Dataset,
        protocol: Protocol,
        seed: int,
        *,
        deep: bool = False,
        tick: Callable[[], None] = lambda: None,
    ) -> Trial:
        """Draw the parts and train all rankers, task by task; ``tick`` is called after each."""
        roles = Roles.draw(dataset, protocol, seed)
        trained = {}
        for task in dataset.tasks:
            trained[task] = train_rankers(dataset, roles, task, deep=deep)
            tick()
        return cls.of(dataset, protocol, seed, roles, trained)

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        protocol: Protocol,
        seed: int,
        roles: Roles,
        trained: Mapping[str, tuple[Trained, Trained]],
    ) -> Trial:
        """Put rankers together that were trained apart."""
        main = {task: pair[0] for task, pair in trained.items()}
        return cls(dataset, protocol, seed, roles, main, {task: pair[1] for task, pair in trained.items()})

    @property
    def is_coupled(self) -> bool:
        """Whether all predictors are known on all rows."""
        return self.protocol.kind == "coupled"

    def others(self, task: str) -> list[str]:
        """All tasks but one."""
        return [other for other in self.dataset.tasks if other != task]

    def main_table(self, task: str) -> Observations:
        """Table of the main predictor on the main rows."""
        rows = self.roles.main_rows
        return Observations(self.main[task].scores[rows], self.dataset.tasks[task].features[rows], ids=rows, name=task)

    def references(self, task: str) -> list[Observations]:
        """Tables of the other tasks' predictors on the reference rows; coupled ones need no features."""
        rows = self.roles.reference_rows
        return [
            Observations(
                self.reference[other].scores[rows],
                None if self.is_coupled else self.dataset.tasks[other].features[rows],
                ids=rows,
                name=other,
            )
            for other in self.others(task)
        ]

    def coupled_references(self, task: str) -> list[Observations]:
        """Return what only an oracle knows: the other tasks' predictors on the main rows."""
        rows = self.roles.main_rows
        return [Observations(self.reference[other].scores[rows], ids=rows, name=other) for other in self.others(task)]

    def labels(self, task: str) -> RankLabels:
        """Labels of the validation rows."""
        rows = self.roles.validation
        return RankLabels(rows, self.dataset.tasks[task].labels[rows])

    def validation_places(self) -> IndexArray:
        """Places of the validation rows among the main rows."""
        return _places(self.roles.validation, self.roles.main_rows)

    def test_accuracy(self, task: str, predictions: FloatArray) -> float:
        """Ranking accuracy on the test rows of predictions for the main rows."""
        places = _places(self.roles.test, self.roles.main_rows)
        return ranking_accuracy(self.dataset.tasks[task].labels[self.roles.test], np.asarray(predictions)[places])


def _places(rows: IndexArray, among: IndexArray) -> IndexArray:
    """Places of rows in another order of rows that holds them all."""
    order = np.argsort(among)
    return np.asarray(order[np.searchsorted(among[order], rows)])
