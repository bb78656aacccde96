"""What is said when labels are found among the main rows."""

import warnings

import numpy as np
import pytest

import manifuse as mf


def refine(features, truth, *, names=("age", "outcome"), **options):
    rng = np.random.default_rng(3)
    rows = len(features)
    main = mf.Observations(rng.standard_normal(rows), features, ids=range(rows), name="ours", feature_names=names)
    return mf.refine(main, [], mf.RankLabels(range(len(truth)), truth), rng=0, **options)


@pytest.mark.parametrize(
    ("truth", "options"),
    [
        (lambda noise: noise > 0.3, {}),
        (lambda noise: np.round(noise), {}),
        (lambda noise: noise, {}),
        (lambda noise: 40.0 + 7.0 * noise, {"task": "regression"}),
        (lambda noise: np.round(40.0 + 20.0 * noise), {"task": "regression"}),
    ],
    ids=["binary", "grades", "all different", "values", "rounded"],
)
@pytest.mark.parametrize("said", [lambda truth: truth, lambda truth: 3.0 - 2.0 * truth], ids=["same", "reversed"])
@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_a_feature_that_says_the_truth_is_named(rng, truth, options, said):
    age, noise = rng.standard_normal((2, 80))
    values = truth(noise).astype(float)
    features = np.column_stack([age, said(values)])
    with pytest.warns(mf.ManifuseWarning, match="The feature 'outcome' of ours says the label of all 50") as caught:
        refine(features, values[:50], **options)
    assert [each.message.code for each in caught if "says the label" in str(each.message)] == ["truth_in_features"]


@pytest.mark.parametrize("rounded", ["feature", "labels"])
@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_a_feature_that_says_the_truth_but_for_rounding_is_named(rng, rounded):
    """Ties of one of the two hide nothing, if twenty values are left."""
    truth = rng.standard_normal(80)
    feature, labels = (np.round(truth, 1) if each == rounded else truth for each in ("feature", "labels"))
    with pytest.warns(mf.ManifuseWarning, match="The feature 'outcome' of ours says the label of all 50"):
        refine(np.column_stack([rng.standard_normal(80), feature]), labels[:50], task="regression")


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_a_feature_that_says_the_class_is_named(rng):
    truth, age = rng.integers(0, 3, 60), rng.standard_normal(60)
    names = np.array(["low", "middle", "high"])
    main = mf.Observations(
        rng.dirichlet(np.ones(3), 60),
        np.column_stack([age, (truth + 1) % 3]),
        ids=range(60),
        name="ours",
        classes=names.tolist(),
    )
    with pytest.warns(mf.ManifuseWarning, match="The feature 1 of ours says the label of all 40"):
        mf.refine(main, [], mf.ClassLabels(range(40), names[truth[:40]]), rng=0)


@pytest.mark.parametrize("task", ["ranking", "regression"])
@pytest.mark.parametrize("copy", [lambda scores: 3.0 - scores, lambda scores: np.round(scores, 2)])
def test_labels_that_are_own_scores_are_told_of(rng, task, copy):
    scores, features = rng.standard_normal(80), rng.standard_normal((80, 2))
    main = mf.Observations(scores, features, ids=range(80), name="ours")
    with pytest.warns(mf.ManifuseWarning, match="The 50 labels are the scores of ours but for their") as caught:
        mf.refine(main, [], mf.RankLabels(range(50), copy(scores[:50])), rng=0, task=task)
    assert [each.message.code for each in caught] == ["truth_in_scores"]


def test_own_scores_that_put_all_of_two_grades_in_order_are_good_and_no_copies(rng):
    scores = rng.standard_normal(80)
    main = mf.Observations(scores, rng.standard_normal((80, 2)), ids=range(80), name="ours")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mf.refine(main, [], mf.RankLabels(range(50), scores[:50] > 0.2), rng=0)
        mf.refine(main, [], mf.RankLabels(range(50), scores[:50] + 0.01 * rng.standard_normal(50)), rng=0)


def test_features_that_may_agree_by_chance_or_miss_one_label_are_not_named(rng):
    age, noise = rng.standard_normal((2, 80))
    nearly = noise.copy()
    nearly[3] += 9.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refine(np.column_stack([age, nearly]), noise[:50])
        # Too few labels, or too few that are not like most.
        refine(np.column_stack([age, noise]), noise[:19])
        refine(np.column_stack([age, noise > np.sort(noise[:50])[-3]]), noise[:50] > np.sort(noise[:50])[-3])


@pytest.mark.parametrize("unknown", [60, 30])
def test_labels_whose_ids_lost_their_zeros_are_told_so(rng, unknown):
    ids = [f"{row:04d}" for row in range(1, 301)]
    features = rng.standard_normal((300, 3))
    main = mf.Observations(features[:, 0] + rng.standard_normal(300), features, ids=ids, name="ours")
    lost = [each.lstrip("0") for each in ids[:unknown]]
    labels = mf.RankLabels(lost + ids[unknown:60], features[:60, 0] + rng.standard_normal(60))
    says = f"{unknown} more ids of the labels would be equal to ids of ours if both wrote leading zeros in one way"
    if unknown == 60:
        with pytest.raises(mf.InputError, match=says):
            mf.refine(main, [], labels, rng=0)
    else:
        with pytest.warns(mf.ManifuseWarning, match=says):
            mf.refine(main, [], labels, rng=0)


@pytest.mark.parametrize(
    "grades, number, told",
    [
        ((0, 1), 999, "0, 1 and 999"),
        ((0, 1), -9, "0, 1 and -9"),
        ((0, 1), 9, "0, 1 and 9"),
        ((0, 1), 2, None),
        ((1, 2, 3, 4, 5), 99, "Several labels are 99"),
        ((1, 2, 3, 4, 5), 9, "Several labels are 9"),
        ((1, 2, 3, 4, 5), -1, "Several labels are -1"),
        ((1, 2, 3, 4, 5), 0, None),
    ],
)
def test_numbers_that_stand_for_an_unknown_truth_are_told_of(rng, grades, number, told):
    features = rng.standard_normal((120, 3))
    main = mf.Observations(features[:, 0] + rng.standard_normal(120), features, ids=range(120))
    labels = np.resize(np.array(grades, dtype=float), 60)
    labels[rng.permutation(60)[:8]] = number
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mf.refine(main, [], mf.RankLabels(range(60), labels), rng=0)
    said = [str(each.message) for each in caught if each.message.code in ("unknown_in_labels", "far_values")]
    assert [told in each for each in said] == [True] if told else said == []


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
@pytest.mark.parametrize("said", [lambda truth: truth, lambda truth: np.exp(-truth)], ids=["same", "reversed"])
def test_a_reference_that_is_made_of_the_labels_is_named(rng, said):
    truth, features = rng.standard_normal(80), rng.standard_normal((80, 2))
    main = mf.Observations(truth + rng.standard_normal(80), features, ids=range(80), name="ours")
    copied = mf.Observations(said(truth[:50]), ids=range(50), name="theirs")
    good = mf.Observations(truth + 0.01 * rng.standard_normal(80), ids=range(80), name="good")
    with pytest.warns(mf.ManifuseWarning, match="theirs puts all 50 labelled rows that it knows in") as caught:
        mf.refine(main, [good, copied], mf.RankLabels(range(60), truth[:60]), rng=0)
    assert [each.message.code for each in caught if "in the order of" in str(each.message)] == ["truth_in_reference"]


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_a_reference_that_is_right_about_few_classes_is_good(rng):
    truth, names = rng.integers(0, 3, 90), np.array(["low", "middle", "high"])
    near = np.exp(2.0 * np.eye(3)[truth] + rng.standard_normal((90, 3)))
    features = rng.standard_normal((90, 2))
    main = mf.Observations(near / near.sum(axis=1)[:, None], features, ids=range(90), name="ours", classes=names)
    theirs = mf.Observations(np.eye(3)[truth], ids=range(90), name="theirs", classes=names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mf.refine(main, [theirs], mf.ClassLabels(range(40), names[truth[:40]]), rng=0)
