"""Ranking accuracy: the share of correctly ordered pairs."""

from typing import Any

import numpy as np

from manifuse.evidence.rankings import GradedRanking


def ranking_accuracy(labels: Any, scores: Any) -> float:
    """Share of the pairs with different labels that ``scores`` order as the labels do.

    Pairs of equal scores count one half: a constant score is right half of the time. O(n log n).

    Parameters
    ----------
    labels : (n,) array
        Graded truth, larger is better; at least two different values.
    scores : (n,) array

    Returns
    -------
    float
        In [0, 1].

    Examples
    --------
    >>> ranking_accuracy([0, 1, 2], [0.1, 0.3, 0.2])
    0.6666666666666666
    """
    grades = np.asarray(labels, dtype=np.float64)
    score = GradedRanking(np.arange(len(grades)), grades)
    return score.measured(np.asarray(scores, dtype=np.float64))
