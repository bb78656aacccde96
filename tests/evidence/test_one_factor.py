"""The one-factor model, and the references that it leaves out, on scores of known structure."""

import numpy as np
import pytest

from manifuse.evidence.one_factor import OneFactor, correlations

ROWS = 3000


def of_one_factor(loadings):
    """Correlations of predictors with these loadings on one factor."""
    loadings = np.asarray(loadings)
    found = np.outer(loadings, loadings)
    np.fill_diagonal(found, 1.0)
    return found


def predictors(rng, *groups):
    """Predictors (n, k) of variance 1: for each group of loadings, of one truth that is no other group's."""
    columns = []
    for loadings in groups:
        truth, noise = rng.standard_normal((ROWS, 1)), rng.standard_normal((ROWS, len(loadings)))
        columns.append(truth * loadings + noise * np.sqrt(1.0 - np.square(loadings)))
    return np.column_stack(columns)


@pytest.mark.parametrize(
    "loadings", [[0.9, 0.8, 0.6, 0.3], [0.7, 0.7, 0.7], [0.9, -0.5, 0.6, 0.7, 0.4], [0.6, 0.5, 0.55, 0.2, 0.1, 0.3]]
)
def test_one_factor_finds_the_loadings_of_its_own_correlations(loadings):
    found = OneFactor.of_correlations(of_one_factor(loadings))
    np.testing.assert_allclose(found.loadings, loadings, atol=2e-3)
    assert found.residual < 1e-3


@pytest.mark.parametrize("correlation", [0.49, -0.25])
def test_two_predictors_say_only_the_product_of_their_loadings(correlation):
    found = OneFactor.of_correlations(np.array([[1.0, correlation], [correlation, 1.0]]))
    assert np.prod(found.loadings) == pytest.approx(correlation)
    assert abs(found.loadings[0]) == pytest.approx(abs(found.loadings[1]))
    assert found.residual == pytest.approx(0.0, abs=1e-15)


def test_two_factors_leave_what_one_does_not_explain():
    """Two groups of predictors that correlate by 0.64 within a group, and not between the groups."""
    block = of_one_factor([0.8, 0.8, 0.8])
    correlations = np.block([[block, np.zeros((3, 3))], [np.zeros((3, 3)), block]])
    residual = OneFactor.of_correlations(correlations).residual
    # One factor explains one group. The six correlations of the other are left, of thirty in all.
    assert residual == pytest.approx(np.sqrt(6 * 0.64**2 / 30), rel=0.05)


def test_factor_analysis_of_another_library_finds_the_same_loadings(rng):
    """Maximum likelihood is another estimate of the same model; with many rows both are near the truth."""
    from sklearn.decomposition import FactorAnalysis

    columns = predictors(rng, [0.9, 0.8, 0.6, 0.4, 0.7])
    found = OneFactor.of_correlations(correlations(columns)).loadings
    other = FactorAnalysis(1, tol=1e-8, max_iter=10_000).fit(columns / columns.std(axis=0)).components_[0]
    np.testing.assert_allclose(found, np.abs(other), atol=0.02)


def test_weights_predict_the_truth_best(rng):
    """A second opinion: least squares of the truth on the references."""
    truth = rng.standard_normal(100_000)
    loadings = np.array([0.9, 0.7, 0.5, 0.3])
    noise = rng.standard_normal((len(truth), 4)) * np.sqrt(1.0 - loadings**2)
    main, *references = (truth[:, None] * loadings + noise).T
    weights = OneFactor.of(main, np.column_stack(references)).weights
    best = np.linalg.lstsq(np.column_stack(references), truth, rcond=None)[0]
    np.testing.assert_allclose(weights / weights.sum(), best / best.sum(), atol=0.02)


def find_differing(main, references):
    """Whether each reference is left out; the model of the others is the one that is fitted to them alone."""
    kept, model = OneFactor.of(main, references).of_most()
    np.testing.assert_array_equal(model.loadings, OneFactor.of(main, references[:, kept]).loadings)
    return ~kept


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], [0, 0, 0, 0]),
        ([[0.8]], [0, 0, 0, 0, 1]),
        ([[0.8, 0.8]], [0, 0, 0, 0, 1, 1]),
        ([[0.8], [0.8]], [0, 0, 0, 0, 1, 1]),
        # Not more than half of the references would be left.
        ([[0.8], [0.8], [0.8], [0.8]], [0] * 8),
        # The main predictor is the one that the model fits worst.
        ([[0.8] * 7], [0] * 11),
    ],
)
def test_references_of_another_truth_are_found_if_most_share_the_main_predictors(others, expected, rng):
    main, *references = predictors(rng, [0.7, 0.8, 0.7, 0.6, 0.8], *others).T
    np.testing.assert_array_equal(find_differing(main, np.column_stack(references)), np.array(expected, dtype=bool))


@pytest.mark.parametrize(("loading", "found"), [(-0.2, True), (-0.7, False)])
def test_nothing_is_found_if_a_reference_predicts_a_related_thing_in_reverse(loading, found, rng):
    main, *references = predictors(rng, [0.7, 0.8, 0.7, 0.6, loading]).T
    assert find_differing(main, np.column_stack(references)).tolist() == [False, False, False, found]


def test_with_three_references_none_is_left_out(rng):
    """Three predictors always have one common factor, so two references cannot say that they agree."""
    main, *references = predictors(rng, [0.7, 0.8, 0.8], [0.8]).T
    assert not find_differing(main, np.column_stack(references)).any()


def test_the_order_of_references_does_not_matter(rng):
    main, *references = predictors(rng, [0.7, 0.8, 0.7, 0.6, 0.8], [0.8, 0.7]).T
    order = rng.permutation(len(references))
    columns = np.column_stack(references)
    np.testing.assert_array_equal(find_differing(main, columns[:, order]), find_differing(main, columns)[order])


def test_nothing_is_found_where_pairs_are_too_few_to_compare(rng):
    main, *references = predictors(rng, [0.7, 0.8, 0.7, 0.6], [0.8]).T
    known = np.where(np.arange(ROWS)[:, None] % 4 == np.arange(4), np.column_stack(references), np.nan)
    assert not find_differing(main, known).any()
