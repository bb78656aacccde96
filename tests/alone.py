"""Algorithm 1 by itself, as the paper runs it, for fitted and for later rows: what tests of the diffusion look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import manifuse as mf
from manifuse.columns.all_columns import Columns
from manifuse.columns.diffused import Diffused
from manifuse.columns.edges import Joining
from manifuse.columns.expected import Expected
from manifuse.columns.imputed import Imputed
from manifuse.columns.refined_scores import RefinedScores
from manifuse.columns.scored import Scoring
from manifuse.columns.view import Level
from manifuse.diffusion.joint import Path, diffuse
from manifuse.diffusion.setup import Setup
from manifuse.diffusion.tuning import TunedBridges, choose_bridges
from manifuse.evidence.labelled import score_of
from manifuse.run.fitted_model import FittedModel
from manifuse.tables.problem import Problem
from manifuse_study.experiments.label_search import LabelSearch, in_units
from manifuse_study.experiments.published import TUNED as GRID
from manifuse_study.experiments.published import active_references


@dataclass(frozen=True, eq=False)
class Alone:
    """What Algorithm 1 came to by itself, with the names of a refinement."""

    main: mf.Observations
    problem: Problem
    tuned: TunedBridges
    path: Path
    active: np.ndarray
    surface: np.ndarray | None

    @property
    def accepted(self):
        return bool(self.active.any()) and len(self.path.coefficients) > 0

    @property
    def history(self):
        return self.path.history

    @property
    def weights(self):
        return np.array(self.history[-1].weights) if len(self.path.coefficients) else np.zeros(len(self.active))

    @cached_property
    def fitted_model(self):
        problem, path = self.problem, self.path
        bridges = self.tuned.bridges.on_host()
        numbers = tuple(np.flatnonzero(self.active).tolist())
        places = {number: numbers.index(number) if number in numbers else -1 for number in bridges.known}
        looked_up = {number: problem.references[number].lookup for number in numbers if number in bridges.known}
        plain = Level(np.zeros(1), 1.0)
        columns = Columns(Level.of(problem.main.scores[:, None])).with_columns(
            references=Imputed(numbers, tuple(map(str, numbers)), (), looked_up, tuple(plain for _ in numbers)),
            expected=Expected(np.zeros(len(numbers)), np.zeros((len(numbers), 1)), plain),
            diffused=Diffused("own", problem.start, bridges, places, path.coefficients),
        )
        reached = bridges.arrive(path.predictions).references.reached.mean(axis=1)
        fitted = RefinedScores(in_units(problem, path.predictions), reached, None)
        scored = Scoring.of(problem.units)
        graph = bridges.graph
        joining = Joining(graph.neighbours, graph.standardised, graph.scales) if graph.neighbours else None
        return FittedModel(problem.main, joining, columns, scored, fitted)

    @property
    def scores(self):
        return self.fitted_model.fitted.scores

    predictions = scores

    @property
    def support(self):
        return self.fitted_model.fitted.support

    @property
    def uncertainty(self):
        return None

    def apply_in_full(self, new):
        return self.fitted_model.refine(new)

    def apply(self, new):
        return self.apply_in_full(new).scores


def alone(main, references, labels=None, method=None, rng=0, backend=None):
    """Run Algorithm 1 by itself; the names are those of `refine`, and ``method`` is an `Algorithm1`."""
    algorithm = (mf.Algorithm1() if labels is None else GRID) if method is None else method
    problem = Problem.of(main, references)
    score = None if labels is None else score_of(labels, main, regression=False)
    setup = Setup(problem, algorithm, rng, mf.Host() if backend is None else backend)
    tuned = choose_bridges(setup)
    active = active_references(problem, tuned, algorithm)
    search = None if score is None else LabelSearch(score, problem)
    path = diffuse(problem, tuned.bridges, active, search)
    return Alone(main, problem, tuned, path, active, None if search is None else search.surface)
