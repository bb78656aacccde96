"""The toy experiment (section 3.1): how well decoupled scores reveal the relation of twelve tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from manifuse.diffusion.algorithm1 import Algorithm1
from manifuse.kernels.arrays import BoolArray, FloatArray
from manifuse.kernels.sphere import alignment
from manifuse_study.datasets.synthetic import GROUP_SIZE, GROUPS, TASKS, ToyTasks
from manifuse_study.experiments.published import run_alone


@dataclass(frozen=True, eq=False)
class Metrics:
    """Absolute alignments between the tasks, (12, 12) each, row k with task k as the main predictor.

    Attributes
    ----------
    true : array
        From the coupled predictions. The other metrics estimate it.
    first : array
        Over the first bridges.
    final : array
        Of the refined predictions over the last bridges.
    pairs : array
        At the thirty pairs alone, without a bridge.
    fidelity : array
        Held-out fidelity of the bridges; negative values are replaced by 0.
    """

    true: FloatArray
    first: FloatArray
    final: FloatArray
    pairs: FloatArray
    fidelity: FloatArray


def estimate_metrics(
    toy: ToyTasks, algorithm: Algorithm1, seed: int, tick: Callable[[], None] = lambda: None
) -> Metrics:
    """Take every task as the main predictor once, without labels. ``tick`` is called after each task."""
    first, final, pairs, fidelity = (np.eye(TASKS) for _ in range(4))
    for task in range(TASKS):
        others = [other for other in range(TASKS) if other != task]
        found = run_alone(algorithm, toy.decoupled[task], [toy.decoupled[other] for other in others], seed=seed)
        pairs[task, others] = [abs(each) for each, _ in found.tuned.aligned]
        fidelity[task, others] = np.maximum(found.tuned.fidelity, 0.0)
        for metric, predictions in ((first, found.problem.start), (final, found.path.predictions)):
            arrived = found.tuned.bridges.arrive(predictions).references.values
            towards = np.broadcast_to(predictions[:, None], arrived.shape)
            metric[task, others] = np.abs(alignment(towards, arrived))
        tick()
    return Metrics(toy.true_metric(), first, final, pairs, fidelity)


def merit(metric: FloatArray, true: FloatArray) -> dict[str, float]:
    """Say how well a metric (12, 12) estimates the true one, without the diagonal.

    Returns
    -------
    correlation : float
        With the true metric, over all pairs of different tasks.
    within : float
        Mean absolute alignment of different tasks of one group (true value near 1).
    elsewhere : float
        Mean absolute alignment of all other pairs of tasks (true value near 0.1).
    """
    different = ~np.eye(TASKS, dtype=bool)
    together = same_group() & different
    return {
        "correlation": float(np.corrcoef(metric[different], true[different])[0, 1]),
        "within": float(metric[together].mean()),
        "elsewhere": float(metric[different & ~together].mean()),
    }


def same_group() -> BoolArray:
    """Return which tasks are of one group, shape (12, 12); a task outside the groups has one of its own."""
    tasks = np.arange(TASKS)
    groups = np.where(tasks < GROUPS * GROUP_SIZE, tasks // GROUP_SIZE, tasks)
    return np.asarray(groups[:, None] == groups[None, :])
