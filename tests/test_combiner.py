import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score, r2_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, estimator_html_repr

import manifuse as mf
from manifuse.datasets.digit_views import digit_views
from manifuse.evidence.accuracy import ranking_accuracy
from tests.problems import draw


@pytest.fixture
def case():
    return draw(0)


def frame_of(table, library=pd):
    """Return the data frame of a table, as the command line would read it."""
    columns = {f"x{place}": column for place, column in enumerate(table.table.T)}
    return library.DataFrame({"id": table.keys.tolist(), "score": table.scores} | columns)


@pytest.fixture(scope="module")
def numerals():
    """Fourier features of handwritten digits with poor scores, three references on other digits, the truth."""
    views, truth = digit_views()
    order = np.random.default_rng(0).permutation(len(truth))
    pairs, ours, theirs, our_sample, their_sample = np.split(order, [200, 700, 1400, 1597])

    def observed(view, sample, rows):
        features = views[view]
        ranker = make_pipeline(StandardScaler(), Ridge(10.0)).fit(features[sample], truth[sample])
        return mf.Observations(ranker.predict(features[rows]), features[rows], ids=rows, name=view)

    rows, others = np.concatenate([pairs, ours]), np.concatenate([pairs, theirs])
    references = [observed(view, their_sample, others) for view in ("zernike", "gradient", "karhunen")]
    return frame_of(observed("fourier", our_sample, rows)), truth[rows], references


def test_columns_may_have_other_names_and_scores_may_be_probabilities(case):
    frame = frame_of(case.main).rename(columns={"id": "patient", "score": "risk"}).assign(town="Bonn")
    frame["risk"] = expit(frame["risk"])
    combiner = mf.PredictorCombiner(
        case.references, random_state=0, id_column="patient", score_column="risk", drop=["town"], scale="probability"
    )
    y = np.where(np.isin(np.arange(160), case.labelled), case.truth, np.nan)
    main = mf.Observations(frame["risk"], case.main.table, ids=frame["patient"], scale="probability")
    expected = mf.refine(main, case.references, case.labels(), rng=0)
    np.testing.assert_allclose(combiner.fit(frame, y).predict(frame), expected.predictions, rtol=1e-9)
    assert clone(combiner).get_params()["id_column"] == "patient"
    with pytest.raises(mf.InputError, match=r"X has no column 'patient'.* or name it with `id_column` \("):
        combiner.fit(frame_of(case.main).assign(town="Bonn"), y)
    with pytest.raises(mf.InputError, match=r"X has no column 'risk'.* or name it with `score_column` \("):
        combiner.predict(frame.drop(columns="risk"))


def test_of_a_truth_of_0_and_1_the_score_is_the_area_under_the_curve(case):
    outcome = (case.truth > 0).astype(float)
    combiner = mf.PredictorCombiner(case.references, random_state=0).fit(frame_of(case.main), case.labels())
    known = np.where(np.arange(160) % 3, outcome, np.nan)
    kept = ~np.isnan(known)
    area = roc_auc_score(known[kept], combiner.predict(frame_of(case.main))[kept])
    assert combiner.score(frame_of(case.main), known) == pytest.approx(area)


def scaled(combiner):
    """The combiner behind a step that scales the features and leaves ids and scores."""
    columns = make_column_transformer(
        (StandardScaler(), make_column_selector("x")), remainder="passthrough", verbose_feature_names_out=False
    )
    return Pipeline([("scale", columns.set_output(transform="pandas")), ("combine", combiner)])


def test_a_random_state_of_scikit_learn_is_a_seed(case):
    fits = [
        mf.PredictorCombiner(case.references, random_state=np.random.RandomState(4)).fit(frame_of(case.main))
        for _ in range(2)
    ]
    assert fits[0].refinement_.seed == fits[1].refinement_.seed == np.random.RandomState(4).randint(2**31)


FOLDS = KFold(3, shuffle=True, random_state=0)


def test_it_does_what_refine_does(case):
    combiner = mf.PredictorCombiner(case.references, random_state=3)
    direct = mf.refine(case.main, case.references, case.labels(), rng=3)
    np.testing.assert_array_equal(combiner.fit_transform(case.main, case.labels()), direct.predictions)
    assert combiner.refinement_.relevance == direct.relevance


def test_hyperparameters_are_parameters(case):
    combiner = mf.PredictorCombiner(case.references)
    assert combiner.get_params()["method__diffusion__neighbours"] == 10
    combiner.set_params(method__diffusion__neighbours=7, random_state=1)
    assert combiner.method == mf.JointDiffusion(diffusion=mf.Algorithm1(neighbours=7))
    assert combiner.get_params()["random_state"] == 1
    assert "method__diffusion__neighbours" not in combiner.get_params(deep=False)


def test_a_clone_has_the_parameters_and_not_the_fit(case):
    fitted = mf.PredictorCombiner(
        case.references, mf.JointDiffusion(diffusion=mf.Algorithm1(rounds=2)), random_state=0
    ).fit(case.main)
    twin = clone(fitted)
    assert twin.method == fitted.method
    with pytest.raises(NotFittedError):
        twin.transform(case.main)
    np.testing.assert_array_equal(twin.fit(case.main).transform(case.main), fitted.transform(case.main))


def test_repr_names_what_was_set(case):
    assert "rounds=2" in repr(mf.PredictorCombiner(method=mf.JointDiffusion(diffusion=mf.Algorithm1(rounds=2))))


def test_messages_of_scikit_learn_show_no_values_of_tables():
    frame = pd.DataFrame({"id": ["secret 1", "secret 2"], "score": [0.123, 0.456]})
    combiner = mf.PredictorCombiner([frame], random_state=0, pair_rows=frame)
    with pytest.raises(ValueError, match="Invalid parameter 'target'") as refused:
        combiner.set_params(target=1)
    for said in (str(refused.value), repr(combiner)):
        assert "DataFrame of 2 rows" in said
        assert "secret" not in said
    assert combiner.references[0] is frame


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.set_params(method__depth=3),
        lambda c: c.set_params(method="best", method__diffusion__rounds=3),
        lambda c: c.fit([1.0, 2.0]),
    ],
)
def test_strange_arguments_are_refused(call):
    with pytest.raises(mf.InputError):
        call(mf.PredictorCombiner())


@pytest.mark.parametrize("library", [pd, pl])
def test_a_data_frame_is_the_table_that_it_shows(case, library):
    X = frame_of(case.main, library)
    y = np.full(len(case.main), np.nan)
    y[case.labelled] = case.truth[case.labelled]
    combiner = mf.PredictorCombiner(case.references, random_state=3).fit(X, y)
    direct = mf.refine(case.main, case.references, case.labels(), rng=3)
    # A data frame keeps its columns apart, so that sums over them are rounded in another order.
    np.testing.assert_allclose(combiner.predict(X), direct.predictions, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(combiner.transform(X), combiner.predict(X)[:, None])
    assert combiner.feature_names_in_.tolist() == ["id", "score", "x0", "x1", "x2", "x3", "x4", "x5"]
    assert combiner.n_features_in_ == 8


def test_a_truth_of_only_nan_counts_as_none(case):
    X = frame_of(case.main)
    blind = mf.PredictorCombiner(case.references, random_state=0).fit(X, np.full(len(X), np.nan))
    assert blind.refinement_.accuracy is None
    expected = mf.refine(case.main, case.references, rng=0).predictions
    np.testing.assert_allclose(blind.predict(X), expected, rtol=0, atol=1e-9)


def test_it_scores_by_ranking_or_as_a_regressor(case):
    X = frame_of(case.main)
    known = np.where(np.arange(len(X)) % 2, case.truth, np.nan)
    ranking = mf.PredictorCombiner(case.references, random_state=0).fit(X)
    assert ranking.score(X, known) == ranking_accuracy(case.truth[1::2], ranking.predict(X)[1::2])
    regression = clone(ranking).set_params(method__task="regression").fit(X, known)
    assert regression.score(X, case.truth) == r2_score(case.truth, regression.predict(X))


def test_cross_validation_is_the_plain_loop_and_beats_the_scores_alone(numerals):
    X, truth, references = numerals
    known = np.arange(len(X)) % 3 == 0
    y = np.where(known, truth, np.nan)
    combiner = mf.PredictorCombiner(references, random_state=0)
    with pytest.warns(mf.ManifuseWarning, match="would pair with the references, but the fit had only"):
        scores = cross_val_score(scaled(combiner), X, y, cv=FOLDS, error_score="raise")
    for score, (train, test) in zip(scores, FOLDS.split(X), strict=True):
        features = StandardScaler().fit(X.iloc[train, 2:]).transform(X.iloc[:, 2:])

        def part(rows, features=features):
            return mf.Observations(X["score"][rows].to_numpy(), features[rows], ids=X["id"][rows].tolist(), name="X")

        taught, judged = train[known[train]], test[known[test]]
        result = mf.refine(part(train), references, mf.RankLabels(X["id"][taught].tolist(), y[taught]), rng=0)
        assert score == pytest.approx(ranking_accuracy(y[judged], result.apply(part(judged))), abs=1e-12)
        assert score > ranking_accuracy(y[judged], X["score"][judged]) + 0.01


@pytest.mark.filterwarnings("ignore:.*would pair with the references:manifuse.errors.ManifuseWarning")
def test_a_grid_search_chooses_hyperparameters(case):
    X, y = frame_of(case.main), np.where(np.arange(len(case.main)) % 3 == 0, case.truth, np.nan)
    combiner = mf.PredictorCombiner(case.references, random_state=0)
    grid = {"combine__method__diffusion__score_scale": [0.1, np.inf], "combine__method__diffusion__rounds": [3]}
    search = GridSearchCV(scaled(combiner), grid, cv=FOLDS, error_score="raise").fit(X, y)
    by_hand = [
        cross_val_score(
            scaled(clone(combiner).set_params(method__diffusion__score_scale=scale, method__diffusion__rounds=3)),
            X,
            y,
            cv=FOLDS,
        )
        for scale in (0.1, np.inf)
    ]
    np.testing.assert_array_equal(search.cv_results_["mean_test_score"], np.mean(by_hand, axis=1))
    chosen = search.best_estimator_["combine"].refinement_.method
    assert chosen.diffusion.score_scale == search.best_params_["combine__method__diffusion__score_scale"]
    assert chosen.diffusion.rounds == 3


def test_what_it_gives_feeds_the_next_step(numerals):
    X, y, references = numerals
    combine = mf.PredictorCombiner(references, random_state=0)
    pipeline = Pipeline([*scaled(combine).steps, ("calibrate", IsotonicRegression(out_of_bounds="clip"))]).fit(X, y)
    calibrated = IsotonicRegression(out_of_bounds="clip").fit(pipeline[:-1].transform(X), y)
    np.testing.assert_array_equal(pipeline.predict(X), calibrated.predict(pipeline[:-1].transform(X)))


@pytest.mark.filterwarnings("ignore:Features are taken in the order:manifuse.ManifuseWarning")
@pytest.mark.parametrize("library, name", [(pd, "pandas"), (pl, "polars")])
def test_set_output_is_honoured(case, library, name):
    X = frame_of(case.main)
    X.index = X["id"] + "!"
    combiner = mf.PredictorCombiner(case.references, random_state=0).fit(X)
    refined = combiner.transform(X)
    combiner.set_output(transform=name)
    for given in (X, case.main):
        out = combiner.transform(given)
        assert isinstance(out, library.DataFrame)
        assert list(out.columns) == combiner.get_feature_names_out().tolist() == ["score"]
        np.testing.assert_array_equal(out.to_numpy(), refined)
    if library is pd:
        assert combiner.transform(X).index.equals(X.index)
    with config_context(transform_output=name):
        assert isinstance(clone(combiner).fit(X).transform(X), library.DataFrame)


def test_the_page_of_a_pipeline_names_references_and_hyperparameters(case):
    page = estimator_html_repr(
        scaled(mf.PredictorCombiner(case.references, mf.JointDiffusion(diffusion=mf.Algorithm1(rounds=7))))
    )
    for text in ("PredictorCombiner", "reference 1", "reference 2", "rounds=7", "random_state"):
        assert text in page


@pytest.mark.parametrize(
    "check",
    [
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_estimator_tags_renamed,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_mixin_order,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_set_params,
        estimator_checks.check_valid_tag_types,
    ],
    ids=lambda check: check.__name__,
)
@pytest.mark.parametrize("combiner", [mf.PredictorCombiner, mf.ClassifierCombiner])
def test_scikit_learns_own_checks_that_need_no_data(check, combiner):
    check(combiner.__name__, combiner())


def test_the_rest_of_scikit_learns_contract(case):
    """What scikit-learn's other checks demand, on tables that the combiner accepts."""
    X, y = frame_of(case.main), case.truth
    combiner = mf.PredictorCombiner(case.references, random_state=0)
    before = X.copy(), y.copy(), combiner.get_params(), set(vars(combiner))
    assert combiner.fit(X, y) is combiner
    refined = combiner.predict(X)
    pd.testing.assert_frame_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    assert combiner.get_params() == before[2]
    assert all(name.endswith("_") and not name.startswith("_") for name in set(vars(combiner)) - before[3])
    np.testing.assert_array_equal(combiner.fit(X, y).predict(X), refined)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(combiner)).predict(X), refined)
    np.testing.assert_array_equal(combiner.predict(X[::-1])[::-1], refined)
    np.testing.assert_array_equal(np.concatenate([combiner.predict(X[:50]), combiner.predict(X[50:])]), refined)
    later = X.assign(id=[f"later {row}" for row in range(len(X))])
    np.testing.assert_array_equal(combiner.predict(later[X.columns[::-1]]), combiner.predict(later))
    with pytest.raises(mf.InputError, match="X lacks the feature 'x0'"):
        combiner.predict(later.rename(columns={"x0": "other"}))
    combiner.fit(case.main)
    assert not hasattr(combiner, "feature_names_in_")


def test_what_was_saved_transforms_frames(case, tmp_path):
    X = frame_of(case.main)
    combiner = mf.PredictorCombiner(case.references, random_state=0).fit(X, case.truth)
    combiner.save(tmp_path / "combiner.npz")
    again = mf.PredictorCombiner.load(tmp_path / "combiner.npz")
    np.testing.assert_array_equal(again.transform(X), combiner.transform(X))
    assert again.get_params()["random_state"] == 0


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda X, y: (X.to_numpy(), y), "ndarray came for X, but Observations or a data frame"),
        (lambda X, y: (X.drop(columns="score"), y), "no column 'score' .*has: id, x0"),
        (lambda X, y: (X.assign(x1="blue"), y), "Column 'x1' of X is of type String"),
        (
            lambda X, y: (X.assign(x1=X["x1"].where(X["x1"] == X["x1"].max())), y),
            "X has no number in 9.% of column 'x1'",
        ),
        (lambda X, y: (X.assign(x1=[np.nan, *X["x1"][1:]]), y), "X has NaN or infinite features"),
        (lambda X, y: (X, y[:-1]), "y has 159 values but X has 160 rows"),
        (lambda X, y: (X, np.ones(len(X))), "labels are all equal"),
        (lambda X, y: (X, np.column_stack([y, y])), "y came with shape"),
        (lambda X, y: (X, np.append(y[:-1], np.inf)), "y has infinite values"),
    ],
)
def test_bad_tables_are_refused_with_a_sentence(case, change, message):
    X, y = change(frame_of(case.main), case.truth)
    with pytest.raises(mf.InputError, match=message):
        mf.PredictorCombiner(case.references).fit(X, y)


def test_a_truth_in_one_column_is_that_truth(case):
    X, combiner = frame_of(case.main), mf.PredictorCombiner(case.references, random_state=0)
    expected = combiner.fit(X, case.truth).transform(X)
    frame = pd.DataFrame({"truth": case.truth})
    for each in (frame, pl.from_pandas(frame), case.truth[:, None]):
        np.testing.assert_array_equal(combiner.fit(X, each).transform(X), expected)
        assert combiner.score(X, each) == combiner.score(X, case.truth)
    with pytest.raises(mf.InputError, match="index"):
        combiner.fit(X, frame[::-1])


def test_warnings_of_frames_are_those_of_the_refinement(case):
    X = frame_of(case.main).assign(n=np.arange(len(case.main)))
    with pytest.warns(mf.ManifuseWarning):
        fitted = mf.PredictorCombiner(case.references, random_state=0).fit(X, case.truth)
    assert [each.code for each in fitted.refinement_.warnings] == ["index_columns"]


def test_an_infinite_truth_scores_nothing(case):
    X = frame_of(case.main)
    fitted = mf.PredictorCombiner(case.references, random_state=0).fit(X, case.truth)
    with pytest.raises(mf.InputError, match="y has infinite values"):
        fitted.score(X, np.append(case.truth[:-1], np.inf))


def test_a_truth_with_the_index_of_the_table_in_another_order_is_refused(case):
    combiner, X = mf.PredictorCombiner(case.references, random_state=0), frame_of(case.main)
    y = pd.Series(np.where(np.isin(np.arange(160), case.labelled), case.truth, np.nan))
    combiner.fit(X, y)
    with pytest.raises(mf.InputError, match="X and y came with the same index in different orders"):
        combiner.fit(X, y[::-1])
    with pytest.raises(mf.InputError, match="X and y came with the same index in different orders"):
        combiner.score(X, y[::-1])
    # Without an index in common, rows go by position, as everywhere in scikit-learn.
    combiner.fit(X, y.set_axis(range(1000, 1160)))


def test_a_truth_that_may_mean_unknown_is_noticed(case):
    X, y = frame_of(case.main), np.where(case.truth > 0, 1.0, 0.0)
    y[:80] = -1.0
    with pytest.warns(
        mf.ManifuseWarning, match="0, 1 and -1, which is taken as a truth; if it means unknown, leave it out"
    ):
        mf.PredictorCombiner(case.references, random_state=0).fit(X, y)
    for clear in (np.where(y < 0, np.nan, y), np.where(y < 0.5, -1.0, 1.0)):
        mf.PredictorCombiner(case.references, random_state=0).fit(X, clear)


def test_a_truth_of_equal_values_gives_no_score(case):
    X = frame_of(case.main)
    with pytest.raises(mf.InputError, match="known values of y are all equal"):
        mf.PredictorCombiner(case.references, random_state=0).fit(X).score(X, np.ones(len(X)))


def test_known_truth_is_enough_without_references(case):
    X, y = frame_of(case.main), np.full(len(case.main), np.nan)
    y[case.labelled] = case.truth[case.labelled]
    combiner = mf.PredictorCombiner(random_state=0).fit(X, y)
    unknown = np.isnan(y)
    before, after = (
        ranking_accuracy(case.truth[unknown], each[unknown]) for each in (X["score"], combiner.predict(X))
    )
    assert after > before + 0.05
    with pytest.raises(mf.InputError, match="No reference and no labels came"):
        mf.PredictorCombiner(random_state=0).fit(X)


@pytest.mark.parametrize("scoring", ["roc_auc", "average_precision"])
def test_scorers_of_rankings_take_it(scoring):
    clinics = mf.datasets.load_clinics()
    X = frame_of(clinics.main)
    combiner = mf.PredictorCombiner(clinics.references, random_state=0, pair_rows=X)
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(combiner, X, clinics.truth, scoring=scoring, cv=folds)
    train, test = next(folds.split(X))
    refined = combiner.fit(X.iloc[train], clinics.truth[train]).decision_function(X.iloc[test])
    measure = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}[scoring]
    assert scores[0] == pytest.approx(measure(clinics.truth[test], refined))


def test_features_of_the_fit_stay_if_they_number_later_rows():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal(60)
    frame = pd.DataFrame({"id": np.arange(60) + 5, "score": truth + rng.standard_normal(60)})
    frame["x"] = truth + 0.1 * rng.standard_normal(60)
    frame["order"] = rng.permutation(60)
    fitted = mf.PredictorCombiner(random_state=0).fit(frame, np.where(np.arange(60) < 40, truth, np.nan))
    later = frame.sort_values("order")
    assert later["order"].tolist() == list(range(60))
    np.testing.assert_array_equal(fitted.predict(later), fitted.predict(frame)[later.index])
