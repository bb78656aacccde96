"""RankSVM by its optimality condition, and against an independent solver on explicit pairs."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse_study.ranking.ranksvm import RankSVM, product_with, ranks, solve_ranksvm
from manifuse_study.ranking.selection import best_family, retrain, select_ranker


@pytest.fixture
def sample(rng):
    X = rng.standard_normal((60, 5))
    return X, np.round(X @ [1.0, -1.0, 0.5, 0.0, 0.2] + 0.7 * rng.standard_normal(60))


def differences(X, y):
    better, worse = np.nonzero(y[:, None] > y[None, :])
    return X[better] - X[worse]


@pytest.mark.parametrize("penalty", [0.1, 10.0, 1000.0])
def test_equals_liblinear_on_explicit_differences(penalty, sample):
    X, y = sample
    D = differences(X, y)
    signs = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
    # liblinear minimises |w|²/2 + C sum of squared hinges; C = 1 / (2 penalty) is the same problem.
    other = LinearSVC(
        loss="squared_hinge", C=0.5 / penalty, fit_intercept=False, dual=False, tol=1e-10, max_iter=10_000
    )
    w = other.fit(D * signs[:, None], signs).coef_[0]
    ranker = RankSVM("linear", penalty=penalty).fit(X, y)
    assert ranker.converged_
    np.testing.assert_allclose(ranker.coefficients_ @ X, w, atol=1e-5 * np.linalg.norm(w))


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
@pytest.mark.parametrize("penalty", [0.01, 1.0, 100.0])
def test_no_direction_leads_down_from_the_solution(kernel, penalty, sample, rng):
    X, y = sample
    ranker = RankSVM(kernel, penalty=penalty, width=6.0).fit(X, y)
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=1 / 6.0)
    above = y[:, None] > y[None, :]

    def energy(a):
        f = K @ a
        return np.sum(np.maximum(1 - (f[:, None] - f[None, :]), 0)[above] ** 2) + penalty * a @ f

    a = ranker.coefficients_
    scale = np.abs(a).max()
    for _ in range(50):
        assert energy(a + 1e-3 * scale * rng.standard_normal(60)) >= energy(a) * (1 - 1e-12)


def test_predictions_are_kernel_expansions(sample):
    X, y = sample
    ranker = RankSVM("gaussian", penalty=1.0).fit(X, y)
    assert ranker.width_ == pytest.approx(2 * X.var(axis=0).sum())
    expected = rbf_kernel(X, gamma=1 / ranker.width_) @ ranker.coefficients_
    np.testing.assert_allclose(ranker.predict(X), expected)


def test_a_separable_order_is_learned_exactly():
    X = np.arange(20.0)[:, None]
    assert (
        ranking_accuracy(np.arange(20) // 4, RankSVM("linear", penalty=1e-3).fit(X, np.arange(20) // 4).predict(X))
        == 1.0
    )


def test_labels_all_equal_give_a_constant(sample):
    X, _ = sample
    assert not RankSVM().fit(X, np.ones(60)).predict(X).any()


@parametrize_with_checks([RankSVM(), RankSVM("gaussian")])
def test_scikit_learn_manners(estimator, check):
    check(estimator)


@pytest.mark.parametrize("options", [{"kernel": "cubic"}, {"penalty": 0.0}, {"width": -1.0}])
def test_parameters_out_of_range_are_refused(options, sample):
    with pytest.raises(mf.InputError, match="expected"):
        RankSVM(**options).fit(*sample)


def test_the_best_ranker_on_the_validation_rows_is_kept(rng):
    X = rng.uniform(-2, 2, (240, 2))
    y = np.round(3 * np.sum(X**2, axis=1))
    curved = select_ranker((X[:120], y[:120]), (X[120:], y[120:]))
    assert best_family(curved) == "gaussian"
    predicted = curved["gaussian"].ranker.predict(X[120:])
    assert curved["gaussian"].validation_accuracy == ranking_accuracy(y[120:], predicted) > 0.95


def test_every_family_keeps_its_best_and_the_best_family_wins(rng):
    X = rng.uniform(-2, 2, (240, 2))
    y = np.round(3 * np.sum(X**2, axis=1))
    families = select_ranker((X[:120], y[:120]), (X[120:], y[120:]), deep=True)
    assert list(families) == ["linear", "gaussian", "deep"]
    accuracies = {name: candidate.validation_accuracy for name, candidate in families.items()}
    assert max(accuracies.values()) == accuracies[best_family(families)]
    assert accuracies["linear"] < accuracies["deep"]
    assert families["deep"].hyperparameters().keys() == {"decay", "steps"}


def test_a_ranker_that_is_trained_anew_keeps_its_width_and_is_better_for_more_rows(rng):
    X = rng.uniform(-2, 2, (300, 2))
    y = np.round(3 * np.sum(X**2, axis=1))
    families = select_ranker((X[:40], y[:40]), (X[40:80], y[40:80]))
    again, chosen = retrain(families, X[:80], y[:80], 0)
    assert chosen == {"ranker": "gaussian", "penalty": again.penalty, "width": families["gaussian"].ranker.width_}
    np.testing.assert_array_equal(again.rows_, X[:80])
    before, after = (ranking_accuracy(y[80:], each.predict(X[80:])) for each in (families["gaussian"].ranker, again))
    assert after > before


def test_an_offset_is_a_score_that_costs_nothing(sample):
    X, y = sample
    whole, _ = solve_ranksvm(product_with(X @ X.T), ranks(y), 3.0)
    offset = X @ rng_direction(X)
    # Penalising f - offset with a huge penalty leaves the offset; with none to speak of, the loss alone decides.
    near, _ = solve_ranksvm(product_with(X @ X.T), ranks(y), 1e12, offset=offset)
    np.testing.assert_allclose(X @ X.T @ near, 0.0, atol=1e-6)
    free, converged = solve_ranksvm(product_with(X @ X.T), ranks(y), 3.0, offset=np.zeros(len(y)), start=near)
    assert converged
    np.testing.assert_allclose(X.T @ free, X.T @ whole, atol=1e-6)


def rng_direction(X):
    return np.random.default_rng(1).standard_normal(X.shape[1])
