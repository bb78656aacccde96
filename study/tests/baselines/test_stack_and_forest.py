"""Stacking by RankSVM, and imputation by a forest."""

import numpy as np
from tests.problems import draw

from manifuse.tables.problem import Problem
from manifuse_study.baselines.imputation import impute_by_forest
from manifuse_study.baselines.stacking import stack_by_ranksvm


def test_a_stack_finds_the_column_that_matters_and_its_sign(rng):
    truth = rng.standard_normal(200)
    scores = np.column_stack([rng.standard_normal(200), -truth + 0.1 * rng.standard_normal(200)])
    rows, labels = np.arange(60), np.round(2 * truth[:60])
    predictions, chosen = stack_by_ranksvm(scores, rows, labels, 0)
    assert np.corrcoef(predictions[60:], truth[60:])[0, 1] > 0.97
    assert chosen["penalty"] > 0


def test_a_forest_keeps_known_scores_and_learns_the_others():
    case = draw(0)
    problem = Problem.of(case.main, case.references)
    imputed = impute_by_forest(problem, 0)
    for column, reference in zip(imputed.T, problem.references, strict=True):
        np.testing.assert_array_equal(column[reference.main_rows], reference.paired)
        # A forest predicts averages of what it saw.
        assert reference.paired.min() <= column.min() <= column.max() <= reference.paired.max()
        elsewhere = np.setdiff1d(np.arange(len(case.main)), reference.main_rows)
        assert len(np.unique(column[elsewhere])) > 10
    np.testing.assert_array_equal(imputed, impute_by_forest(problem, 0))
