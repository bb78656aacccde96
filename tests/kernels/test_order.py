import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from manifuse.kernels.order import comparable, concordance, concordant_pairs

sizes = st.shared(st.integers(1, 25), key="rows")
labels = sizes.flatmap(lambda n: arrays(np.float64, n, elements=st.integers(-3, 3).map(float)))
scores = sizes.flatmap(lambda n: arrays(np.float64, (n, 3), elements=st.integers(-4, 4).map(float)))


def by_definition(scores, labels):
    """Count the concordant partners of every row by looking at all pairs."""
    order = np.sign(labels[:, None] - labels[None, :])[:, :, None]
    agreement = np.sign(scores[:, None] - scores[None, :]) * order
    return np.where(order != 0, (agreement + 1) / 2, 0.0).sum(axis=1)


@given(scores, labels)
def test_equals_the_quadratic_definition_with_ties(scores, labels):
    np.testing.assert_array_equal(concordance(scores, labels), by_definition(scores, labels))


def test_equals_the_quadratic_definition_with_real_scores(rng):
    scores, labels = rng.standard_normal((300, 4)), rng.integers(0, 100, 300).astype(float)
    np.testing.assert_array_equal(concordance(scores, labels), by_definition(scores, labels))


def test_a_perfect_order_agrees_with_every_comparable_row(rng):
    labels = rng.integers(0, 5, 60).astype(float)
    np.testing.assert_array_equal(concordance(labels[:, None], labels)[:, 0], comparable(labels))
    assert not concordance(-labels[:, None], labels).any()


@given(labels)
def test_comparable_counts_the_rows_of_other_grade(labels):
    np.testing.assert_array_equal(comparable(labels), (labels[:, None] != labels[None, :]).sum(axis=1))


@given(scores, labels)
def test_the_count_of_pairs_is_half_the_sum_over_rows(scores, labels):
    np.testing.assert_array_equal(concordant_pairs(scores, labels), by_definition(scores, labels).sum(axis=0) / 2)


def test_the_count_of_pairs_holds_with_more_grades_than_a_byte_has(rng):
    scores, labels = rng.standard_normal((600, 3)), rng.permutation(600).astype(float)
    scores[:5, 1] = 0.0
    np.testing.assert_array_equal(concordant_pairs(scores, labels), by_definition(scores, labels).sum(axis=0) / 2)
