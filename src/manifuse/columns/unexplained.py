"""Unexplained: rows that moved to where references push them, although nothing else known of the rows explains it."""

import numpy as np
from scipy.stats import false_discovery_control, median_abs_deviation, t

from manifuse.columns.all_columns import RunOutputs
from manifuse.columns.scored import Scoring
from manifuse.evidence.neighbourhood import percentiles_of
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.observations import Observations

#: The expected share of false names among the rows that are named, at most (Benjamini and Hochberg 1995). What is left
#: unexplained of ordinary rows has the tails of Student's t with so many degrees of freedom.
FALSE, FREEDOM = 0.05, 10

#: With fewer rows than this, nothing is known of what is ordinary.
FEWEST_ROWS = 10

#: A row moved far if it moved by so many percentiles, or into another class.
FAR = 40.0


def unexplained_rows(main: Observations, found: RunOutputs, scored: Scoring, refined: FloatArray) -> tuple[str, ...]:
    """Find rows that moved far to where references push them beyond all else that is known of them.

    Returns
    -------
    tuple of str
        Their ids, the most striking first.
    """
    views = found.views
    name = "expected" if found.taught is None else "taught"
    pairs = views.fitted["known itself"] > 0
    fitted, held_out = (
        scored.scores(main.scores, view["expected"], view[name], pairs) for view in (views.fitted, views.held_out)
    )
    alone = (fitted - held_out).reshape(len(main), -1)
    rows = np.flatnonzero(pairs & alone.any(axis=1))
    order, away = stand_out(alone[rows])
    change = (refined - main.scores).reshape(alone.shape)[rows]
    # In units of the largest, so that products of huge scores stay in range.
    one, other = (each / (np.abs(each).max(initial=0.0) or 1.0) for each in (away, change))
    is_pushed = (one * other).sum(axis=1) > 0
    if main.classes is None:
        is_far = np.abs(percentiles_of(refined) - percentiles_of(main.scores)) >= FAR
    else:
        is_far = np.not_equal(*(np.argmax(main.in_scale(each), axis=1) for each in (main.scores, refined)))
    striking = order[(is_pushed & is_far[rows])[order]]
    return tuple(main.keys[rows[striking]].tolist())


def stand_out(alone: FloatArray) -> tuple[IndexArray, FloatArray]:
    """Find rows whose values are much farther from the median than is ordinary among them.

    Parameters
    ----------
    alone : (p, c) array

    Returns
    -------
    rows : (k,) array of int
        The farthest first.
    away : (p, c) array
        Values from the median of their column, in robust standard deviations; 0 in a column without a spread.
    """
    if len(alone) < FEWEST_ROWS:
        return np.empty(0, dtype=np.intp), np.zeros_like(alone)
    away, spread = alone - np.median(alone, axis=0), median_abs_deviation(alone, axis=0, scale="normal")
    away = np.divide(away, spread, out=np.zeros_like(away), where=spread > 0)
    # The largest of c values is as far away by chance as the smallest of c probabilities.
    chances = np.minimum(2.0 * away.shape[1] * t.sf(np.abs(away).max(axis=1), FREEDOM), 1.0)
    order = np.argsort(chances, kind="stable")
    return order[(false_discovery_control(chances) <= FALSE)[order]], away
