"""Rank waves: cosines of the ranks of features."""

import numpy as np
import pytest
from scipy.stats import rankdata

from manifuse.columns.covariance import AMPLITUDES, RankWaves
from manifuse.records import read, write


@pytest.fixture
def features(rng):
    whole = rng.integers(0, 4, 60)
    return np.column_stack([rng.standard_normal(60), whole, np.full(60, 7.0), rng.standard_cauchy(60)])


def test_they_are_cosines_of_mean_ranks_about_their_means(features):
    found = RankWaves.of(features).apply(features)
    shares = (rankdata(features[:, [0, 1, 3]], axis=0) - 0.5) / 60
    waves = [np.sqrt(2.0) * size * np.cos(np.pi * k * shares) for k, size in enumerate(AMPLITUDES, start=1)]
    expected = np.hstack(waves)
    np.testing.assert_allclose(found, expected - expected.mean(axis=0), atol=1e-12)


def test_only_the_order_of_the_values_counts(features):
    curved = np.column_stack([np.exp(features[:, 0]), features[:, 1] ** 3, features[:, 2], np.arctan(features[:, 3])])
    np.testing.assert_allclose(RankWaves.of(curved).apply(curved), RankWaves.of(features).apply(features), atol=1e-12)


def test_a_value_beyond_all_counts_as_the_last(features):
    waves = RankWaves.of(features)
    beyond, last = np.array([[1e9, 1e9, 0.0, -1e9]]), np.append(features.max(axis=0)[:3], features[:, 3].min())
    np.testing.assert_allclose(waves.apply(beyond), waves.apply(last[None]))


def test_a_saved_one_gives_the_same(features):
    waves = RankWaves.of(features)
    np.testing.assert_array_equal(read(RankWaves, write(waves)).apply(features), waves.apply(features))
