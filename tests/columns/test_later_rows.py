"""Later rows, which were not in the fit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.alone import alone
from tests.problems import draw, remade

import manifuse as mf
from manifuse.backends.neighbours import Scaling
from manifuse.evidence.accuracy import ranking_accuracy

TUNED = mf.Algorithm1()


def run(method, main, references, labels=None):
    """Refine, or run Algorithm 1 by itself."""
    each = alone if isinstance(method, mf.Algorithm1) else mf.refine
    return each(main, references, labels, method, rng=0)


def parted(case, rows):
    """Split the main table into rows to fit and later ``rows``; pairs stay in the fit."""
    kept = np.setdiff1d(np.arange(len(case.main)), rows)

    def part(places):
        return remade(
            case.main,
            predictions=case.main.scores[places],
            features=None if case.main.table is None else case.main.table[places],
            ids=case.main.keys[places],
        )

    return part(kept), part(rows)


def unpaired(case, count=40):
    paired = np.isin(case.main.keys, np.concatenate([reference.keys for reference in case.references]))
    return np.flatnonzero(~paired)[:count]


@pytest.mark.parametrize("labelled", [False, True])
def test_rows_of_the_fit_get_their_fitted_predictions(labelled):
    case = draw(0)
    result = mf.refine(case.main, case.references, case.labels() if labelled else None, rng=0)
    assert result.accepted
    np.testing.assert_array_equal(result.apply(case.main), result.predictions)
    np.testing.assert_array_equal(result.apply_in_full(case.main).support, result.support)
    np.testing.assert_array_equal(result.apply_in_full(case.main).uncertainty, result.uncertainty)


@pytest.mark.parametrize("labelled", [False, True])
def test_a_feature_that_was_equal_in_all_fitted_rows_is_ignored_later(labelled):
    case = draw(3)
    rows = unpaired(case)
    fitted, late = parted(case, rows)

    def with_constant(table, value):
        return remade(table, features=np.column_stack([table.table, np.full(len(table), value)]))

    labels = case.labels() if labelled else None
    if labelled:
        kept = np.isin(labels.keys, fitted.keys)
        labels = mf.RankLabels(labels.keys[kept], labels.grades[kept])
    result = mf.refine(with_constant(fitted, 0.7), case.references, labels, rng=0)
    assert result.accepted
    expected = result.apply_in_full(with_constant(late, 0.7))
    for value in (2.0, 1e9):
        found = result.apply_in_full(with_constant(late, value))
        np.testing.assert_array_equal(found.scores, expected.scores)
        np.testing.assert_array_equal(found.support, expected.support)


@pytest.mark.parametrize(
    "method", [mf.JointDiffusion(same_target=True), TUNED, replace(TUNED, anchored=False, smoothing=0.0)]
)
def test_new_rows_come_out_nearly_as_if_they_had_been_there(method):
    losses = []
    for seed in range(4):
        case = draw(seed, rows=200, pairs=50)
        rows = unpaired(case)
        fitted, new = parted(case, rows)
        applied = run(method, fitted, case.references).apply(new)
        refitted = run(method, case.main, case.references).predictions[rows]
        before, after, whole = (ranking_accuracy(case.truth[rows], p) for p in (new.scores, applied, refitted))
        assert after > before
        losses.append(whole - after)
    assert np.mean(losses) < 0.02


@pytest.mark.parametrize("method", [mf.JointDiffusion(same_target=True), TUNED])
def test_with_all_ids_common_new_rows_are_looked_up_in_the_references(method):
    case = draw(6, features=False, rows=200)
    rows = np.arange(150, 200)
    fitted, new = parted(case, rows)
    result = run(method, fitted, case.references)
    applied = result.apply(new)
    refitted = run(method, case.main, case.references).predictions[rows]
    assert np.corrcoef(applied, refitted)[0, 1] > 0.995
    np.testing.assert_array_equal(result.apply_in_full(new).support, 1.0)
    strangers = remade(new, ids=[f"stranger {row}" for row in range(50)])
    np.testing.assert_array_equal(result.apply_in_full(strangers).support, 0.0)


@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
def test_rows_far_from_everything_are_flagged():
    case = draw(0)
    result = mf.refine(case.main, case.references, rng=0)
    near = remade(case.main, ids=[f"new {row}" for row in range(160)])
    far = remade(near, features=case.main.table + 1e3)
    assert result.apply_in_full(near).support.mean() > 0.3
    assert result.apply_in_full(far).support.max() < 0.1
    assert np.isfinite(result.apply(far)).all()


def test_an_unchanged_predictor_leaves_new_rows_unchanged():
    case = draw(0)
    noise = [
        remade(r, predictions=np.random.default_rng(k).standard_normal(160)) for k, r in enumerate(case.references)
    ]
    result = mf.refine(case.main, noise, method=mf.JointDiffusion(same_target=False), rng=0)
    assert not result.accepted
    new = remade(case.main, ids=[f"new {row}" for row in range(160)])
    np.testing.assert_array_equal(result.apply(new), new.scores)


def test_new_rows_come_back_in_their_own_container():
    case = draw(0)
    result = mf.refine(case.main, case.references, rng=0)
    series = pd.Series(case.main.scores[:5], index=list("abcde"))
    new = mf.Observations(series, case.main.table[:5], ids=range(5))
    assert list(result.apply(new).index) == list("abcde")


@pytest.mark.parametrize("width", [0, 3])
def test_other_features_than_those_of_the_fit_are_refused(width):
    case = draw(0)
    result = mf.refine(case.main, case.references, rng=0)
    features = case.main.table[:5, :width] if width else None
    with pytest.raises(mf.InputError, match=f"came with {width} features, but main was fitted with 6"):
        result.apply(mf.Observations(case.main.scores[:5], features, ids=range(5), name="new"))


def test_a_new_row_is_the_row_that_its_enlarged_graph_would_have(rng):
    """One round by hand: affinity, transport and smoothing of a new row from dense matrices."""
    case = draw(0, references=1)
    method = replace(TUNED, rounds=1, settled=0.0, standardised=False, neighbours=6)
    result = run(method, case.main, case.references)
    fit, units = result.fitted_model.columns.diffused, result.fitted_model.scored.last
    first_round = fit.rounds[0]
    references, smoothed_fit = first_round.arrival.references, first_round.arrival.smoothed
    graph, start, n = fit.bridges.graph, first_round.start, len(case.main)
    features, score = case.main.table[3] + 0.05, case.main.scores[3] + 0.3
    new = mf.Observations([score], features[None], ids=["new"])
    own = units.apply(score) / np.sqrt(n)

    divisors = Scaling.of(case.main.table, standardised=False, name="main").divisors
    squares = np.sum(((case.main.table - features) / divisors) ** 2, axis=1)
    near = np.argsort(squares)[:6]
    scales = np.sqrt(2 * squares[near].mean() * graph.scales[near])
    weights = np.exp(-squares[near] / scales) * np.exp(-n * (own - start[near]) ** 2 / 0.1)
    standard = (start - start.mean()) / start.std()
    affinity = weights / np.sqrt(weights.sum() * graph.degrees(standard, 0.1)[near])
    masses = references.values * references.row_sums
    arrived = (affinity @ masses[near]) / (affinity @ references.row_sums[near])
    arrived = (arrived - references.values.mean()) / np.linalg.norm(references.values - references.values.mean())
    smooth = smoothed_fit.values * smoothed_fit.row_sums
    smoothed = (own + 10.0 * affinity @ smooth[near]) / (1 + 10.0 * affinity @ smoothed_fit.row_sums[near])
    smoothed = (smoothed - smoothed_fit.values.mean()) / np.linalg.norm(
        smoothed_fit.values - smoothed_fit.values.mean()
    )
    expected = np.array([own, arrived[0], smoothed[0], own]) @ fit.coefficients[0]
    assert result.apply(new)[0] == pytest.approx(units.undo(np.sqrt(n) * expected), rel=1e-9)


@pytest.fixture(scope="module")
def named():
    """A refinement of a data frame, and later rows as a data frame with the same columns."""
    case = draw(0)
    fitted, new = parted(case, unpaired(case))
    names = list("uvwxyz")
    main = remade(fitted, features=pd.DataFrame(fitted.table, columns=names))
    result = mf.refine(main, case.references, case.labels(), rng=0)
    assert result.accepted
    return result, new, pd.DataFrame(new.table, columns=names)


def later(new, features, **others):
    return mf.Observations(new.scores, features, ids=new.keys, name="later", **others)


@pytest.mark.filterwarnings("ignore:later differs from the fitted rows:manifuse.ManifuseWarning")
def test_features_of_later_rows_are_found_by_their_names(named, tmp_path):
    result, new, frame = named
    expected = result.apply(later(new, frame))
    with pytest.warns(mf.ManifuseWarning) as given:
        assert not np.allclose(result.apply(later(new, frame.to_numpy()[:, ::-1])), expected)
    assert any("check their sign, and the order of the features" in str(each.message) for each in given)
    mf.save(result, tmp_path / "model.npz")
    for each in (result, mf.load(tmp_path / "model.npz")):
        assert each.main.feature_names == tuple("uvwxyz")
        np.testing.assert_array_equal(each.apply(later(new, frame[list("zxvuyw")])), expected)
        reversed_array = frame.to_numpy()[:, ::-1]
        np.testing.assert_array_equal(each.apply(later(new, reversed_array, feature_names=list("zyxwvu"))), expected)
        with pytest.warns(mf.ManifuseWarning, match="those of later have no names; check it") as given:
            np.testing.assert_array_equal(each.apply(later(new, frame.to_numpy())), expected)
        assert [warning.message.code for warning in given] == ["features_by_position"]


def test_missing_features_are_refused_and_further_ones_ignored_by_name(named):
    result, new, frame = named
    with pytest.raises(mf.InputError, match="later lacks the features 'v', 'x', with which main was fitted"):
        result.apply(later(new, frame.drop(columns=["v", "x"])))
    with pytest.raises(mf.InputError, match="later lacks the feature 'v'"):
        result.apply(later(new, frame.rename(columns={"v": "other"})))
    with pytest.warns(mf.ManifuseWarning, match="later has the feature 'more', which main was fitted without"):
        applied = result.apply(later(new, frame.assign(more=1.0)[["more", *"zyxwvu"]]))
    np.testing.assert_array_equal(applied, result.apply(later(new, frame)))


@pytest.mark.parametrize(
    "names, says",
    [
        (["a", "a"], "give each feature a name of its own"),
        (["a"], "give each feature a name of its own"),
        ("ab", "The feature names of table came with shape"),
        (7, "The feature names of table came with shape"),
        ([1.5, 2.5], "The feature names of table came with fractions"),
    ],
)
def test_each_feature_needs_a_name_of_its_own(names, says):
    with pytest.raises(mf.InputError, match=says):
        mf.Observations([1.0, 2.0], np.eye(2), ids=["a", "b"], feature_names=names)


def test_a_fitted_row_that_comes_again_with_another_score_is_refined_as_a_later_row():
    case = draw(0)
    result, rows = mf.refine(case.main, case.references, rng=0), np.arange(6)
    scores, features = case.main.scores[rows] + 1.0, case.main.table[rows]
    again = mf.Observations(scores, features, ids=case.main.keys[rows])
    other_ids = mf.Observations(scores, features, ids=[f"new {row}" for row in rows])
    with pytest.warns(mf.ManifuseWarning, match=r"\(6, the first is 'm0'\); they are refined anew"):
        found = result.apply(again)
    np.testing.assert_array_equal(found, result.apply(other_ids))
    assert not np.isclose(found, result.scores[rows]).any()
    unchanged = mf.Observations(case.main.scores[rows], features, ids=case.main.keys[rows])
    np.testing.assert_array_equal(result.apply(unchanged), result.scores[rows])
