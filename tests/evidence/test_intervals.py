"""Intervals: how often they hold the truth of a row that taught nothing."""

import numpy as np
import pytest

from manifuse.evidence.holding_out import Folds, Held
from manifuse.evidence.intervals import NINETY, error_scale_of, standard_errors
from manifuse.evidence.squared_error import SquaredError


@pytest.mark.parametrize("count", [12, 40, 300])
def test_intervals_hold_ninety_of_a_hundred_new_rows_however_few_the_labels(rng, count):
    held = []
    for _ in range(400):
        misses = rng.standard_t(3.0, count + 1)
        score = SquaredError(np.arange(count), misses[:-1])
        folds = Folds(np.zeros((1, count), dtype=int), Held.AT_RANDOM)
        scale = error_scale_of(np.zeros((1, count)), np.ones((1, count)), score, folds)
        held.append(abs(misses[-1]) <= NINETY * standard_errors(np.ones(1), scale)[0])
    assert np.mean(held) == pytest.approx(0.9, abs=0.045)
