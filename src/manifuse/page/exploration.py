"""Exploration: a problem to look at, and what the browser needs of it to do the f-diffusion itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from manifuse.backends.host import Host
from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.joint import mixture
from manifuse.diffusion.method import STEP_SIZES, WEIGHT_SCALES, JointDiffusion, choices
from manifuse.evidence.gain import Gain
from manifuse.evidence.labelled import score_of
from manifuse.evidence.relevance import align_pairs
from manifuse.evidence.score import Score
from manifuse.page.packing import pack
from manifuse.run.preparation import Prepared, prepare
from manifuse.run.refine import refine
from manifuse.run.standing import USED, standings
from manifuse.tables.labels import RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.problem import Problem
from manifuse.tables.scales import MARGIN
from manifuse.words.wording import meaning_of_support, remarks_of

#: Takes a line that says what is being done.
Tell = Callable[[str], None]

#: Upper bound on steps that the page offers.
MOST_STEPS = 20


@dataclass(frozen=True, eq=False)
class Exploration:
    """A problem, and the method with which the page opens.

    The page shows the diffusion alone. Labels choose its step size and weight scale there, and teach nothing.

    Attributes
    ----------
    title : str
    main : Observations
    references : tuple of Observations
    labels : RankLabels or None
    method : JointDiffusion
    seed : int
    held_back : RankLabels or None
        Known truth that chooses nothing; the page only measures by it.
    """

    title: str
    main: Observations
    references: tuple[Observations, ...]
    labels: RankLabels | None
    method: JointDiffusion
    seed: int
    held_back: RankLabels | None = None

    def score(self, labels: RankLabels | None) -> Score | None:
        """Find the rows that labels are for; None without labels."""
        return None if labels is None else score_of(labels, self.main, regression=self.method.is_regression)


def describe(exploration: Exploration) -> bytes:
    """Pack what does not change during an exploration: scores, ids, labels and the axes of the grid.

    Raises
    ------
    InputError
        If `refine` would refuse the problem.
    """
    problem, method = Problem.of(exploration.main, exploration.references), exploration.method
    method.grid(labelled=exploration.labels is not None)
    score, judge = exploration.score(exploration.labels), exploration.score(exploration.held_back)
    facts = {
        "title": exploration.title,
        "main": exploration.main.name,
        "rows": len(exploration.main),
        "ids": exploration.main.keys.tolist(),
        "references": [reference.name for reference in problem.references],
        "task": method.task,
        "margin": MARGIN if exploration.main.scale == "probability" else None,
        "measure": "rmse" if method.is_regression else "accuracy",
        "labels": None if score is None else type(score).__name__,
        "held_back": None if judge is None else type(judge).__name__,
        "step_sizes": _axis(method.step_size, STEP_SIZES),
        "weight_scales": _axis(method.weight_scale, WEIGHT_SCALES),
        "most_steps": MOST_STEPS,
    }
    known = {**_arrays_of("labels", score), **_arrays_of("held_back", judge)}
    return pack(facts, {"scores": exploration.main.scores, **known})


def open_bridges(exploration: Exploration, method: JointDiffusion, tell: Tell) -> bytes:
    """Prepare the f-diffusion of the first round, and pack what it works on.

    Returns
    -------
    bytes
        Columns ``Z`` (rows, 1 + references, and one more where there is a graph), one after the other; and what the
        pairs say about each reference.
    """
    tell("Pairing the tables")
    method = replace(method, learning=False)
    problem, score = Problem.of(exploration.main, exploration.references), exploration.score(exploration.labels)
    prepared = prepare(problem, method, score, exploration.seed, Host(), tell)
    problem, bridges = prepared.problem, prepared.bridges
    tell("Carrying the references to the main rows")
    arrival = bridges.arrive(problem.start, method.smoothing)
    step_sizes, weight_scales = method.grid(labelled=prepared.labels_tune)
    facts = {
        "offset": problem.units.offset,
        "scale": problem.units.scale,
        "anchored": method.anchored,
        "cells": {"step_sizes": list(step_sizes), "weight_scales": list(weight_scales)},
        "bridges": _describe_bridges(bridges, exploration.method),
        "references": [
            _describe_reference(prepared, number, float(reached))
            for number, reached in enumerate(arrival.references.reached.mean(axis=0))
        ],
    }
    return pack(facts, {"columns": mixture(problem.start, arrival.columns(), None).T})


def run_in_full(exploration: Exploration, method: JointDiffusion, tell: Tell) -> bytes:
    """Refine with the library itself, and pack the predictions with their accuracy.

    Of probabilities these are log-odds, as on the rest of the page; standard errors are of what is shown.
    """
    tell("Refining")
    result = refine(exploration.main, exploration.references, exploration.labels, method, rng=exploration.seed)
    judge = exploration.score(exploration.held_back)
    facts = {
        "reason": str(result.reason),
        "accepted": result.accepted,
        "rounds": result.history[-1].round,
        "accuracy": result.to_dict()["accuracy"],
        "gain": _describe_gain(result.gain),
        "held_back": None if judge is None else judge.measured(result.scores[judge.rows]),
        "weights": result.weights.tolist(),
        "metric": result.metric.tolist(),
        "used": [standing in USED for standing in standings(result)],
        "remarks": remarks_of(result),
        "meaning_of_support": meaning_of_support(learning=result.method.learning),
        "worths": [None if entry.worth is None else entry.worth.text(signed=True) for entry in result.relevance],
    }
    shown, arrays = result.refined.in_scale_of(exploration.main), {"predictions": result.scores}
    arrays |= {"support": shown.support} | ({} if shown.errors is None else {"errors": shown.errors})
    if result.accepted and result.method.learning:
        facts["teacher"] = result.refiner.teacher
        facts["diffused"] = result.choice.share > 0
        arrays["learned"] = result.refiner.places_before(exploration.main.keys)
    return pack(facts, arrays)


def set_bridges(
    exploration: Exploration, *, neighbours: int, score_scale: float | None, step: float, candidate: int
) -> JointDiffusion:
    """Return the method of an exploration with other graphs and bridges.

    Parameters
    ----------
    exploration : Exploration
    neighbours : int
    score_scale : float or None
        None for infinity, which JSON does not have.
    step : float
    candidate : int
        Which of the bridges that the method chooses from takes this step.
    """
    method = exploration.method
    return replace(
        method,
        neighbours=neighbours,
        score_scale=np.inf if score_scale is None else float(score_scale),
        bridge=_with_step(choices(method.bridge)[candidate], float(step)),
    )


def set_as_shown(
    method: JointDiffusion, *, step_size: float, weight_scale: float, steps: int, ignored: tuple[str, ...]
) -> JointDiffusion:
    """Return the method that computes what the page shows.

    It does one joint round of ``steps`` steps in one cell of the grid, over the bridges of ``method``.
    The switches alone decide which references take part. Labels teach nothing. The page shows the refined scores even
    where the safeguard would keep the main predictor.
    """
    return replace(
        method,
        step_size=float(step_size),
        weight_scale=float(weight_scale),
        rounds=1,
        steps=steps,
        learning=False,
        ignored=ignored,
        ignore_chance=False,
        safeguarded=False,
    )


def set_as_refined(method: JointDiffusion, *, ignored: tuple[str, ...] | None) -> JointDiffusion:
    """Return the method of `refine`, unchanged if ``ignored`` is None, else without the references that it names.

    Then the switches alone decide which references take part.
    """
    return method if ignored is None else replace(method, ignored=ignored, ignore_chance=False)


def _describe_gain(gain: Gain | None) -> dict[str, Any] | None:
    """A gain and its standard error; None if it was not measured."""
    return None if gain is None else {"value": gain.value, "error": gain.standard_error, "rows": gain.rows}


def _with_step(scheme: Any, step: float) -> Any:
    """Return a bridge scheme with another step; every scheme has one."""
    return replace(scheme, step=step)


def _axis(given: float | tuple[float, ...] | None, usual: tuple[float, ...]) -> list[float]:
    """Axis of the surface: the values that the method chooses from, or the usual ones where it has no choice."""
    return list(usual if given is None or len(choices(given)) == 1 else choices(given))


def _arrays_of(name: str, score: Any) -> dict[str, Any]:
    """What a score (or None) knows of its rows, as arrays of the page."""
    return {} if score is None else {f"{name}_{part.name}": getattr(score, part.name) for part in fields(score)}


def _describe_bridges(bridges: Bridges, method: JointDiffusion) -> dict[str, Any]:
    """The graphs and bridges that were chosen; ``method`` is the one with which the page opened."""
    setting = bridges.setting
    # The page may have changed the step, and nothing else.
    candidates = [_with_step(scheme, 1.0) for scheme in choices(method.bridge)]
    return {
        "neighbours": setting.neighbours,
        "score_scale": setting.score_scale if np.isfinite(setting.score_scale) else None,
        "step": float(setting.bridge.parameters()["step"]),
        "candidate": candidates.index(_with_step(setting.bridge, 1.0)),
    }


def _describe_reference(prepared: Prepared, number: int, reached: float) -> dict[str, Any]:
    """What the pairs say about a reference; ``reached`` is the share of main rows that it arrives at."""
    problem, reference = prepared.problem, prepared.problem.references[number]
    alignment, chance = align_pairs(problem.main.scores, reference, prepared.setup.seed)
    return {
        "name": reference.name,
        "pairs": len(reference.main_rows),
        "reached": reached,
        "alignment": alignment,
        "chance": chance,
        "fidelity": prepared.pair_evidence[number].fidelity,
        "idle": reference.is_idle,
        "active": number in prepared.taking_part,
    }
