"""Blocks: which labels a refinement holds out together, for others that hold out labels."""

from __future__ import annotations

import numpy as np

from manifuse.backends.host import Host
from manifuse.columns.run_order import blocks_of, start
from manifuse.evidence.holding_out import Folds
from manifuse.evidence.labelled import groups_of
from manifuse.evidence.score import Score
from manifuse.run.method import JointDiffusion
from manifuse.run.preparation import prepare
from manifuse.run.refine import fitted_part
from manifuse.tables.observations import Observations
from manifuse.tables.problem import Problem
from manifuse.tables.user_tables import Labels


def blocks_of_labels(main: Observations, labels: Labels, score: Score, method: JointDiffusion, seed: int) -> Folds:
    """Return labels in one fold, in the blocks that `refine` would hold out: groups, runs or regions."""
    problem, measure = fitted_part(Problem.of(main, (), needed=False), score, method, seed)
    assert measure is not None, "there are labels"
    given = prepare(problem, method, measure, seed, Host(), groups_of(labels, problem.main, measure)).given
    _, known = start(given)
    blocks, held = blocks_of(given, measure, known.fitted)
    return Folds(np.zeros((1, len(blocks)), dtype=np.intp), held, blocks)
