"""Algorithm 1: bridges, f-diffusion (section 2.2.1) and graph in turn. The one loop of the paper."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from manifuse.diffusion.algorithm1 import Algorithm1
from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.transport import Arrival
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.spectral import diffusion_step, reference_weights
from manifuse.kernels.sphere import inner, on_sphere
from manifuse.tables.problem import Problem


class Ending(StrEnum):
    """Why the rounds ended."""

    SCORE_STOPPED_RISING = "the score on the labels stopped rising"
    SETTLED = "a further round hardly changed the predictions"
    ROUNDS_USED_UP = "all rounds were used"


@dataclass(frozen=True)
class Step:
    """One step of the f-diffusion, as the history keeps it.

    Attributes
    ----------
    round, step : int
        Counted from 1; step 0 is the state that the round began with.
    score : float
        On the labels; NaN without labels.
    alignments : tuple of float
        Of the prediction with every reference after transport (eq. 11).
    weights : tuple of float
        Of every reference (eq. 5), 0 for those that take no part.
    step_size, weight_scale : float
        The cell chosen in this round, or in the round before if no step of this one raised the score.
    """

    round: int
    step: int
    score: float
    alignments: tuple[float, ...]
    weights: tuple[float, ...]
    step_size: float
    weight_scale: float


@dataclass(frozen=True, eq=False)
class Path:
    """Where the diffusion went.

    Attributes
    ----------
    predictions : (n,) or (n, c) array
        On the sphere.
    coefficients : (rounds, k) array
        For every round, the new prediction in the columns ``Z`` of `mixture`; `replay` repeats the rounds from these.
    history : tuple of Step
    ending : Ending
    """

    predictions: FloatArray
    coefficients: FloatArray
    history: tuple[Step, ...]
    ending: Ending


class Round(NamedTuple):
    """What one round worked on: the prediction on the sphere that weighed the graph, and what arrived by that."""

    start: FloatArray
    arrival: Arrival


@dataclass(frozen=True, eq=False)
class PredictionRun:
    """What the f-diffusion of one round came to.

    Attributes
    ----------
    path : (steps + 1, m + 1) array
        Coefficients from the start to the last step.
    scores : (steps + 1,) array
        The score of each step on the labels; NaN where they do not choose.
    gram : (m + 1, m + 1) array
        ``Z' Z``, the alignments of the columns with each other (eq. 3).
    cell : (float, float)
        The step size (delta) and the weight scale (sigma²).
    """

    path: FloatArray
    scores: FloatArray
    gram: FloatArray
    cell: tuple[float, float]


#: Runs the f-diffusion of one round; the parameters are those of `take_steps`.
Run = Callable[[Algorithm1, FloatArray, FloatArray, FloatArray], PredictionRun]


def take_steps(algorithm: Algorithm1, columns: FloatArray, origin: FloatArray, active: FloatArray) -> PredictionRun:
    """Take the steps of a round, with the first step size and weight scale of the algorithm.

    Parameters
    ----------
    algorithm : Algorithm1
    columns : (n, m + 1) or (n c, m + 1) array
        ``Z``: the current prediction, then the references, all on the sphere.
    origin : (n,) or (n c,) array
        ``f(0)``, with which the first round began, on the sphere. It decides the sign (eq. 10).
    active : (m,) array
        1 for references that take part, 0 for the others.
    """
    gram, towards = columns.T @ columns, columns.T @ origin
    (step_size, *_), (weight_scale, *_) = algorithm.grid
    cell = np.array([step_size]), np.array([weight_scale])
    path: list[FloatArray] = [np.eye(1, columns.shape[1])]
    for _ in range(algorithm.steps):
        path.append(diffusion_step(path[-1], gram, towards, active, *cell))
    return PredictionRun(np.concatenate(path), np.full(len(path), np.nan), gram, (step_size, weight_scale))


def diffuse(problem: Problem, bridges: Bridges, active: FloatArray, chosen: Run | None = None) -> Path:
    """Alternate bridges and f-diffusion until the stopping rule holds (Algorithm 1).

    Parameters
    ----------
    problem : Problem
    bridges : Bridges
    active : (m,) array
        1 for references that take part, 0 for the others.
    chosen : callable, optional
        Runs a round where labels choose its steps; the rounds then go on while it takes any. By default rounds go on
        until the predictions settle.
    """
    algorithm = bridges.algorithm
    current, origin = problem.start, problem.start if algorithm.anchored else None
    coefficients: list[FloatArray] = []
    history: list[Step] = []
    ending = Ending.ROUNDS_USED_UP
    for number in range(1, algorithm.rounds + 1):
        arrival = bridges.arrive(current)
        columns = mixture(current, arrival.columns(), origin)
        others = np.ones(columns.shape[1] - 1 - len(active))
        if origin is not None:
            # It holds references back, and nothing else.
            others[-1] = active.any()
        run = (chosen or take_steps)(algorithm, columns, problem.start.ravel(), np.append(active, others))
        history += _record(number, run, history[-1:], active)
        if len(run.path) == 1:
            ending = Ending.SCORE_STOPPED_RISING
            break
        coefficients.append(run.path[-1])
        following = mix(columns, run.path[-1], current.shape)
        # The next round needs the memory.
        del columns, arrival
        change = 1.0 - inner(following, current)
        current = following
        if chosen is None and change < algorithm.settled:
            ending = Ending.SETTLED
            break
    mixed = np.array(coefficients).reshape(len(coefficients), len(run.gram))
    return Path(current, mixed, tuple(history), ending)


def replay(start: FloatArray, bridges: Bridges, coefficients: FloatArray) -> tuple[Round, ...]:
    """Repeat the rounds of `diffuse` from their coefficients."""
    current, rounds = start, []
    for each in coefficients:
        arrival = bridges.arrive(current)
        rounds.append(Round(current, arrival))
        columns = mixture(current, arrival.columns(), start if bridges.algorithm.anchored else None)
        current = mix(columns, each, start.shape)
    return tuple(rounds)


def mixture(current: FloatArray, arrived: Sequence[FloatArray], origin: FloatArray | None) -> FloatArray:
    """``Z`` of one round: the current prediction, what arrived, and where it all began, each a point of the sphere.

    Parameters
    ----------
    current : (n,) or (n, c) array
    arrived : sequence of (n, m) or (n, c, m) arrays
    origin : (n,) or (n, c) array or None
        What the first round began with; None to leave it out.

    Returns
    -------
    (n, k) or (n c, k) array
        The numbers of every point in a column, row after row.
    """
    flat = [each.reshape(current.size, -1) for each in arrived]
    return np.column_stack([current.ravel(), *flat, *([] if origin is None else [origin.ravel()])])


def mix(columns: FloatArray, coefficients: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """``Z a``, projected to the sphere, in the shape of a prediction."""
    # Columns and coefficients have unit norm already; projecting again keeps rounding errors from adding up.
    return on_sphere((columns @ coefficients).reshape(shape))


def _record(number: int, run: PredictionRun, before: Sequence[Step], active: FloatArray) -> list[Step]:
    """Return the steps of a round; a round without steps has the cell of the step ``before``."""
    stuck = len(run.path) == 1
    cell = (before[0].step_size, before[0].weight_scale) if stuck and before else run.cell
    alignments = run.path @ run.gram[:, 1 : 1 + len(active)]
    weights = active * reference_weights(alignments, np.asarray(cell[1]))
    return [
        Step(number, step, float(run.scores[step]), tuple(a), tuple(w), *cell)
        for step, (a, w) in enumerate(zip(alignments.tolist(), weights.tolist(), strict=True))
    ]
