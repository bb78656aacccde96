import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kendalltau

from manifuse.kernels.concordance import concordance, concordant_pairs

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
    np.testing.assert_array_equal(concordance(scores, labels)[0], by_definition(scores, labels))


def test_equals_the_quadratic_definition_with_real_scores(rng):
    scores, labels = rng.standard_normal((300, 4)), rng.integers(0, 100, 300).astype(float)
    np.testing.assert_array_equal(concordance(scores, labels)[0], by_definition(scores, labels))


def test_kendalls_tau_follows_from_the_counts_of_many_rows(rng):
    scores, labels = rng.integers(0, 500, (3000, 2)).astype(float), rng.standard_normal(3000)
    tied = [
        np.sum(np.unique(each, return_counts=True)[1] * (np.unique(each, return_counts=True)[1] - 1))
        for each in scores.T
    ]
    pairs = len(labels) * (len(labels) - 1)
    for counted, candidate, ties in zip(concordance(scores, labels)[0].sum(axis=0), scores.T, tied, strict=True):
        tau = kendalltau(candidate, labels, variant="b").statistic
        np.testing.assert_allclose(2 * counted / pairs - 1, tau * np.sqrt(1 - ties / pairs), atol=1e-12)


def test_a_perfect_order_agrees_with_every_comparable_row(rng):
    labels = rng.integers(0, 5, 60).astype(float)
    counts, partners = concordance(labels[:, None], labels)
    np.testing.assert_array_equal(counts[:, 0], partners)
    assert not concordance(-labels[:, None], labels)[0].any()


@given(labels)
def test_partners_are_the_rows_of_other_grade(labels):
    partners = concordance(labels[:, None], labels)[1]
    np.testing.assert_array_equal(partners, (labels[:, None] != labels[None, :]).sum(axis=1))


@given(scores, labels)
def test_the_count_of_pairs_is_half_the_sum_over_rows(scores, labels):
    np.testing.assert_array_equal(concordant_pairs(scores, labels), by_definition(scores, labels).sum(axis=0) / 2)


def test_the_count_of_pairs_holds_with_more_grades_than_a_byte_has(rng):
    scores, labels = rng.standard_normal((600, 3)), rng.permutation(600).astype(float)
    scores[:5, 1] = 0.0
    np.testing.assert_array_equal(concordant_pairs(scores, labels), by_definition(scores, labels).sum(axis=0) / 2)
