"""Random streams: each use has its own, so that none depends on how often another was drawn from."""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What random numbers are drawn for."""

    FOLDS = 0
    PERMUTATIONS = 1
    RECALL = 2
    SAMPLE = 3


def generator(seed: int, stream: Stream) -> np.random.Generator:
    """Return the generator of one stream, at its beginning."""
    return np.random.default_rng([seed, stream])
