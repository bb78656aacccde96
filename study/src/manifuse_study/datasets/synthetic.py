"""The toy data of section 3.1: twelve linear tasks with known relations, coupled and decoupled.

Tasks 1-4 share one parameter direction, tasks 5-8 share another, and tasks 9-12 each have their own. The paper leaves
two things open, which we decide here: inputs are standard normal, and tasks are scaled to unit variance, so that
noise of standard deviation 0.2 is the "mild" noise that the paper speaks of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import unit
from manifuse.tables.observations import Observations

TASKS, GROUPS, GROUP_SIZE = 12, 2, 4
DIMENSIONS, ROWS, PAIRS, NOISE, VARIANCE_KEPT = 100, 1000, 30, 0.2, 0.95


@dataclass(frozen=True, eq=False)
class ToyTasks:
    """Twelve predictors on shared rows, and the same predictors each on rows and features of its own.

    Attributes
    ----------
    coupled : (1000, 12) array
        Noisy evaluations of all tasks on all rows, ``H_c``.
    decoupled : tuple of Observations
        Least-squares approximations of these on half of the rows, with principal components as features and with
        noise added, ``H_d``. All tasks have thirty rows in common.
    """

    coupled: FloatArray
    decoupled: tuple[Observations, ...]

    def true_metric(self) -> FloatArray:
        """Absolute alignments of the coupled predictions, (12, 12): what a bridge should recover."""
        on_sphere = unit(self.coupled)
        return np.asarray(np.abs(on_sphere.T @ on_sphere))


def toy_tasks(rng: np.random.Generator) -> ToyTasks:
    """Draw the toy data."""
    weights = rng.uniform(-1, 1, (DIMENSIONS, TASKS))
    for group in range(GROUPS):
        members = slice(group * GROUP_SIZE, (group + 1) * GROUP_SIZE)
        weights[:, members] = np.outer(rng.uniform(-1, 1, DIMENSIONS), rng.uniform(-1, 1, GROUP_SIZE))
    inputs = rng.standard_normal((ROWS, DIMENSIONS))
    tasks = inputs @ weights
    coupled = tasks / tasks.std(axis=0) + NOISE * rng.standard_normal((ROWS, TASKS))
    _, values, axes = np.linalg.svd(inputs - inputs.mean(axis=0), full_matrices=False)
    kept = np.cumsum(values**2) / np.sum(values**2)
    fewest = int(np.searchsorted(kept, VARIANCE_KEPT)) + 1
    decoupled = []
    for task in range(TASKS):
        others = rng.choice(np.arange(PAIRS, ROWS), ROWS // 2 - PAIRS, replace=False)
        rows = np.append(np.arange(PAIRS), others)
        components = (inputs - inputs.mean(axis=0)) @ axes[: rng.integers(fewest, DIMENSIONS + 1)].T
        features = components[rows]
        fit = np.linalg.lstsq(features, coupled[rows, task], rcond=None)[0]
        scores = features @ fit + NOISE * rng.standard_normal(len(rows))
        decoupled.append(Observations(scores, features, ids=rows, name=f"task {task + 1}"))
    return ToyTasks(coupled, tuple(decoupled))
