"""Random streams. Each use has its own, so that its numbers do not depend on how many numbers another use draws."""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """A use of random numbers."""

    FOLDS = 0
    PERMUTATIONS = 1
    RECALL = 2
    SAMPLE = 3
    DISTANCES = 4
    TEACHING = 5
    FITTED = 6


def generator(seed: int, stream: Stream) -> np.random.Generator:
    """Return the generator of one stream, at its start."""
    return np.random.default_rng([seed, stream])
