"""Averages, stacks, imputation, spreading."""

from functools import partial

import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.kernels.laplacian import joined
from manifuse.rivals import own_graph
from manifuse.rivals.methods import imputed_scores, mean_of_scores, stack_by_ridge
from manifuse.rivals.own_graph import expected_grades, spread_labels
from manifuse.tables.problem import Problem


def test_the_mean_does_not_mind_units(rng):
    scores = rng.standard_normal((50, 3))
    np.testing.assert_allclose(mean_of_scores(scores * [1, 100, 0.1] + [5, 0, 1]), mean_of_scores(scores))


def test_a_stack_finds_the_column_that_matters_and_its_sign(rng):
    truth = rng.standard_normal(200)
    scores = np.column_stack([rng.standard_normal(200), -truth + 0.1 * rng.standard_normal(200)])
    rows, labels = np.arange(60), np.round(2 * truth[:60])
    predictions, chosen = stack_by_ridge(scores, rows, labels)
    assert np.corrcoef(predictions[60:], truth[60:])[0, 1] > 0.97
    assert chosen["penalty"] > 0


def test_imputed_scores_are_known_at_the_pairs_and_learned_elsewhere():
    case = draw(0)
    imputed = imputed_scores(case.main, case.references, 0)
    assert imputed.shape == (len(case.main), 1 + len(case.references))
    np.testing.assert_array_equal(imputed[:, 0], case.main.scores)
    for column, reference in zip(imputed.T[1:], Problem.of(case.main, case.references).references, strict=True):
        np.testing.assert_array_equal(column[reference.main_rows], reference.paired)
    assert np.isfinite(imputed).all()


def test_labels_spread_within_their_component():
    chain = joined(np.array([[1], [2], [1], [4], [5], [4], [7], [6]]), np.ones((8, 1)))
    grades = expected_grades(chain, np.array([0, 3]), np.array([1.0, 3.0]), 0.5)
    np.testing.assert_allclose(grades, [1, 1, 1, 3, 3, 3, 2, 2])


def test_spread_labels_order_the_other_rows(monkeypatch):
    case = draw(0)
    truth = case.labels()
    order = {key: index for index, key in enumerate(case.main.keys)}
    rows = np.array([order[key] for key in truth.keys])
    predictions, _ = spread_labels(case.main, rows, truth.grades, 0)
    assert ranking_accuracy(truth.grades, predictions[rows]) > 0.7
    # Graphs of large tables are kept in another order, which labels do not have.
    monkeypatch.setattr(own_graph, "Host", partial(mf.Host, ordered_rows=10))
    np.testing.assert_array_equal(spread_labels(case.main, rows, truth.grades, 0)[0], predictions)


@pytest.mark.parametrize("name", ["smooth_alone", "learn_from_labels", "spread"])
def test_rivals_that_need_features_ask_for_them(name):
    case = draw(0)
    with pytest.raises(mf.InputError, match="has no features, but this rival needs them; give features"):
        getattr(mf.rivals, name)(remade(case.main, features=None), labels=case.labels())
