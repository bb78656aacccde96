"""Simpler ways: what columns that users can compute in a few lines reach by themselves at held-out labelled rows."""

from __future__ import annotations

import numpy as np

from manifuse.columns.all_columns import RunInputs, RunOutputs
from manifuse.columns.expected import Expected
from manifuse.columns.scored import HeldOutScores
from manifuse.evidence.found import SimplerWay, Way
from manifuse.kernels.arrays import FloatArray


def simpler_ways(given: RunInputs, found: RunOutputs, own: FloatArray, refined: FloatArray) -> tuple[SimplerWay, ...]:
    """Compare refined scores with smoothed own ones, and with the mean of own ones and imputed references.

    Parameters
    ----------
    given : RunInputs
    found : RunOutputs
        With labels.
    own : (l, ...) array
        Own scores at the labelled rows.
    refined : (r, l) or (r, l, c) array
        Refined scores there, in the same units.
    """
    assert found.labels is not None, "there are labels"
    score, folds, known = found.labels.score, found.labels.folds, found.known.held_out
    ways: dict[Way, FloatArray] = {}
    if given.problem.main.table is not None and "smoothed" in known.columns:
        ways["smoothed"] = known["smoothed"]
    if given.taking_part:
        ways["averaged"] = Expected.measured(known, np.ones(len(given.taking_part))).at(known)
    made = []
    for name, values in ways.items():
        # No label was seen, so all trials are alike; they are compared within the same folds.
        trials = np.repeat(values[None, score.rows], len(refined), axis=0)
        reached = HeldOutScores.of(given.problem.units, own, trials, score, folds)
        made.append(SimplerWay(name, reached.gain, score.gain(reached.values, refined, folds)))
    return tuple(made)
