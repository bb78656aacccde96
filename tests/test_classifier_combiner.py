"""ClassifierCombiner: class probabilities in scikit-learn's pipelines, searches and calibrations."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import manifuse as mf
from tests.test_classes import NAMES, draw

COLUMNS = {f"p_{name}": name for name in reversed(NAMES)}


@pytest.fixture(scope="module")
def drawn():
    main, others, known, truth, test = draw(1, labels=80)
    X = pd.DataFrame(main.came, columns=[f"p_{name}" for name in NAMES])
    X.insert(0, "id", main.keys)
    for number, column in enumerate(main.table.T):
        X[f"x{number}"] = column
    return main, others, known, X, truth, test


@pytest.fixture
def combiner(drawn):
    return mf.ClassifierCombiner(drawn[1], random_state=0, class_columns=COLUMNS)


def test_it_gives_what_refine_gives(drawn, combiner):
    main, others, known, X, truth, _ = drawn
    y = np.full(len(X), None, dtype=object)
    y[np.searchsorted(np.arange(len(X)), known.keys.astype(int))] = known.names
    fitted = combiner.fit(X, y)
    assert is_classifier(fitted)
    assert fitted.classes_.tolist() == sorted(NAMES)
    blank = np.where(y == None, "", y)  # noqa: E711
    np.testing.assert_array_equal(clone(combiner).fit(X, blank).predict_proba(X), fitted.predict_proba(X))
    listed = [np.nan if name is None else name for name in y]
    for each in (listed, tuple(listed), pd.DataFrame({"class": y})):
        np.testing.assert_array_equal(clone(combiner).fit(X, each).predict_proba(X), fitted.predict_proba(X))
        assert fitted.score(X, each) == fitted.score(X, y)
    with pytest.raises(mf.InputError, match="X and y came with the same index in different orders"):
        fitted.score(X, pd.Series(y)[::-1])
    with pytest.raises(mf.InputError, match="y cannot be read as an array"):
        clone(combiner).fit(X, [["a"], ["a", "b"]] * (len(X) // 2))
    result = mf.refine(main, others, known, rng=0)
    order = [main.classes.names.index(name) for name in sorted(NAMES)]
    np.testing.assert_allclose(fitted.predict_proba(X), result.predictions[:, order], atol=1e-6)
    assert fitted.predict(X).tolist() == list(result.predicted)
    np.testing.assert_allclose(np.exp(fitted.decision_function(X)), fitted.predict_proba(X))
    assert fitted.score(X, truth) == np.mean(fitted.predict(X) == truth)
    assert mf.ClassifierCombiner(others, random_state=0).fit(main, known).predict(main).tolist() == list(
        result.predicted
    )


def test_columns_of_classes_of_later_rows_are_found_by_their_names(drawn):
    main, others, _, X, _, _ = drawn
    fitted = mf.ClassifierCombiner(others, random_state=0, class_columns="p_(.*)").fit(X)
    expected = fitted.predict_proba(X)
    probabilities = [f"p_{name}" for name in NAMES]
    other = X[["id", *reversed(probabilities), *(name for name in X if name not in {"id", *probabilities})]]
    assert list(other) != list(X)
    np.testing.assert_allclose(fitted.predict_proba(other), expected, atol=1e-12)
    assert fitted.predict(other).tolist() == fitted.predict(X).tolist()
    turned = mf.Observations(
        main.came[:, ::-1],
        X[[name for name in X if name.startswith("x")]],
        ids=main.keys,
        classes=list(reversed(NAMES)),
        name="X",
    )
    np.testing.assert_allclose(fitted.predict_proba(turned), expected, atol=1e-12)


def test_cross_validation_searches_and_calibration_take_it(drawn, combiner):
    *_, X, truth, _ = drawn
    folds = StratifiedKFold(2, shuffle=True, random_state=0)
    combiner.set_params(pair_rows=X)
    pipeline = make_pipeline(FunctionTransformer(), combiner)
    held_out = cross_val_predict(pipeline, X, truth, cv=folds, method="predict_proba")
    np.testing.assert_allclose(held_out.sum(axis=1), 1.0)
    assert np.mean(np.array(sorted(NAMES))[held_out.argmax(axis=1)] == truth) > 0.7
    scores = cross_val_score(combiner, X, truth, cv=folds, scoring="neg_log_loss")
    assert np.isfinite(scores).all()
    grid = {"method__diffusion__neighbours": [5, 10]}
    search = GridSearchCV(combiner, grid, cv=folds, scoring="neg_log_loss").fit(X, truth)
    assert search.best_params_.keys() == grid.keys()
    calibrated = CalibratedClassifierCV(combiner, cv=folds).fit(X, truth)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def test_binary_problems_have_one_decision(drawn):
    main, others, known, _, _ = draw(2, labels=60, names=("no", "yes"))
    fitted = mf.ClassifierCombiner(others, random_state=0).fit(main, known)
    decisions = fitted.decision_function(main)
    assert decisions.shape == (len(main),)
    assert ((decisions > 0) == (fitted.predict(main) == "yes")).all()


def test_decisions_about_certain_classes_are_finite():
    """Where nothing is refined, probabilities of 0 and 1 stay as they are."""
    main, others, *_ = draw(2, names=("no", "yes"))
    certain = mf.Observations(np.round(main.came), main.table, ids=main.keys, classes=main.classes.names, name="ours")
    method = mf.JointDiffusion(ignored=[each.name for each in others])
    fitted = mf.ClassifierCombiner(others, random_state=0, method=method).fit(certain)
    assert set(fitted.predict_proba(certain).ravel()) == {0.0, 1.0}
    decisions = fitted.decision_function(certain)
    assert np.isfinite(decisions).all()
    assert ((decisions > 0) == (certain.came[:, 1] == 1)).all()


def test_scores_and_wrong_shapes_are_refused(drawn, combiner):
    main, others, known, X, truth, _ = drawn
    with pytest.raises(
        mf.InputError, match="has one score a row; give `class_columns` or Observations of classes, or use"
    ):
        mf.ClassifierCombiner(others).fit(mf.Observations(main.scores[:, 0] + 0.0, ids=main.keys), known)
    with pytest.raises(mf.InputError, match="give one class per row"):
        combiner.fit(X, truth[:-1])
    with pytest.raises(mf.InputError, match="No columns of classes were named for X"):
        mf.ClassifierCombiner(others).fit(X, truth)
    with pytest.raises(mf.InputError, match=r"name two or more in `class_columns`, or give it an expression, such"):
        mf.ClassifierCombiner(others).fit(X, truth)
    with pytest.raises(mf.InputError, match=r"name it with `class_columns` \(of one table alone"):
        combiner.set_params(class_columns=["p_none", "p_other"]).fit(X, truth)
    combiner.set_params(class_columns=COLUMNS)
    with pytest.raises(mf.InputError, match="The known classes of y are all missing"):
        combiner.fit(X, truth).score(X, np.full(len(X), None, dtype=object))
    assert clone(combiner).get_params()["class_columns"] == COLUMNS


def numbered(drawn, names):
    """The same tables with other names of the classes."""
    _, others, _, X, truth, _ = drawn
    new = dict(zip(sorted(NAMES), names, strict=True))
    renamed = [
        mf.Observations(t.came, t.table, ids=t.keys, classes=[str(new[each]) for each in t.classes.names], name=t.name)
        for t in others
    ]
    columns = {f"p_{name}": new[name] for name in NAMES}
    combiner = mf.ClassifierCombiner(renamed, random_state=0, class_columns=columns, pair_rows=X)
    return combiner, X, np.array([new[each] for each in truth])


def test_names_that_are_numbers_are_as_good_as_names_that_are_words(drawn):
    folds = StratifiedKFold(2, shuffle=True, random_state=0)

    def judged(names):
        combiner, X, y = numbered(drawn, names)
        judges = {"log loss": "neg_log_loss", "accuracy": "accuracy", "own": lambda fitted, *test: fitted.score(*test)}
        found = cross_validate(combiner, X, y, cv=folds, scoring=judges)
        scores = [found[f"test_{judge}"] for judge in judges]
        predicted = cross_val_predict(combiner, X, y, cv=folds, method="predict_proba")
        assert combiner.fit(X, y).predict(X).dtype.kind == y.dtype.kind
        return np.concatenate([*scores, predicted.ravel()])

    np.testing.assert_allclose(judged((1, 2, 3, 4)), judged(sorted(NAMES)), atol=1e-6)
    combiner, X, y = numbered(drawn, ("2", "3", "5", "9"))
    assert combiner.fit(X, y).predict_proba(X).shape == (len(X), 4)
    assert set(combiner.predict(X)) == {"2", "3", "5", "9"}


@pytest.mark.parametrize("kind", [float, int, str])
def test_names_that_a_program_wrote_of_floats_are_found_by_any_numbers(drawn, kind):
    combiner, X, y = numbered(drawn, ("1.0", "2.0", "3.0", "4.0"))
    truth = y if kind is str else y.astype(float).astype(kind)
    combiner.fit(X, truth)
    assert combiner.classes_.tolist() == (sorted({*y}) if kind is str else [1, 2, 3, 4])
    assert combiner.score(X, truth) == np.mean(combiner.predict(X) == truth) > 0.6
    assert len(combiner.refinement_.evidence.measured.by_class.classes) == 4
    predicted = cross_val_predict(combiner, X, truth, cv=KFold(3), method="predict_proba")
    np.testing.assert_allclose(predicted.sum(axis=1), 1.0)


def test_places_of_classes_are_refused_where_it_cannot_be_told_which_they_are(drawn):
    combiner, X, truth = numbered(drawn, sorted(NAMES))
    ways = {"cv": KFold(2), "method": "predict_proba"}
    one_less, unknown = np.where(truth == "oak", "ash", truth), np.where(np.arange(len(truth)) % 3, truth, None)
    for y in (one_less, unknown):
        with pytest.raises(mf.InputError, match="the truth of all rows, and every class in every fold"):
            cross_val_predict(combiner, X, y, **ways)
    combiner, X, _ = numbered(drawn, (1, 2, 3, 4))
    with pytest.raises(mf.InputError, match="y has the numbers 0, 2, 3, the classes are"):
        combiner.fit(X, np.resize([0, 2, 3], len(X)))
    combiner, X, truth = numbered(drawn, (2, 10, 30, 100))
    with pytest.raises(mf.InputError, match="names or places of names"):
        cross_val_predict(combiner, X, truth, **ways)


def test_a_truth_of_true_and_false_comes_back_as_such(drawn):
    main, others, _, truth, _ = draw(2, names=("False", "True"))
    X = pd.DataFrame(main.came, columns=["False", "True"]).assign(id=main.keys, x=main.table[:, 0])
    combiner = mf.ClassifierCombiner(others, random_state=0, class_columns={"False": "False", "True": "True"})
    y = truth == "True"
    predicted = combiner.fit(X, y).predict(X)
    assert predicted.dtype == combiner.classes_.dtype == bool
    assert np.mean(predicted == y) == combiner.score(X, y) > 0.7
    assert combiner.get_feature_names_out().tolist() == ["False", "True"]


@pytest.mark.filterwarnings("ignore:The scores of .* are in .0, 1.:manifuse.ManifuseWarning")
def test_each_combiner_refuses_what_the_other_takes(drawn, tmp_path):
    main, others, _, _, _ = draw(2)
    scores = mf.Observations(main.came[:, 0], main.table, ids=main.keys, name="ours")
    for table, kind, other in (
        (main, mf.PredictorCombiner, "Classifier"),
        (scores, mf.ClassifierCombiner, "Predictor"),
    ):
        with pytest.raises(mf.InputError, match=f"use {other}Combiner"):
            kind(others).fit(table)
        mf.save(mf.refine(table, others, rng=0), tmp_path / "model.npz")
        with pytest.raises(mf.InputError, match=f"use {other}Combiner"):
            kind.load(tmp_path / "model.npz")


def test_true_and_false_are_scored_as_1_and_0(drawn):
    main, others, _, truth, _ = draw(2, names=("0", "1"))
    X = pd.DataFrame(main.came, columns=["no", "yes"]).assign(id=main.keys, x=main.table[:, 0])
    combiner = mf.ClassifierCombiner(others, random_state=0, class_columns={"no": 0, "yes": 1}).fit(X, truth == "1")
    assert combiner.classes_.tolist() == [0, 1]
    assert combiner.score(X, truth == "1") == combiner.score(X, truth.astype(int)) > 0.7


def test_whole_numbers_for_names_with_zeros_are_refused_with_the_names():
    main, others, _, truth, _ = draw(1, names=("01", "02", "03"), references=1)
    with pytest.raises(
        mf.InputError, match="y has the numbers 1, 2, 3, the classes are 01, 02, 03, and it cannot be told"
    ):
        mf.ClassifierCombiner(others, random_state=0).fit(main, truth.astype(int))


def test_a_truth_of_other_names_alone_is_refused(drawn, combiner):
    _, _, _, X, truth, _ = drawn
    with pytest.raises(NotFittedError):
        combiner.score(X, truth)
    fitted = combiner.fit(X)
    with pytest.raises(mf.InputError, match=r"No class of y is one that was fitted \(ash, beech, oak, yew\)"):
        fitted.score(X, [name.upper() for name in truth])
