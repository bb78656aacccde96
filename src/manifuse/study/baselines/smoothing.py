"""Self-smoothing: one's own scores smoothed over one's own graph, with no reference at all.

The control that every table needs: what the method gains over it is what the references are worth.
"""

from __future__ import annotations

import numpy as np

from manifuse.backends.host import Host
from manifuse.backends.neighbours import Query
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.presmoothing import NEIGHBOURS, choose_presmoothing
from manifuse.errors import InputError
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray


def self_smoothing(
    main: Observations, score: Score, rng: np.random.Generator
) -> tuple[FloatArray, dict[str, float | int | bool | None]]:
    """Smooth the scores of ``main`` over its own graph, all parameters chosen by the labels.

    Parameters
    ----------
    main : Observations
        With features.
    score : Score
        Chooses as `choose_presmoothing` has it, on features standardised and as they are.
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
    if main.table is None:
        raise InputError(f"{main.name} came without features, so it has no graph to be smoothed over; give them.")
    backend = Host()
    searched = [
        backend.search(main.table, Query(max(NEIGHBOURS), standardised, main.name), rng)
        for standardised in (True, False)
    ]
    chosen = choose_presmoothing(main, searched, score, backend)
    return (main.scores, {}) if chosen is None else (chosen.scores(), chosen.hyperparameters())
