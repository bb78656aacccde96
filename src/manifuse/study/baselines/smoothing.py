"""Self-smoothing: the main predictor's scores smoothed over its own graph, without any reference.

Every table of results needs this control: what the method gains over it is what the references are worth.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from manifuse.backends.host import Host
from manifuse.backends.neighbours import Neighbours, Query
from manifuse.diffusion.observations import Observations
from manifuse.errors import InputError
from manifuse.evidence.presmoothing_choice import NEIGHBOURS, choose_presmoothing
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray
from manifuse.records import write


def self_smoothing(main: Observations, score: Score, rng: np.random.Generator) -> tuple[FloatArray, dict[str, Any]]:
    """Smooth the scores of ``main`` over its own graph, all parameters chosen by the labels.

    Parameters
    ----------
    main : Observations
        With features.
    score : Score
        Chooses as in `choose_presmoothing`, with standardised features and with features as they came.
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
    chosen = choose_presmoothing(main, searched, score, Host())
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
