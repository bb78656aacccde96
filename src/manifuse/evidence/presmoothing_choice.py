"""Choosing by the labels how the main predictor is smoothed over its own graph."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product

import numpy as np

from manifuse.backends.backend import Backend
from manifuse.backends.neighbours import Neighbours
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.presmoothing import ROUNDS, Presmoothing, SmoothingSetting, averages, smooth_scores
from manifuse.diffusion.randomness import Stream, generator
from manifuse.diffusion.setup import Setup
from manifuse.diffusion.units import Units
from manifuse.errors import ManifuseWarning, MissingExtraError
from manifuse.evidence.score import Score
from manifuse.evidence.tuning import Scaling
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.columns import means_and_deviations
from manifuse.kernels.sphere import standardise

#: What the labels choose from, beside the rounds: neighbours, step sizes, and prediction scales.
NEIGHBOURS = (5, 10, 20)
STEPS = (1.0, 3.0, 10.0, 30.0)
SCALES = (0.1, 0.3, np.inf)


def neighbours_to_search(setup: Setup, score: Score | None) -> int:
    """Neighbours that presmoothing needs; 0 if the method, the labels or the features do not allow it."""
    wanted = score is not None and setup.method.presmoothed and setup.problem.main.has_graph
    return max(NEIGHBOURS) if wanted else 0


def presmooth(
    setup: Setup, score: Score | None, scalings: Sequence[Scaling]
) -> tuple[Presmoothing | None, list[Neighbours]]:
    """Presmooth the main predictor, if the method asks for it and there are labels and features.

    ``scalings`` are the ways to scale features that `scalings_to_try` gives.

    Returns
    -------
    presmoothing : Presmoothing or None
    searched : list of Neighbours
        The searches of the main table that were done for it.
    """
    main, count = setup.problem.main, neighbours_to_search(setup, score)
    if score is None or not count:
        return None, []
    optional = not setup.problem.bridged
    if optional and main.table is not None and not means_and_deviations(main.table)[1].any():
        return None, []
    rng = generator(setup.seed, Stream.RECALL)
    try:
        searched = [setup.search(main, standardised=flag, rng=rng, count=count) for flag, *_ in scalings]
    except MissingExtraError as error:
        if not optional:
            raise
        # A coupled run needs no search but this one.
        warnings.warn(f"{main.name} is not presmoothed: {error}", ManifuseWarning, stacklevel=4)
        return None, []
    return choose_presmoothing(main, searched, score, setup.backend), searched


def choose_presmoothing(
    main: Observations, searched: Sequence[Neighbours], score: Score, backend: Backend
) -> Presmoothing | None:
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
    Presmoothing or None
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
                        best, highest = Presmoothing(main, graph, chosen), reached
                    if rounds < ROUNDS:
                        (smoothed,) = smooth_scores(graph, scores, scale, [step])
    return best
