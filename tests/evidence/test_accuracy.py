import numpy as np
import pytest
from scipy.stats import kendalltau

from manifuse.evidence.accuracy import ranking_accuracy


def test_equals_what_kendalls_tau_b_says(rng):
    labels, scores = rng.integers(0, 6, 200), np.round(rng.standard_normal(200), 1)
    total = 200 * 199 / 2
    tied = [sum(k * (k - 1) / 2 for k in np.unique(values, return_counts=True)[1]) for values in (labels, scores)]
    balance = kendalltau(labels, scores).statistic * np.sqrt((total - tied[0]) * (total - tied[1]))
    assert ranking_accuracy(labels, scores) == pytest.approx((1 + balance / (total - tied[0])) / 2)


@pytest.mark.parametrize(
    "labels, scores, expected",
    [([0, 1], [0, 1], 1.0), ([0, 1], [1, 0], 0.0), ([0, 1], [1, 1], 0.5), ([0, 0, 1], [5, -5, 0], 0.5)],
)
def test_by_hand(labels, scores, expected):
    assert ranking_accuracy(labels, scores) == expected
