"""Which score labels make of a table: their rows are found among its rows, and the measure is chosen."""

from __future__ import annotations

import warnings

import numpy as np

from manifuse.errors import InputError, ManifuseWarning, demand
from manifuse.evidence.score import GradedRanking, PairedRanking, Score, SquaredError
from manifuse.kernels.keys import locate
from manifuse.tables.labels import RankLabels
from manifuse.tables.observations import Observations


def score_of(labels: RankLabels, main: Observations, *, regression: bool) -> Score:
    """Make the score of labels: find their rows among the main rows, and choose the measure.

    Raises
    ------
    InputError
        If the main table has no id of a label, or a regression has ordered pairs or too large values as labels.
    """
    demand(RankLabels, labels)
    labels = _of_rows(labels, main)
    # In the order of their ids, so that labels in another order give the same result to the last bit.
    if labels.grades is None:
        rows, order = locate(labels.keys, main.keys)[0], np.lexsort([labels.worse, labels.better])
        if regression:
            raise InputError("Ordered pairs came as labels of a regression, which needs values; give ids and labels.")
        return PairedRanking.of(rows[labels.better[order]], rows[labels.worse[order]])
    order = np.argsort(labels.keys, kind="stable")
    rows, grades = locate(labels.keys[order], main.keys)[0], labels.grades[order]
    if regression and main.scale == "probability":
        raise InputError(
            "Probabilities came with a scale for a regression, which meets the labels' values by itself; leave "
            "`scale` out."
        )
    if not regression:
        return GradedRanking(rows, grades)
    # Errors are differences of targets and scores, and are squared.
    most = np.sqrt(np.finfo(np.float64).max / 8.0 / len(main))
    for what, values in (("The labels leave", grades), (f"The scores of {main.name} leave", main.scores)):
        if not np.abs(values).max() < most:
            raise InputError(f"{what} the range of numbers when squared; give them in other units.")
    return SquaredError(rows, grades)


def groups_of(labels: RankLabels, main: Observations, score: Score) -> dict[int, str] | None:
    """The group of every labelled row of a table; None if labels have none."""
    if labels.groups is None:
        return None
    places, _ = locate(main.keys[score.rows], labels.keys)
    return dict(zip(score.rows.tolist(), labels.groups[places].tolist(), strict=True))


def _of_rows(labels: RankLabels, main: Observations) -> RankLabels:
    """Leave out labels, and ordered pairs, of ids that the main table does not have; warn if there are any."""
    _, known = locate(labels.keys, main.keys)
    if known.all():
        return labels
    graded = labels.grades is not None
    usable = known if graded else known[labels.better] & known[labels.worse]
    kept, left, what = int(usable.sum()), int((~usable).sum()), "labels" if graded else "ordered pairs"
    example = f"first: {str(labels.keys[~known][0])!r}, where {main.name} has ids like {str(main.keys[0])!r}"
    if not kept:
        what = "No label is of an id" if graded else "No ordered pair is of two ids"
        raise InputError(f"{what} that {main.name} has ({example}); give labels of its rows.")
    warnings.warn(
        f"{left} {what} are of ids that {main.name} does not have ({example}); they are left out, {kept} are used.",
        ManifuseWarning,
        stacklevel=4,
    )
    if labels.grades is not None:
        return RankLabels(labels.keys[known], labels.grades[known])
    return RankLabels.from_pairs(labels.keys[labels.better[usable]], labels.keys[labels.worse[usable]])
