import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from manifuse_study.ranking.pair_ranges import pairs_within
from manifuse_study.ranking.ranksvm import ranks

sizes = st.shared(st.integers(1, 25), key="rows")
labels = sizes.flatmap(lambda n: arrays(np.float64, n, elements=st.integers(-3, 3).map(float)))
scores = sizes.flatmap(lambda n: arrays(np.float64, (n, 2), elements=st.integers(-4, 4).map(float)))


@given(scores, labels, st.sampled_from([0.0, 1.0, 2.5]))
def test_ranges_of_pairs_are_the_matrix_of_pairs(scores, labels, margin):
    column = scores[:, 0]
    near = column[:, None] - column[None, :] < margin
    matrix = (near & (labels[:, None] > labels[None, :])).astype(float)
    pairs = pairs_within(column, ranks(labels), margin)
    np.testing.assert_allclose(pairs.sum_lower(scores[:, 1]), matrix @ scores[:, 1], atol=1e-12)
    np.testing.assert_allclose(pairs.sum_upper(scores[:, 1]), matrix.T @ scores[:, 1], atol=1e-12)


def test_there_are_at_most_n_log_n_ranges(rng):
    pairs = pairs_within(rng.standard_normal(1024), np.arange(1024), 1.0)
    assert len(pairs.upper) + len(pairs.lower) == 1024 * 10
