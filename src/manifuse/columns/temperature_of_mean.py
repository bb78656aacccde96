"""Temperature of the mean: how sure refined probabilities of classes are without labels."""

import numpy as np

from manifuse.columns.all_columns import RunInputs, RunOutputs
from manifuse.tables.level import Level


def temperature_by_mean(given: RunInputs, found: RunOutputs) -> float:
    """What refined log-ratios of classes are multiplied by: own ones and the mean of all say how sure they are.

    In this mean, each predictor counts as in the column "expected", but in its own units. Columns are standardised, so
    they come back as sure as the main predictor is: too sure if it is. The mean is not as sure as good predictors that
    agree may be together. So we take the middle of both, on a logarithmic scale. It is 1 for scores, for fewer than
    three classes, and if no reference that is followed has the same classes or if none speaks of some class, because
    that keeps its own probability.
    """
    main, known, expected = given.problem.main, found.views.fitted, found.columns.expected
    if expected.covered is None or not expected.covered.by(expected.pulls).all():
        return 1.0
    total, counts = main.scores.copy(), 1.0
    for column, reference in enumerate(given.taking_part.values()):
        if reference.turning is None:
            units, pull = Level.of(reference.table.scores[reference.reference_rows]), expected.pulls[column]
            total += pull * units.undo(known["references"][:, column])
            counts += pull
    if counts == 1.0:
        return 1.0
    refined = given.problem.units.undo(known[found.columns.last])
    return float(np.sqrt(np.linalg.norm(total) / counts / np.linalg.norm(refined)))
