"""Own labels: what is left out is left out, and labels teach without any reference."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from tests.problems import draw, remade

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.rivals.own_labels import Cell, left_out, mixed_kernel, own_labels


@pytest.fixture(scope="module")
def case():
    return draw(0)


def labelled(case):
    """Rows with a label, and the others."""
    rows = np.arange(0, len(case.main), 2)
    return rows, np.setdiff1d(np.arange(len(case.main)), rows)


def test_leaving_one_out_equals_fitting_again_without_it(rng):
    points, targets = rng.standard_normal((25, 3)), rng.standard_normal(25)
    kernel = rbf_kernel(points)
    for penalty in (0.003, 1.0):
        again = np.empty(25)
        for row in range(25):
            others = np.delete(np.arange(25), row)
            ridge = KernelRidge(alpha=penalty, kernel="precomputed")
            ridge.fit(kernel[np.ix_(others, others)], targets[others])
            again[row] = ridge.predict(kernel[[row]][:, others])[0]
        np.testing.assert_allclose(left_out(kernel, targets, penalty), again, atol=1e-9)


def test_the_kernel_is_a_mixture_of_features_and_scores(rng):
    table, scores = rng.standard_normal((2, 6, 2))
    rows, others = np.arange(4), np.array([5, 1])
    np.testing.assert_allclose(
        mixed_kernel(table, scores, rows, others, Cell(True, 2.0, 1.0)),
        np.exp(-((table[rows, None] - table[others]) ** 2).sum(axis=2) / 2.0),
    )
    linear = mixed_kernel(table, scores, rows, others, Cell(True, 2.0, 0.0))
    np.testing.assert_allclose(linear, scores[rows] @ scores[others].T / 2)
    mixed = mixed_kernel(np.zeros((6, 2)), scores, rows, others, Cell(False, 2.0, 0.25))
    np.testing.assert_allclose(mixed, 0.25 + 0.75 * linear)


def test_labels_order_the_other_rows_better_than_the_scores_do(case):
    rows, others = labelled(case)
    predictions, chosen = own_labels(case.main, rows, case.truth[rows], np.random.default_rng(0))
    before, after = (ranking_accuracy(case.truth[others], s[others]) for s in (case.main.scores, predictions))
    assert after > before
    assert set(chosen) == {"standardised", "width", "share", "penalty"}


def test_only_the_order_of_labels_counts_unless_they_are_values(case):
    rows, _ = labelled(case)
    labels = case.truth[rows]

    def learn(labels, *, regression=False):
        return own_labels(case.main, rows, labels, np.random.default_rng(0), regression=regression)[0]

    np.testing.assert_array_equal(learn(labels), learn(np.exp(labels)))
    predicted = learn(labels, regression=True)
    np.testing.assert_allclose(learn(1000 + 5 * labels, regression=True).std(), 5 * predicted.std(), rtol=0.5)
    assert abs(predicted.mean() - labels.mean()) < labels.std()
    assert np.mean((predicted[rows] - labels) ** 2) < labels.var()


def test_the_units_of_the_labels_do_not_matter(case):
    rows, _ = labelled(case)
    values, rng = case.truth[rows], np.random.default_rng
    plain, chosen = own_labels(case.main, rows, values, rng(0), regression=True)
    other, again = own_labels(case.main, rows, 1e-6 * values + 3.0, rng(0), regression=True)
    assert again == chosen
    np.testing.assert_allclose((other - 3.0) * 1e6, plain, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("exponent", [-1000, 500])
def test_the_unit_of_features_changes_no_bit(exponent):
    case = draw(1)
    labels = case.labels()
    scaled = remade(case.main, features=np.ldexp(case.main.table, exponent))
    expected, found = (mf.rivals.learn_from_labels(each, labels=labels, rng=0) for each in (case.main, scaled))
    np.testing.assert_array_equal(found, expected)
