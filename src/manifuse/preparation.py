"""Preparation: everything that a run does before the diffusion. The run as a noun is `Prepared`."""

from __future__ import annotations

from dataclasses import dataclass

from manifuse.backends.backend import Backend
from manifuse.columns.imputed import MOST_PAIRS
from manifuse.columns.taught import MOST_TAUGHT
from manifuse.diffusion.bridges import Bridges, NeighbourTables
from manifuse.diffusion.footprint import demand_memory
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.problem import Problem, Reference
from manifuse.diffusion.setup import Setup
from manifuse.evidence.relevance import PairEvidence, active_references, weigh_pairs
from manifuse.evidence.score import Score
from manifuse.evidence.tuning import Trial, choose_bridges, scalings_to_try
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.columns import means_and_deviations

#: Rows squared times features up to which labels are worth a neighbour search that no bridge needs.
MOST_WORK = 5e10


@dataclass(frozen=True, eq=False)
class Prepared:
    """A run that is ready for the diffusion.

    Attributes
    ----------
    setup : Setup
        What the run was given.
    score : Score or None
        What the labels measure.
    groups : mapping of int to str, or None
        Of the labelled rows, if the user names them.
    bridges : Bridges
        Under the best setting.
    tables : NeighbourTables
        The neighbour searches that the bridges are made of.
    trials : tuple of Trial
        Settings tried; empty if there was nothing to choose.
    pair_evidence : tuple of PairEvidence
        What the pairs say of every reference.
    active : (m,) array
        1 for references that take part in a diffusion that labels only tune, 0 for the others.
    """

    setup: Setup
    score: Score | None
    groups: dict[int, str] | None
    bridges: Bridges
    tables: NeighbourTables
    trials: tuple[Trial, ...]
    pair_evidence: tuple[PairEvidence, ...]
    active: FloatArray

    @property
    def problem(self) -> Problem:
        """The problem, started from the main predictor as it came."""
        return self.setup.problem

    @property
    def taking_part(self) -> dict[int, Reference]:
        """The references that take part, by their numbers: those that have something to say and are not ignored."""
        ignored = self.setup.method.ignored
        return {
            number: reference
            for number, reference in enumerate(self.problem.references)
            if not reference.is_idle and reference.name not in ignored
        }

    @property
    def nearest(self) -> IndexArray | None:
        """The nearest other row of every main row; None without a graph."""
        return None if self.tables.main is None else self.tables.main.indices[:, 0]

    @property
    def labels_tune(self) -> bool:
        """Whether labels choose the step size and the weight scale of the f-diffusion, and teach nothing."""
        return self.score is not None and not self.setup.method.learning


def prepare(
    problem: Problem,
    method: JointDiffusion,
    score: Score | None,
    seed: int,
    backend: Backend,
    groups: dict[int, str] | None = None,
) -> Prepared:
    """Search neighbours, choose and build bridges, and measure what the pairs say of each reference.

    Parameters
    ----------
    problem : Problem
    method : JointDiffusion
    score : Score or None
        What the labels measure; None without labels.
    seed : int
    backend : Backend
        Searches neighbours and keeps graphs.
    groups : mapping of int to str, optional
        Of the labelled rows.

    Raises
    ------
    InputError
        If the run would not fit into memory, or features cannot be used.
    MissingExtraError
        If the neighbour search needs a library that is not installed.
    """
    setup = Setup(problem, method, seed, backend, method.learning and needs_own_graph(problem, score))
    demand_memory(setup, taught=_taught(problem, score) if method.learning else 0)
    tuned = choose_bridges(setup, scalings_to_try(setup))
    evidence = weigh_pairs(problem, tuned.bridges, tuned.folds, seed)
    active = active_references(problem, evidence, method)
    return Prepared(setup, score, groups, tuned.bridges, tuned.tables, tuned.trials, evidence, active)


def needs_own_graph(problem: Problem, score: Score | None) -> bool:
    """Whether labels are worth a neighbour search that no bridge needs: features vary, and the search is quick."""
    main = problem.main
    if score is None or problem.bridged or not main.has_graph:
        return False
    if main.table is None:
        return True
    rows, columns = main.table.shape
    return float(rows) ** 2 * columns <= MOST_WORK and bool(means_and_deviations(main.table)[1].any())


def _taught(problem: Problem, score: Score | None) -> int:
    """Most pairs or labels that a lesson is learned from."""
    pairs = [min(len(reference.main_rows), MOST_PAIRS) for reference in problem.bridged.values()]
    labels = 0 if score is None else min(len(score.observations()), MOST_TAUGHT)
    return max([labels, *pairs])
