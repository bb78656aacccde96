"""Preparation: everything that a run does before the diffusion. The run as a noun is `Prepared`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from manifuse.backends.backend import Backend
from manifuse.diffusion.bridges import Bridges, NeighbourTables
from manifuse.diffusion.fit import Fit
from manifuse.diffusion.footprint import demand_memory
from manifuse.diffusion.joint import Path
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.presmoothing import Presmoothing
from manifuse.diffusion.problem import Problem
from manifuse.diffusion.setup import Setup
from manifuse.evidence.presmoothing_choice import neighbours_to_search, presmooth
from manifuse.evidence.relevance import PairEvidence, active_references, weigh_pairs
from manifuse.evidence.score import Score
from manifuse.evidence.tuning import Trial, choose_bridges, scalings_to_try
from manifuse.kernels.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Prepared:
    """A run that is ready for the diffusion.

    Attributes
    ----------
    setup : Setup
        What the run was given; its problem starts from the presmoothed scores.
    score : Score or None
        What the labels measure.
    presmoothing : Presmoothing or None
    bridges : Bridges
        Under the best setting.
    tables : NeighbourTables
        The neighbour searches that the bridges are made of.
    trials : tuple of Trial
        Settings tried; empty if there was nothing to choose.
    pair_evidence : tuple of PairEvidence
        What the pairs say of every reference.
    active : (m,) array
        1 for references that take part, 0 for the others.
    """

    setup: Setup
    score: Score | None
    presmoothing: Presmoothing | None
    bridges: Bridges
    tables: NeighbourTables
    trials: tuple[Trial, ...]
    pair_evidence: tuple[PairEvidence, ...]
    active: FloatArray

    @property
    def problem(self) -> Problem:
        """The problem, started from the presmoothed scores."""
        return self.setup.problem

    def fit(self, path: Path) -> Fit:
        """Return what later rows need of this run and of the diffusion that followed."""
        return Fit(
            main=self.problem.main,
            start=self.problem.start,
            bridges=self.bridges.on_host(),
            coefficients=path.coefficients,
            presmoothing=None if self.presmoothing is None else self.presmoothing.on_host(),
        )


def prepare(
    problem: Problem,
    method: JointDiffusion,
    score: Score | None,
    seed: int,
    backend: Backend,
    tell: Callable[[str], None] = lambda doing: None,
) -> Prepared:
    """Search neighbours, presmooth, choose and build bridges, and measure what the pairs say of each reference.

    Parameters
    ----------
    problem : Problem
    method : JointDiffusion
    score : Score or None
        What the labels measure; None without labels.
    seed : int
    backend : Backend
        Searches neighbours and keeps graphs.
    tell : callable, optional
        Gets a short text before each stage, for whoever waits.

    Raises
    ------
    InputError
        If the run would not fit into memory, or features cannot be used.
    MissingExtraError
        If the neighbour search needs a library that is not installed.
    """
    setup = Setup(problem, method, seed, backend)
    demand_memory(setup, presmoothing_neighbours=neighbours_to_search(setup, score))
    tell("Searching neighbours")
    scalings = scalings_to_try(setup)
    presmoothing, searched = presmooth(setup, score, scalings)
    if presmoothing is not None:
        setup = replace(setup, problem=problem.starting_from(presmoothing.smoothed()))
    tell("Searching neighbours, making graphs and building bridges")
    tuned = choose_bridges(setup, scalings, searched)
    tell("Predicting the held-out pairs")
    evidence = weigh_pairs(setup.problem, tuned.bridges, tuned.folds, seed)
    active = active_references(setup.problem, evidence, method)
    return Prepared(setup, score, presmoothing, tuned.bridges, tuned.tables, tuned.trials, evidence, active)
