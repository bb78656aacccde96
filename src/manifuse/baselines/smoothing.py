"""Self-smoothing: one's own scores smoothed over one's own graph, with no reference at all.

The control that every table needs: what the method gains over it is what the references are worth.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from manifuse.diffusion.graph import FeatureGraph, Neighbours
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.score import Score
from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.laplacian import smooth
from manifuse.kernels.sphere import standardise

#: What the labels choose from: neighbours, step sizes, prediction scales, and rounds of re-weighting.
NEIGHBOURS = (5, 10, 20)
STEPS = (1.0, 3.0, 10.0, 30.0)
SCALES = (0.1, 0.3, np.inf)
ROUNDS = 3


def smooth_scores(graph: FeatureGraph, scores: FloatArray, *, step: float, scale: float) -> FloatArray:
    """Smooth once over the graph that the scores re-weigh, each row scaled by what it makes of a constant."""
    affinity = graph.affinity(standardise(scores), scale)
    smoothed = smooth(affinity, np.column_stack([scores, np.ones(len(scores))]), step)
    return np.asarray(smoothed[:, 0] / smoothed[:, 1])


def self_smoothing(main: Observations, score: Score, rng: np.random.Generator) -> FloatArray:
    """Smooth the scores of ``main`` over its own graph, all parameters chosen by the labels.

    Parameters
    ----------
    main : Observations
        With features.
    score : Score
        Chooses among graphs on features as they are and standardised, 3 x 4 x 3 settings on each, with one
        to three rounds of smoothing and re-weighting, and no smoothing at all.
    rng : numpy.random.Generator
        For the neighbour search.

    Returns
    -------
    (n,) array

    Raises
    ------
    InputError
        If there are no features.
    """
    if main.table is None:
        raise InputError(f"{main.name} came without features, so it has no graph to be smoothed over; give them.")
    best = main.scores
    height = float(score.evaluate(best[score.rows, None])[0])
    tables = [
        Neighbours.of(main.table, max(NEIGHBOURS), name=main.name, standardised=standardised, rng=rng)
        for standardised in (True, False)
    ]
    for table, count in product(tables, NEIGHBOURS):
        graph = FeatureGraph.of(table, count)
        for step, scale in product(STEPS, SCALES):
            current: FloatArray = main.scores
            for _ in range(ROUNDS):
                current = smooth_scores(graph, current, step=step, scale=scale)
                reached = float(score.evaluate(current[score.rows, None])[0])
                if reached > height:
                    best, height = current, reached
    return best
