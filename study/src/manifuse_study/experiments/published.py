"""The paper's method by itself: Algorithm 1, of which labels choose the step size and the weight scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from manifuse.backends.backend import Backend
from manifuse.backends.host import Host
from manifuse.diffusion.algorithm1 import Algorithm1
from manifuse.diffusion.explicit_euler import ExplicitEuler
from manifuse.diffusion.footprint import demand_memory
from manifuse.diffusion.joint import Path, diffuse
from manifuse.diffusion.setup import Setup
from manifuse.diffusion.tuning import TunedBridges, choose_bridges
from manifuse.errors import InputError
from manifuse.evidence.gain import Gain
from manifuse.evidence.labelled import score_of
from manifuse.kernels.arrays import FloatArray
from manifuse.records import write
from manifuse.tables.labels import RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.problem import Problem
from manifuse_study.experiments.label_search import LabelSearch, in_units

#: The grid of 8 by 7 cells that labels choose (delta, sigma²) from, in the paper.
STEP_SIZES = tuple(float(value) for value in np.logspace(-2, 2, 8))
WEIGHT_SCALES = tuple(float(value) for value in np.logspace(-2, 1, 7))

#: So many steps of a round, at most, while the score on the labels rises, in the paper.
PUBLISHED_STEPS = 20

#: The method as the paper runs it: explicit bridges, its tuning rule, and none of our additions. The paper gives no
#: candidates for N, K and sigma_f²; the candidates are ours.
AS_PUBLISHED = Algorithm1(
    neighbours=(5, 10, 20),
    score_scale=(0.1, 0.3, 1.0),
    bridge=tuple(ExplicitEuler(keep=keep) for keep in (5, 10, 20)),
    step_size=STEP_SIZES,
    weight_scale=WEIGHT_SCALES,
    steps=PUBLISHED_STEPS,
    anchored=False,
    smoothing=0.0,
    ignore_chance=False,
    selection="alignment",
    standardised=True,
)

#: Algorithm 1 with our additions, if labels choose the cell of its grid.
TUNED = replace(Algorithm1(), step_size=STEP_SIZES, weight_scale=WEIGHT_SCALES, steps=PUBLISHED_STEPS)


@dataclass(frozen=True, eq=False)
class Alone:
    """What Algorithm 1 came to by itself.

    Attributes
    ----------
    problem : Problem
    tuned : TunedBridges
        Bridges, and how they were chosen.
    active : (m,) array
        1 for references that took part, 0 for the others.
    path : Path
    surface : (step sizes, weight scales) array or None
        Best score of every cell in the first round; None without labels.
    gain : Gain or None
        On the labels, which chose the cell, so that it is too good; None without labels.
    """

    problem: Problem
    tuned: TunedBridges
    active: FloatArray
    path: Path
    surface: FloatArray | None
    gain: Gain | None

    @property
    def has_moved(self) -> bool:
        """Whether a reference took part and a step was taken."""
        return bool(self.active.any()) and len(self.path.coefficients) > 0

    @property
    def predictions(self) -> FloatArray:
        """Of the main rows, in their units, shape (n,)."""
        return in_units(self.problem, self.path.predictions)

    @property
    def weights(self) -> FloatArray:
        """Of the references at the end (eq. 5), shape (m,); zeros if no step was taken."""
        weights = np.array(self.path.history[-1].weights)
        return weights if len(self.path.coefficients) else np.zeros_like(weights)


def run_alone(
    algorithm: Algorithm1,
    main: Observations,
    references: Sequence[Observations],
    labels: RankLabels | None = None,
    seed: int = 0,
    backend: Backend | None = None,
) -> Alone:
    """Run Algorithm 1 as the paper does: references are taken at their word, labels choose the cell of the grid.

    Raises
    ------
    InputError
        If there are several cells and no labels, or `refine` would refuse the tables.
    """
    if labels is None and not algorithm.has_one_cell:
        raise InputError(
            "Several values of step_size or weight_scale came, but no labels choose among them; give some."
        )
    problem = Problem.of(main, references)
    score = None if labels is None else score_of(labels, main, regression=False)
    setup = Setup(problem, algorithm, seed, Host() if backend is None else backend)
    demand_memory(setup)
    tuned = choose_bridges(setup)
    active = active_references(problem, tuned, algorithm)
    search = None if score is None else LabelSearch(score, problem)
    path = diffuse(problem, tuned.bridges, active, search)
    refined = in_units(problem, path.predictions)
    gain = None if score is None else score.gain(main.scores[score.rows], refined[score.rows])
    return Alone(problem, tuned, active, path, None if search is None else search.surface, gain)


def active_references(problem: Problem, tuned: TunedBridges, algorithm: Algorithm1) -> FloatArray:
    """Whether each reference takes part, shape (m,): 0 if it is idle or at chance."""
    active = np.ones(len(problem.references))
    seen = zip(problem.references, tuned.aligned, tuned.fidelity, strict=True)
    for number, (reference, (alignment, chance), fidelity) in enumerate(seen):
        # Permuted pairs do as well, in alignment or in fidelity.
        is_chance = algorithm.ignore_chance and min(abs(alignment), fidelity) <= chance
        if reference.is_idle or is_chance:
            active[number] = 0.0
    return active


def describe_alone(found: Alone, *, accepted: bool, digits: int) -> dict[str, Any]:
    """Return what was chosen and found, as the plain data of a row; numbers of arrays with so many digits."""
    path, (step_sizes, weight_scales) = found.path, found.tuned.bridges.algorithm.grid
    names = [reference.name for reference in found.problem.references]
    weights = dict(zip(names, (round(weight, digits) for weight in found.weights.tolist()), strict=True))
    return {
        "accepted": accepted,
        "gain": write(found.gain),
        **write(found.tuned.bridges.setting),
        "standardised": write(found.tuned.tables.standardised()),
        "step_size": path.history[0].step_size,
        "weight_scale": path.history[0].weight_scale,
        "share": 1.0,
        "rounds": path.history[-1].round,
        "weights": weights,
        "step_sizes": list(step_sizes),
        "weight_scales": list(weight_scales),
        "surface": None if found.surface is None else np.round(found.surface, digits).tolist(),
    }
