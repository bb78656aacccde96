"""Cross-validation of combiners: pairs stay in every fit, or the combiner says how many are gone."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_val_score

import manifuse as mf
from tests.problems import draw
from tests.test_combiner import frame_of, scaled


@pytest.fixture(scope="module")
def case():
    """A main table whose first rows are its pairs, so that folds in order take all of them at once."""
    drawn = draw(0, references=1)
    X = frame_of(drawn.main).assign(truth=drawn.truth)
    X = X.sort_values("id", key=lambda ids: ~ids.isin(drawn.references[0].keys), kind="stable", ignore_index=True)
    return X.drop(columns="truth"), X["truth"].to_numpy(), drawn.references


def test_rows_that_pair_stay_in_every_fit_without_their_truth(case):
    X, truth, references = case
    combiner = mf.PredictorCombiner(references, random_state=0, pair_rows=X)
    scores = cross_val_score(combiner, X, truth, cv=KFold(3), error_score="raise")
    train, test = next(KFold(3).split(X))
    assert test[:40].tolist() == list(range(40))
    there = pd.concat([X.iloc[train], X.iloc[:40]])
    labels = mf.RankLabels(X["id"].iloc[train], truth[train])
    result = mf.refine(there, references, labels, rng=0)
    fitted = clone(combiner).fit(X.iloc[train], truth[train])
    np.testing.assert_array_equal(fitted.refinement_.predictions, result.predictions)
    np.testing.assert_array_equal(fitted.predict(X.iloc[test]), result.apply(X.iloc[test])["score"])
    assert scores[0] == fitted.score(X.iloc[test], truth[test])
    assert fitted.refinement_.relevance["reference 1"].pairs == 40


def test_without_them_a_fold_says_what_is_gone_or_is_refused(case):
    X, truth, references = case
    combiner = mf.PredictorCombiner(references, random_state=0)
    train, test = np.split(np.random.default_rng(0).permutation(len(X)), [110])
    lost = np.count_nonzero(test < 40)
    fitted = clone(combiner).fit(X.iloc[train], truth[train])
    says = f"{lost} rows of X would pair with the references, but the fit had only {40 - lost} other such rows"
    with pytest.warns(mf.ManifuseWarning, match=says):
        fitted.predict(X.iloc[test])
    with pytest.raises(
        mf.InputError, match=r"shares 0 of its 160 ids with X.*give the whole main table as `pair_rows`"
    ):
        clone(combiner).fit(X[60:], truth[60:])


def test_later_rows_that_no_reference_knows_are_no_lost_pairs(case):
    X, truth, references = case
    fitted = mf.PredictorCombiner(references, random_state=0).fit(X[:100], truth[:100])
    assert len(fitted.predict(X[100:])) == 60


def test_rows_that_a_pipeline_changed_before_are_refused(case):
    X, truth, references = case
    combiner = mf.PredictorCombiner(references, random_state=0, pair_rows=X)
    with pytest.raises(mf.InputError, match="160 rows of pair_rows have other scores or features than in X"):
        scaled(combiner).fit(X, truth)


def test_pair_rows_must_be_a_table_with_features(case):
    X, truth, references = case
    with pytest.raises(mf.InputError, match="ndarray came for pair_rows"):
        mf.PredictorCombiner(references, pair_rows=X.to_numpy()).fit(X, truth)
