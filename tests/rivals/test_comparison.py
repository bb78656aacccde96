"""Rivals of classes and of regressions, and how `compare` judges them, by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold
from tests.problems import draw as draw_scores
from tests.test_classes import NAMES, draw

import manifuse as mf
from manifuse.evidence.holding_out import Held
from manifuse.evidence.labelled import score_of
from manifuse.rivals import comparison
from manifuse.rivals.of_classes import ImputedClasses
from manifuse.run.refine import blocks_of_labels
from manifuse.tables.drawing_order import order_of


@pytest.fixture(scope="module")
def drawn():
    return draw(1, labels=80)


def without_references(main):
    """What is imputed if one reference repeats the main predictor."""
    return ImputedClasses(np.stack([np.log(main.came)] * 2), np.empty((len(main), 0)))


def test_averaging_known_classes_is_the_geometric_mean_whatever_their_order(drawn):
    main, *_ = drawn
    said = softmax(np.random.default_rng(0).standard_normal((len(main), 4)), axis=1)
    turned = mf.Observations(said[:, ::-1], ids=main.keys, classes=main.classes.names[::-1], name="turned")
    coarse = mf.Observations(said[:, :2] / said[:, :2].sum(1, keepdims=True), ids=main.keys, classes=["u", "v"])
    bare = mf.Observations(main.came, ids=main.keys, classes=main.classes.names, name="ours")
    expected = np.sqrt(np.maximum(main.came, 1e-4) * said)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mf.rivals.impute_and_average(bare, [turned, coarse]), expected, rtol=1e-6)


def test_averaging_keeps_own_probabilities_of_classes_that_a_reference_lacks(drawn):
    main, *_ = drawn
    came, names = np.maximum(main.came, 1e-3), main.classes.names
    came /= came.sum(axis=1, keepdims=True)
    said = softmax(np.random.default_rng(0).standard_normal((len(main), 3)), axis=1)
    bare = mf.Observations(came, ids=main.keys, classes=names, name="ours")
    fewer = mf.Observations(said[:, ::-1], ids=main.keys, classes=names[2::-1], name="fewer")
    theirs = np.column_stack([said * (1.0 - came[:, [3]]), came[:, 3]])
    expected = np.sqrt(came * theirs)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mf.rivals.impute_and_average(bare, [fewer]), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["impute_and_average", "impute_and_stack", "learn_from_labels", "spread"])
def test_rivals_of_classes_give_probabilities_that_are_worth_something(name, drawn):
    main, others, known, truth, test = drawn
    found = getattr(mf.rivals, name)(main, others, known, rng=0)
    assert found.shape == main.came.shape
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    right = main.classes.most_probable(found) == truth
    assert right[test].mean() > np.mean(main.classes.most_probable(main.came) == truth) - 0.05 > 0.5


def test_classes_that_no_label_names_keep_a_little_probability(drawn):
    main, _, known, *_ = drawn
    few = known.names != NAMES[0]
    labels = mf.ClassLabels(known.keys[few], known.names[few])
    found = mf.rivals.learn_from_labels(main, labels=labels)
    lacking = main.classes.names.index(NAMES[0])
    assert (found[:, lacking] > 0).all()
    assert (found.argmax(axis=1) != lacking).all()


@pytest.mark.parametrize("said", ["No features", "few pairs"])
def test_what_rivals_of_classes_need_is_asked_for(said, drawn):
    main, others, known, *_ = drawn
    if said == "No features":
        bare = mf.Observations(main.came, ids=main.keys, classes=main.classes.names, name="ours")
        with pytest.raises(mf.InputError, match="ours has no features, but this rival needs them"):
            mf.rivals.impute_and_average(bare, others, known)
    else:
        few = others[0].take(np.flatnonzero(np.isin(others[0].keys, main.keys[:7])))
        with pytest.raises(mf.InputError, match="has 7 pairs, but imputing it needs at least 10 to learn from"):
            mf.rivals.impute_and_average(main, [few], known)


def test_other_classes_and_scores_are_stacked_and_not_averaged(drawn):
    main, others, known, *_ = drawn
    given = {"features": others[0].table, "ids": others[0].keys, "name": "theirs"}
    scores = mf.Observations(others[0].scores[:, 0], **given)
    renamed = mf.Observations(others[0].came, classes=tuple("wxyz"), **given)
    averaged = mf.rivals.impute_and_average(main, [scores, renamed], known)
    np.testing.assert_allclose(averaged, main.came, atol=1e-3)
    same, other = (mf.rivals.impute_and_stack(main, [each], known) for each in (others[0], renamed))
    np.testing.assert_allclose(other, same, atol=1e-6)
    assert np.abs(mf.rivals.impute_and_stack(main, [scores], known) - same).max() > 0.01


def test_comparing_needs_three_groups(drawn):
    main, others, known, _, _ = drawn
    groups = np.arange(len(known.keys)) % 2
    labels = mf.ClassLabels(known.keys, known.names, groups=groups)
    with pytest.raises(mf.InputError, match="Labels of 2 groups came, but comparing needs 3"):
        mf.rivals.compare(main, others, labels)


def test_a_comparison_of_classes_judges_held_out_rows(drawn, monkeypatch):
    main, others, known, truth, _ = drawn
    monkeypatch.setattr(comparison, "imputed_scores", lambda main, *given: without_references(main))
    monkeypatch.setattr(comparison, "spread", lambda main, *given: main.came)
    mine = {"mine": lambda main, references, labels, rng: softmax(np.log(main.came) * 0.5, axis=1)}
    found = mf.rivals.compare(main, others, known, 3, others=mine, library=pd).set_index("method")
    assert sorted(found.index) == sorted(
        ["refine", "alone", "spread", "learn_from_labels", "impute_and_average", "impute_and_stack", "mine"]
    )
    rows = np.flatnonzero(np.isin(main.keys, known.keys))
    rows = rows[order_of(main, rows)]
    refined = np.empty((len(rows), 4))
    for train, test in KFold(5, shuffle=True, random_state=3).split(rows):
        labels = mf.ClassLabels(main.keys[rows[train]], truth[rows[train]])
        refined[test] = mf.refine(main, others, labels, rng=3).predictions[rows[test]]
    for name, said in {
        "refine": refined,
        "alone": main.came[rows],
        "mine": softmax(np.log(main.came) * 0.5, axis=1)[rows],
    }.items():
        right = main.classes.most_probable(said) == truth[rows]
        assert found.loc[name, "accuracy"] == pytest.approx(right.mean())
        order = np.argsort(main.classes.names)
        expected = log_loss(truth[rows], said[:, order], labels=sorted(main.classes.names))
        assert found.loc[name, "log_loss"] == pytest.approx(expected, rel=1e-3)
    both = [main.classes.most_probable(each) == truth[rows] for each in (refined, main.came[rows])]
    difference = both[1].astype(float) - both[0]
    assert found.loc["alone", "minus_refine"] == pytest.approx(difference.mean())
    error = difference.std(ddof=1) / np.sqrt(len(rows))
    one_more = np.sqrt((np.abs(difference).sum() + 1.0) / (len(rows) + 1.0) / len(rows))
    assert found.loc["alone", "standard_error"] == pytest.approx(max(error, one_more))
    assert found.loc["refine", "standard_error"] == 0.0
    with pytest.raises(mf.InputError, match="What 'mine' returned came with shape"):
        mf.rivals.compare(main, [], known, others={"mine": lambda main, *given: main.came[:, 0]})


def test_a_comparison_of_a_regression_is_in_units_of_the_labels(monkeypatch):
    case = draw_scores(0)
    for name in ("learn_from_labels", "spread", "smooth_alone"):
        monkeypatch.setattr(comparison, name, lambda main, *given, **more: main.scores)
    values = mf.RankLabels(case.main.keys[case.labelled], 300.0 + 20.0 * case.truth[case.labelled])
    exact = {"mine": lambda *given: 300.0 + 20.0 * case.truth + 1.0}
    found = mf.rivals.compare(case.main, [], values, 3, task="regression", others=exact, library=pd).set_index(
        "method"
    )
    assert found.index[0] == "mine"
    # What a user's own method predicts is taken as it is; scores in other units are brought into those of the labels.
    assert found.loc["mine", "rmse"] == pytest.approx(1.0)
    rows = case.labelled[order_of(case.main, case.labelled)]
    target, own = 300.0 + 20.0 * case.truth[rows], case.main.scores[rows, None]
    alone = np.empty(len(rows))
    for train, test in KFold(5, shuffle=True, random_state=3).split(rows):
        alone[test] = LinearRegression().fit(own[train], target[train]).predict(own[test])
    assert found.loc["alone", "rmse"] == pytest.approx(np.sqrt(np.mean((alone - target) ** 2)))
    difference = found.loc["alone", "rmse"] - found.loc["refine", "rmse"]
    assert found.loc["alone", "minus_refine"] == pytest.approx(difference)
    with pytest.raises(mf.InputError, match="task='values' came, but 'ranking' or 'regression' were expected"):
        mf.rivals.compare(case.main, [], values, task="values")


def test_errors_of_a_regression_count_that_folds_are_alike(monkeypatch):
    case = draw_scores(0)
    values = mf.RankLabels(case.main.keys[:60], case.truth[:60])
    for name in ("learn_from_labels", "spread", "smooth_alone"):
        monkeypatch.setattr(comparison, name, lambda main, *given, **more: main.scores)
    errors = []
    for factor in (1.0, 3.0):
        monkeypatch.setattr(
            "manifuse.evidence.squared_error.overlap_of", lambda folds, by=factor: {5: by}.get(folds, np.nan)
        )
        monkeypatch.setattr(comparison, "refine", lambda main, *given: mf.refine(main, [], given[1], rng=0))
        found = mf.rivals.compare(case.main, [], values, 3, task="regression", library=pd).set_index("method")
        errors.append(found["standard_error"].drop("refine"))
    assert np.isfinite(errors[0]).all()
    np.testing.assert_allclose(errors[1], 3.0 * errors[0])


@pytest.mark.parametrize("kind", ["scores", "classes"])
def test_a_comparison_holds_out_whole_groups_whatever_their_names(kind, drawn, monkeypatch):
    if kind == "classes":
        main, _, known, *_ = drawn
        said, labels_of = known.names, mf.ClassLabels
    else:
        case = draw_scores(0)
        main, known, labels_of = case.main, case.labels(), mf.RankLabels
        said = known.grades
    days = np.arange(len(known.keys)) % 7
    seen = []

    def mine(main, references, labels, rng):
        seen.append(dict(zip(labels.keys, labels.groups, strict=True)))
        return main.came

    def compare(names):
        labels = labels_of(known.keys, said, names[days])
        found = mf.rivals.compare(main, [], labels, others={"mine": mine}, library=pd)
        return found.set_index("method")

    for name in ("spread", "smooth_alone", "learn_from_labels", "_refined"):
        monkeypatch.setattr(comparison, name, lambda main, *given, **more: main.came)
    first = compare(np.array(list("abcdefg")))
    learned_from = [{*each} for each in seen]
    assert len(seen) == 5
    learned = [{*each.values()} for each in seen]
    assert sorted(7 - len(each) for each in learned) == [1, 1, 1, 2, 2], "whole groups are held out"
    assert all(sum(name in each.values() for each in seen) == 4 for name in "abcdefg")
    pd.testing.assert_frame_equal(compare(np.array(list("zyxwvut"))), first)
    assert [{*each} for each in seen[5:]] == learned_from


def test_methods_that_need_features_are_left_out_without_them():
    case = draw_scores(3, features=False, references=1)
    labels = mf.RankLabels(case.main.keys[:60], case.truth[:60])
    says = r"main has no features, so methods .* are left out \(spread, learn_from_labels, smooth_alone\)\."
    with pytest.warns(mf.ManifuseWarning, match=says):
        found = mf.rivals.compare(case.main, case.references, labels, library=pd)
    assert set(found["method"]) == {"refine", "alone", "impute_and_average", "impute_and_stack"}


@pytest.mark.filterwarnings("ignore:ours has no features")
def test_standard_errors_count_groups_as_one():
    """Rows of a group have the same truth and the same errors: ten copies of a row say no more than one."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(30), 10)
    truth, ours, theirs = (rng.standard_normal(30)[patient] + 0.01 * rng.standard_normal(300) for _ in range(3))
    ids = [f"m{row}" for row in range(300)]
    main = mf.Observations(truth + ours, ids=ids, name="ours")
    reference = mf.Observations(truth + theirs, ids=ids, name="theirs")
    known = slice(0, 120)

    def error(groups):
        labels = mf.RankLabels(ids[known], truth[known], groups)
        found = mf.rivals.compare(main, [reference], labels, library=pd).set_index("method")
        return found.loc["alone", "standard_error"]

    # Twelve groups of ten rows: about the root of ten times as large.
    assert error(patient[known]) > 2.0 * error(None)


def test_groups_of_unequal_sizes_are_compared_where_enough_is_left_to_learn_from(monkeypatch):
    rng = np.random.default_rng(0)
    truth, noise, shown = rng.standard_normal((3, 60))
    main = mf.Observations(truth + noise, (truth + shown)[:, None], ids=range(60), name="ours")

    for slow in ("spread", "learn_from_labels"):
        monkeypatch.setattr(comparison, slow, lambda main, *given, **options: main.came)

    def compared(sizes):
        labels = mf.RankLabels(np.arange(60), truth, np.repeat(np.arange(len(sizes)), sizes))
        return mf.rivals.compare(main, [], labels, library=pd)

    # Some held-out groups have one row, so one value.
    assert np.isfinite(compared([20, 20, 17, 1, 1, 1])[["accuracy", "standard_error"]]).all(axis=None)
    said = "While one group of labels is held out, 8 are left, but methods learn from at least 10; give more labels of"
    with pytest.raises(mf.InputError, match=said):
        compared([52, 4, 4])


def test_what_refine_would_hold_out_together_is_held_out_together(monkeypatch):
    rng = np.random.default_rng(0)
    features = np.cumsum(rng.standard_normal((200, 3)), axis=0)
    truth = features[:, 0] + 0.1 * rng.standard_normal(200)
    main = mf.Observations(truth + rng.standard_normal(200), features, ids=range(200), name="ours")
    labels = mf.RankLabels(np.arange(0, 200, 2), truth[::2])
    score = score_of(labels, main, regression=False)
    blocks = blocks_of_labels(main, labels, score, mf.JointDiffusion(), 0)
    assert blocks.held is mf.refine(main, [], labels, rng=0).evidence.measured.held is Held.BY_RUN
    # Ten runs, each of rows that follow each other.
    assert (np.diff(blocks.blocks[np.argsort(score.rows)]) >= 0).all()
    assert np.bincount(blocks.blocks).tolist() == [10] * 10
    seen = []

    def mine(main, references, labels, rng):
        seen.append({int(key) for key in labels.keys})
        return main.came

    # What the others make of the folds is tested above.
    monkeypatch.setattr(
        comparison, "_methods", lambda *given: {"refine": lambda main, *given: main.came, "mine": mine}
    )
    mf.rivals.compare(main, [], labels)
    held_out = [sorted({*range(0, 200, 2)} - each) for each in seen]
    # Each fold is two runs: its rows have at most one gap.
    assert all(np.count_nonzero(np.diff(each) > 2) <= 1 for each in held_out)


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_a_reference_with_few_pairs_leaves_out_what_imputes_and_nothing_else(drawn, monkeypatch):
    main, others, known, *_ = drawn
    few = others[0].take(np.flatnonzero(np.isin(others[0].keys, main.keys[:7])))
    for slow in ("spread", "learn_from_labels", "_refined"):
        monkeypatch.setattr(comparison, slow, lambda main, *given, **options: main.came)
    with pytest.warns(mf.ManifuseWarning, match="theirs 0 shares only 7 ids with .*methods that impute references"):
        found = mf.rivals.compare(main, [others[1], few], known, library=pd)
    assert set(found["method"]) == {"refine", "alone", "spread", "learn_from_labels"}


def test_a_class_without_a_label_is_said_not_to_be_judged(drawn):
    main, others, known, *_ = drawn
    kept = known.names != NAMES[0]
    labels = mf.ClassLabels(known.keys[kept], known.names[kept])
    with pytest.warns(mf.ManifuseWarning, match=f"No label is of {NAMES[0]}, so no row of it is judged") as given:
        mf.rivals.compare(main, others, labels)
    assert "unjudged_classes" in [each.message.code for each in given if hasattr(each.message, "code")]
