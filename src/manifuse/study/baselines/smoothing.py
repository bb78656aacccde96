"""Self-smoothing: the main predictor's scores smoothed over its own graph, without any reference.

Every table of results needs this control: what the method gains over it is what the references are worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from manifuse.backends.backend import Backend
from manifuse.backends.host import Host
from manifuse.backends.neighbours import Neighbours, Query
from manifuse.errors import InputError
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import standardise
from manifuse.records import write
from manifuse.study.baselines.own_smoothing import ROUNDS, Smoothing, SmoothingSetting, averages, smooth_scores
from manifuse.tables.observations import Observations
from manifuse.tables.units import Units

#: What the labels choose from, beside the rounds: neighbours, step sizes, and prediction scales.
NEIGHBOURS = (5, 10, 20)
STEPS = (1.0, 3.0, 10.0, 30.0)
SCALES = (0.1, 0.3, np.inf)


def self_smoothing(main: Observations, score: Score, rng: np.random.Generator) -> tuple[FloatArray, dict[str, Any]]:
    """Smooth the scores of ``main`` over its own graph, all parameters chosen by the labels.

    Parameters
    ----------
    main : Observations
        With features.
    score : Score
        Chooses as in `choose_smoothing`, with standardised features and with features as they came.
    rng : numpy.random.Generator
        For the neighbour search.

    Returns
    -------
    predictions : (n,) array
    hyperparameters : dict
        Empty if no smoothing scores above the scores as they came.

    Raises
    ------
    InputError
        If there are no features.
    """
    searched = [search(main, max(NEIGHBOURS), rng, standardised=standardised) for standardised in (True, False)]
    chosen = choose_smoothing(main, searched, score, Host())
    return (main.scores, {}) if chosen is None else (chosen.scores(), write(chosen.setting))


def search(main: Observations, count: int, rng: np.random.Generator, *, standardised: bool = True) -> Neighbours:
    """Search the nearest rows of every row of ``main`` by its own features.

    Parameters
    ----------
    main : Observations
        With features.
    count : int
        Neighbours of every row.
    rng : numpy.random.Generator
        Draws the sample on which an approximate search is checked.
    standardised : bool
        Whether features are standardised first.

    Raises
    ------
    InputError
        If there are no features.
    """
    if main.table is None:
        raise InputError(f"{main.name} came without features, so it has no graph; give it features.")
    return Host().search(main.table, Query(count, standardised, main.name), rng)


def choose_smoothing(
    main: Observations, searched: Sequence[Neighbours], score: Score, backend: Backend
) -> Smoothing | None:
    """Choose by the labels among 3 x 4 x 3 settings with one to three rounds, for each of the searches.

    Parameters
    ----------
    main : Observations
        With features, or neighbours that were given.
    searched : sequence of Neighbours
        Searches for the largest of ``NEIGHBOURS``, one for each way to scale the features.
    score : Score
    backend : Backend
        Keeps the graphs.

    Returns
    -------
    Smoothing or None
        None if no smoothing scores above the scores as they came.
    """
    start, units = standardise(main.scores), Units.of(main.scores)

    def height(scores: FloatArray) -> float:
        return float(score.evaluate(units.from_standardised(scores)[score.rows, None])[0])

    best, highest = None, height(start)
    for table, count in product(searched, NEIGHBOURS):
        graph = backend.graph(table, count)
        for scale in SCALES:
            # All steps begin on the same graph, and share its products.
            for step, smoothed in zip(STEPS, smooth_scores(graph, start, scale, STEPS), strict=True):
                for rounds in range(1, ROUNDS + 1):
                    scores = averages(smoothed)
                    reached = height(scores)
                    if reached > highest:
                        chosen = SmoothingSetting(graph.neighbours, graph.standardised, step, scale, rounds)
                        best, highest = Smoothing(main, graph, chosen), reached
                    if rounds < ROUNDS:
                        (smoothed,) = smooth_scores(graph, scores, scale, [step])
    return best
