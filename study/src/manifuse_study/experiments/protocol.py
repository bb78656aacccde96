"""The protocols of section 3.2: which rows of a data set have which role in a trial.

*Decoupled* (Cal7, NUS, HW, and the attributes of Shoes): the rows are split at random into pairs, which both sides
know, a main half and a reference half. The main ranker is trained on rows of the main half. Other rows of that half
validate it and choose the hyperparameters of every method. The rest of the main half is the test set. Every reference
ranker is trained and validated on rows of the reference side, drawn separately for each task. No reference ranker sees
the main half.

*Coupled* (PubFig, OSR, AWA): all predictors are known on all rows. All tasks share the validation rows. Each task
draws a training sample of its own, because a reference that was trained on the same rows with the same features would
add nothing. The test rows are those on which no ranker was trained, neither the main one nor a reference.

In both protocols the test rows are used for nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from manifuse.errors import InputError
from manifuse.kernels.arrays import IndexArray
from manifuse_study.datasets.dataset import Dataset

#: With fewer test rows a trial would measure nothing.
LEAST_TEST = 50


@dataclass(frozen=True)
class Protocol:
    """Which protocol, and how many rows have which role.

    Parameters
    ----------
    kind : {"coupled", "decoupled"}
    pairs : int
        Rows that both sides know; decoupled only.
    training, validation : int
        Rows of the main ranker. A reference ranker has as many; if too few rows are left, fewer to be validated on.
    main_half : int, optional
        Rows of the main half without the pairs; by default half of the rows that are no pairs. Decoupled only.
    region : int, optional
        Rows from which every task draws its training sample; disjoint samples by default. Coupled only.
    """

    kind: Literal["coupled", "decoupled"]
    pairs: int = 200
    training: int = 200
    validation: int = 200
    main_half: int | None = None
    region: int | None = None


@dataclass(frozen=True, eq=False)
class Roles:
    """Which row has which role in one trial, as indices into the dataset.

    Attributes
    ----------
    main_rows, reference_rows : (n,) and (n',) array of int
        Rows of the main table and of every reference table, the pairs first.
    validation, test : arrays of int
        Rows of the main table.
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
        """Draw the roles of one trial.

        Raises
        ------
        InputError
            If there are too few rows to test on.
        """
        rng = np.random.default_rng(seed)
        draw = _draw_coupled if protocol.kind == "coupled" else _draw_decoupled
        roles = draw(rng.permutation(len(dataset)), list(dataset.tasks), protocol, rng)
        if len(roles.test) < LEAST_TEST:
            raise InputError(
                f"{dataset.name} has {len(dataset)} rows, which leaves {len(roles.test)} to test on under {protocol}; "
                f"at least {LEAST_TEST} are needed. Take a data set with more rows."
            )
        return roles


def _draw_decoupled(order: IndexArray, tasks: Sequence[str], protocol: Protocol, rng: np.random.Generator) -> Roles:
    rest = len(order) - protocol.pairs
    size = rest // 2 if protocol.main_half is None else protocol.main_half
    pairs, main_half, reference_half = np.split(order, [protocol.pairs, protocol.pairs + size])
    trained = protocol.training + protocol.validation
    # If the reference half alone is too small to train on, the pairs are added to it.
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
