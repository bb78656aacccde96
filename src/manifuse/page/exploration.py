"""Exploration: the problem that the page shows, and the method that its controls ask to run."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from manifuse.evidence.labelled import score_of
from manifuse.run.method import JointDiffusion
from manifuse.run.refine import refine
from manifuse.run.refinement import Refinement
from manifuse.tables.labels import ClassLabels, RankLabels
from manifuse.tables.observations import Observations
from manifuse.tables.problem import Problem


@dataclass(frozen=True, eq=False)
class Exploration:
    """A problem, and the method with which the page opens.

    Attributes
    ----------
    title : str
    main : Observations
    references : tuple of Observations
    labels : RankLabels, ClassLabels or None
    method : JointDiffusion
    seed : int
    """

    title: str
    main: Observations
    references: tuple[Observations, ...]
    labels: RankLabels | ClassLabels | None
    method: JointDiffusion
    seed: int

    def asked(self, *, ignored: Collection[str], same_target: bool | None) -> JointDiffusion:
        """Return the method that ignores the references of these names; equal if it is asked for what it is."""
        method = replace(self.method, same_target=same_target)
        if set(ignored) == set(method.ignored):
            return method
        return replace(method, ignored=tuple(each.name for each in self.references if each.name in ignored))


def describe(exploration: Exploration) -> dict[str, Any]:
    """Return what does not change during an exploration, as JSON can hold it.

    Raises
    ------
    InputError
        If `refine` would refuse the tables or the labels.
    """
    problem, method = Problem.of(exploration.main, exploration.references), exploration.method
    labels, labelled = exploration.labels, 0
    if labels is not None:
        labelled = len(score_of(labels, exploration.main, regression=method.is_regression).rows)
    return {
        "title": exploration.title,
        "main": exploration.main.name,
        "ids": exploration.main.keys.tolist(),
        "classes": exploration.main.classes is not None,
        "labelled": labelled,
        "references": [{"name": each.name, "idle": each.is_idle} for each in problem.references],
        "ignored": list(method.ignored),
        "same_target": method.same_target,
    }


def run(exploration: Exploration, method: JointDiffusion) -> Refinement:
    """Refine, in a process of its own."""
    return refine(exploration.main, exploration.references, exploration.labels, method, rng=exploration.seed)
