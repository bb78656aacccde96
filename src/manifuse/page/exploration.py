"""Exploration: a problem that is looked at, and what the browser needs of it to do the f-diffusion itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manifuse.backends.host import Host
from manifuse.diffusion.joint import mixture
from manifuse.diffusion.labels import RankLabels
from manifuse.diffusion.method import STEP_SIZES, WEIGHT_SCALES, JointDiffusion, choices
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.problem import Problem
from manifuse.diffusion.schemes import BridgeScheme
from manifuse.evidence.relevance import align_pairs, weigh_pairs
from manifuse.evidence.score import GradedRanking, PairedRanking, Score, SquaredError
from manifuse.evidence.tuning import choose_bridges, scalings_to_try
from manifuse.page.packing import pack
from manifuse.run import presmooth, refine, takes_part

#: Says what is being done, for whoever waits.
Tell = Callable[[str], None]

#: Upper bound on steps that the page offers.
MOST_STEPS = 20


@dataclass(frozen=True, eq=False)
class Exploration:
    """A problem with the method that it is first looked at under.

    Attributes
    ----------
    title : str
    main : Observations
    references : tuple of Observations
    labels : RankLabels or None
    method : JointDiffusion
    seed : int
    held_back : RankLabels or None
        Truth that chooses nothing, where there is some: the page only measures by it.
    """

    title: str
    main: Observations
    references: tuple[Observations, ...]
    labels: RankLabels | None
    method: JointDiffusion
    seed: int
    held_back: RankLabels | None = None

    def problem(self) -> Problem:
        """Pair the tables, and refuse what does not fit together."""
        return Problem.of(self.main, self.references)

    def score(self, problem: Problem) -> Score | None:
        """Find the labelled rows."""
        return None if self.labels is None else problem.score(self.labels, regression=self.method.is_regression)


def describe(exploration: Exploration) -> bytes:
    """Pack what does not change while one explores: scores, ids, labels and the axes of the grid."""
    problem, method = exploration.problem(), exploration.method
    score = exploration.score(problem)
    texts = [key.encode() for key in exploration.main.keys.tolist()]
    arrays = {
        "scores": exploration.main.scores,
        "ids": np.array(b"".join(texts)),
        "id_ends": np.cumsum([len(text) for text in texts]),
    }
    facts: dict[str, Any] = {
        "title": exploration.title,
        "main": exploration.main.name,
        "rows": len(exploration.main),
        "references": [reference.name for reference in problem.references],
        "task": method.task,
        "labels": None,
        "held_back": None,
        "step_sizes": _axis(method.step_size, STEP_SIZES),
        "weight_scales": _axis(method.weight_scale, WEIGHT_SCALES),
        "most_steps": MOST_STEPS,
    }
    if score is not None:
        facts["labels"], arrays["label_rows"] = _kind(score), score.rows
        arrays |= _known(score, "label")
    if exploration.held_back is not None:
        judge = problem.score(exploration.held_back, regression=method.is_regression)
        facts["held_back"], arrays["judge_rows"] = _kind(judge), judge.rows
        arrays |= _known(judge, "judge")
    return pack(facts, arrays)


def _candidate(method: JointDiffusion, scheme: BridgeScheme[Any]) -> int:
    """Backend, among the bridges that a method has to choose from, of that which a scheme is but for its step."""

    def but_for_step(each: BridgeScheme[Any]) -> tuple[type, dict[str, float]]:
        return type(each), {**each.parameters(), "step": 0.0}

    return [but_for_step(each) for each in choices(method.bridge)].index(but_for_step(scheme))


def open_bridges(exploration: Exploration, method: JointDiffusion, tell: Tell) -> bytes:
    """Do what `refine` does before the f-diffusion of its first round, and pack what that works on.

    Returns
    -------
    bytes
        Columns ``Z`` (rows, 1 + references, and one more where there is a graph), each a run of numbers; and what the
        pairs say of the references.
    """
    tell("Pairing the tables")
    problem = exploration.problem()
    score = exploration.score(problem)
    tell("Searching neighbours of the main rows")
    backend, seed = Host(), exploration.seed
    scalings = scalings_to_try(problem, method, seed, backend)
    presmoothing, mains = presmooth(problem, method, score, seed, backend, scalings)
    if presmoothing is not None:
        problem = problem.starting_from(presmoothing.stages()[-1])
    tell("Choosing graphs and building bridges")
    bridges, folds, _ = choose_bridges(problem, method, seed, backend, scalings, mains)
    tell("Asking the held-out pairs")
    evidence = weigh_pairs(bridges, folds, seed)
    tell("Carrying the references over")
    transport, smoothed = bridges.arrive(problem.start, method.smoothing)
    columns = mixture(problem.start, transport, smoothed, None)
    step_sizes, weight_scales = method.grid(labelled=score is not None)
    scheme = bridges.setting.bridge
    facts = {
        "offset": problem.offset,
        "scale": problem.scale,
        "presmoothed": presmoothing is not None,
        "anchored": method.anchored,
        "cells": {"step_sizes": list(step_sizes), "weight_scales": list(weight_scales)},
        "bridges": {
            "neighbours": bridges.setting.neighbours,
            "score_scale": bridges.setting.score_scale if np.isfinite(bridges.setting.score_scale) else None,
            "step": float(scheme.parameters()["step"]),
            "scheme": type(scheme).__name__,
            "candidate": _candidate(exploration.method, scheme),
        },
        "references": [
            {
                "name": reference.name,
                "pairs": len(reference.main_rows),
                "reached": float(transport.reached[:, place].mean()),
                "alignment": pair_alignment,
                "chance": chance,
                "fidelity": seen.fidelity,
                "idle": reference.is_idle,
                "taken": takes_part(reference, seen, method),
                "above_chance": not seen.is_chance,
            }
            for place, (reference, seen) in enumerate(zip(problem.references, evidence, strict=True))
            for pair_alignment, chance in [align_pairs(problem.main.scores, reference, seed)]
        ],
    }
    return pack(facts, {"columns": columns.T})


def run_in_full(exploration: Exploration, method: JointDiffusion, tell: Tell) -> bytes:
    """Refine with the library itself, and pack the predictions with their accuracy."""
    tell("Refining")
    result = refine(exploration.main, exploration.references, exploration.labels, method, rng=exploration.seed)
    predictions = np.asarray(result.predictions)
    after = None
    if exploration.held_back is not None:
        judge = exploration.problem().score(exploration.held_back, regression=method.is_regression)
        after = judge.report(predictions[judge.rows])
    facts = {
        "reason": str(result.reason),
        "rounds": result.history[-1].round,
        "accuracy": None if result.accuracy is None else dict(result.accuracy["after"]),
        "held_back": after,
    }
    return pack(facts, {"predictions": predictions})


def set_as_shown(
    method: JointDiffusion, *, step_size: float, weight_scale: float, steps: int, ignored: tuple[str, ...]
) -> JointDiffusion:
    """Return the method whose refinement the page shows.

    It is one joint round of ``steps`` steps in one cell of the grid, over bridges that are those of ``method``.
    Switches alone say which references take part, and the page shows what comes of it even where the safeguard
    would keep the main predictor.
    """
    return replace(
        method,
        step_size=step_size,
        weight_scale=weight_scale,
        rounds=1,
        steps=steps,
        ignored=ignored,
        ignore_chance=False,
        safeguarded=False,
    )


def _axis(given: float | tuple[float, ...] | None, usual: tuple[float, ...]) -> list[float]:
    """Axis of the surface: the candidates of the method, or the usual ones where it has no choice."""
    return list(usual if given is None or len(choices(given)) == 1 else choices(given))


def _kind(score: Score) -> str:
    return {GradedRanking: "graded", PairedRanking: "paired", SquaredError: "squared"}[type(score)]


def _known(score: Score, name: str) -> dict[str, Any]:
    """What a score knows of its rows, as arrays of the page."""
    if isinstance(score, PairedRanking):
        return {f"{name}_better": score.better, f"{name}_worse": score.worse}
    known = score.grades if isinstance(score, GradedRanking) else score.targets  # type: ignore[attr-defined]
    return {f"{name}_values": known}
