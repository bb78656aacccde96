"""The loop of Algorithm 1: bridges, f-diffusion, graph, in turn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.schemes import Transport

LARGE_ROWS = 100_000
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.prediction import PredictionRun, diffuse_prediction
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.spectral import reference_weights
from manifuse.kernels.sphere import unit


class Reason(StrEnum):
    """Why a refinement came out as it did, with a remedy where there is one."""

    SCORE_STOPPED_RISING = "The score on the labels stopped rising."
    SETTLED = "The predictions settled: a further round hardly turned them."
    ROUNDS_USED_UP = "All rounds were used; raise 'rounds' to go on."
    NO_REFERENCE = (
        "No reference aligns better than permuted pairs do, so the main predictor comes back unchanged; "
        "give more pairs or other references, or set the method's 'ignore_chance' to false."
    )
    NOTHING_BETTER = (
        "No step of the diffusion raised the score on the labels, so the main predictor comes back unchanged."
    )
    SMOOTHED_ONLY = (
        "The main predictor smoothed over its own graph scored best on the labels; no reference raised that score."
    )
    GAIN_UNCERTAIN = (
        "The gain on the labels does not exceed its own standard error, or fewer than ten rows are labelled, so "
        "the main predictor comes back unchanged; give more labels, or set the method's 'safeguarded' to false to "
        "take the refinement all the same."
    )


@dataclass(frozen=True)
class Step:
    """One step of the f-diffusion, as it is kept in the history.

    Attributes
    ----------
    round, step : int
        Counted from 1; step 0 is the state that the round began with.
    score : float
        On the labels; NaN without.
    alignments : tuple of float
        Of the prediction with every reference as its bridge brings it (eq. 11).
    weights : tuple of float
        Of every reference (eq. 5), 0 for those ignored.
    step_size, weight_scale : float
        The cell chosen in this round, or in the one before where no step of this one raised the score.
    """

    round: int
    step: int
    score: float
    alignments: tuple[float, ...]
    weights: tuple[float, ...]
    step_size: float
    weight_scale: float


@dataclass(frozen=True, eq=False)
class Round:
    """What one joint round did, enough to do the same to rows that come later.

    Attributes
    ----------
    start : (n,) array
        The prediction on the sphere that the round began with, which also weighed its graph.
    transport : Transport
        The references.
    smoothed : Transport or None
        The prediction smoothed over its own graph.
    coefficients : (m + 1,) to (m + 3,) array
        The new prediction in ``[start, references..., smoothed, what the first round began with]``, the last two where
        the method has them.
    """

    start: FloatArray
    transport: Transport
    smoothed: Transport | None
    coefficients: FloatArray


@dataclass(frozen=True, eq=False)
class Path:
    """Where the diffusion went.

    Attributes
    ----------
    predictions : (n,) array
        On the sphere.
    coefficients : tuple of (m + 1,) to (m + 3,) arrays
        Those of every round, as `Round` has them.
    rounds : tuple of Round or None
        What every round did, and last what a further one would begin with; None where the table is large: a round is
        several times as large as the table's scores.
    transport : Transport
        Of the final predictions.
    history : tuple of Step
    surface : (step sizes, weight scales) array or None
        Best score of every cell in the first round.
    reason : Reason
    """

    predictions: FloatArray
    coefficients: tuple[FloatArray, ...]
    rounds: tuple[Round, ...] | None
    transport: Transport
    history: tuple[Step, ...]
    surface: FloatArray | None
    reason: Reason


def diffuse(bridges: Bridges, method: JointDiffusion, gates: FloatArray, score: Score | None) -> Path:
    """Alternate bridges and f-diffusion until the stopping rule holds (Algorithm 1).

    Parameters
    ----------
    bridges : Bridges
    method : JointDiffusion
    gates : (m,) array
        1 for references that take part, 0 for the others.
    score : Score or None
        With labels, rounds go on while it rises; without, until the predictions settle.
    """
    problem = bridges.problem
    grid = method.grid(labelled=score is not None)
    current = problem.start
    kept = len(current) < LARGE_ROWS
    taken: list[FloatArray] = []
    rounds: list[Round] = []
    history: list[Step] = []
    surface = None
    reason = Reason.ROUNDS_USED_UP
    for number in range(1, method.rounds + 1):
        transport, smoothed = bridges.arrive(current, method.smoothing)
        columns = mixture(current, transport, smoothed, problem.start if method.anchored else None)
        # What is not kept makes room.
        arrived = (transport, smoothed) if kept else None
        del transport, smoothed
        evaluate = None
        if score is not None:
            rows = columns[score.rows]

            def evaluate(coefficients: FloatArray, rows: FloatArray = rows, score: Score = score) -> FloatArray:
                return score.evaluate(problem.restore(rows @ coefficients.T))

        run = diffuse_prediction(
            columns,
            problem.start,
            gates=np.append(gates, np.ones(columns.shape[1] - 1 - len(gates))),
            grid=grid,
            steps=method.most_steps(labelled=score is not None),
            evaluate=evaluate,
        )
        surface = run.surface if surface is None else surface
        stuck = len(run.path) == 1
        cell = (history[-1].step_size, history[-1].weight_scale) if stuck and history else run.cell
        history += _record(number, run, cell, columns, gates)
        if stuck:
            reason = Reason.SCORE_STOPPED_RISING
            break
        taken.append(run.path[-1])
        if arrived is not None:
            rounds.append(Round(current, *arrived, run.path[-1]))
        following = mix(columns, run.path[-1])
        del columns, arrived
        turned = 1.0 - float(following @ current)
        current = following
        if score is None and turned < method.settled:
            reason = Reason.SETTLED
            break
    transport = bridges.transport(current)
    if kept:
        rounds.append(Round(current, transport, None, np.zeros(0)))
    return Path(current, tuple(taken), tuple(rounds) if kept else None, transport, tuple(history), surface, reason)


def replay(bridges: Bridges, method: JointDiffusion, coefficients: Sequence[FloatArray]) -> tuple[Round, ...]:
    """Do again what `diffuse` did, for what it did not keep; the same that ``Path.rounds`` would be."""
    current, rounds = bridges.problem.start, []
    for each in coefficients:
        transport, smoothed = bridges.arrive(current, method.smoothing)
        rounds.append(Round(current, transport, smoothed, each))
        origin = bridges.problem.start if method.anchored else None
        current = mix(mixture(current, transport, smoothed, origin), each)
    return (*rounds, Round(current, bridges.transport(current), None, np.zeros(0)))


def mixture(
    current: FloatArray, transport: Transport, smoothed: Transport | None, origin: FloatArray | None
) -> FloatArray:
    """``Z`` on the main rows: the current prediction, the references, it smoothed, and what the first round had."""
    references = transport.values.shape[1]
    columns = np.empty((len(current), 1 + references + (smoothed is not None) + (origin is not None)))
    columns[:, 0] = current
    columns[:, 1 : 1 + references] = transport.project(transport.values)
    if smoothed is not None:
        columns[:, 1 + references] = smoothed.project(smoothed.values)[:, 0]
    if origin is not None:
        columns[:, -1] = origin
    return columns


def mix(columns: FloatArray, coefficients: FloatArray) -> FloatArray:
    """``Z a`` on the sphere."""
    # Columns and coefficients are of unit norm already; projecting again keeps rounding from adding up.
    return unit(columns @ coefficients)


def _record(
    number: int, run: PredictionRun, cell: tuple[float, float], columns: FloatArray, gates: FloatArray
) -> list[Step]:
    references = slice(1, 1 + len(gates))
    alignments = run.path @ (columns.T @ columns)[:, references]
    weights = gates * reference_weights(alignments, np.asarray(cell[1]))
    return [
        Step(number, step, float(run.scores[step]), tuple(a), tuple(w), *cell)
        for step, (a, w) in enumerate(zip(alignments.tolist(), weights.tolist(), strict=True))
    ]
