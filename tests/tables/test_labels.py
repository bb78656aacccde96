import numpy as np
import pandas as pd
import polars as pl
import pytest

import manifuse as mf


@pytest.mark.parametrize(
    "ids, grades, says",
    [
        ([1, 2, 3], [0, 1], "3 ids but 2 values"),
        ([1, 2], [1, 1], "all equal"),
        ([1, 2], [1, np.nan], "NaN or infinite in row 1"),
        ([1, 1], [0, 1], "repeated"),
        ([1, 2], ["low", "high"], "numbers"),
        ([1, 2], [3.1, "<2.5"], "write the limit as a number"),
    ],
)
def test_labels_without_an_order_are_refused(ids, grades, says):
    with pytest.raises(mf.InputError, match=says):
        mf.RankLabels(ids, grades)


@pytest.mark.parametrize(
    "better, worse, says",
    [(["a"], ["b", "c"], "equally many"), ([], [], "at least one"), (["a", "b"], ["b", "a"], "both above and below")],
)
def test_pairs_that_contradict_are_refused(better, worse, says):
    with pytest.raises(mf.InputError, match=says):
        mf.RankLabels.from_pairs(better, worse)


def test_pairs_with_the_same_index_in_another_order_are_refused():
    better, worse = pd.Series(list("abc")), pd.Series(list("def"))
    with pytest.raises(mf.InputError, match="same index in different orders"):
        mf.RankLabels.from_pairs(better, worse[::-1])


def test_pairs_are_kept_as_indices_of_ids():
    labels = mf.RankLabels.from_pairs(["c", "b"], ["a", "a"])
    assert [(labels.keys[i], labels.keys[j]) for i, j in zip(labels.better, labels.worse, strict=True)] == [
        ("c", "a"),
        ("b", "a"),
    ]


def test_a_pair_that_comes_again_counts_once():
    once = mf.RankLabels.from_pairs(["c", "b"], ["a", "a"])
    with pytest.warns(mf.ManifuseWarning, match="3 ordered pairs of the labels came again; each counts once"):
        often = mf.RankLabels.from_pairs(["c", "b", "c", "b", "c"], ["a"] * 5)
    assert len(often) == 2
    for name in ("keys", "better", "worse"):
        assert getattr(often, name).tolist() == getattr(once, name).tolist()


@pytest.mark.parametrize("library", ["pandas, ordered", "pandas", "a series", "polars"])
def test_categories_are_no_numbers(library):
    """Those of pandas know their order, which need not be that of the numbers that they are called by."""
    values = pd.Categorical([1, 3, 2], categories=[1, 3, 2], ordered=library != "pandas")
    values = {"a series": pd.Series(values), "polars": pl.Series(["1", "3", "2"], dtype=pl.Enum(["1", "3", "2"]))}.get(
        library, values
    )
    ids = ["a", "b", "c"]
    with pytest.raises(mf.InputError, match="The scores of table came as categories, but numbers were expected"):
        mf.Observations(values, ids=ids)
    with pytest.raises(mf.InputError, match=r"The labels came as (categories|text, such as '1')"):
        mf.RankLabels(ids, values)
    with pytest.raises(mf.InputError, match="The features of table came as categories"):
        mf.Observations([1, 2, 3], pd.DataFrame({"x": pd.Categorical([1, 3, 2])}), ids=ids)
    assert mf.ClassLabels(ids, values).names.tolist() == ["1", "3", "2"]


def test_ids_of_pairs_may_be_numbers():
    assert mf.RankLabels.from_pairs([1.0, 2.0], [3.0, 4.0]).keys.tolist() == ["1", "2", "3", "4"]
    with pytest.raises(mf.InputError, match="no value in row 1"):
        mf.RankLabels.from_pairs(["a", None], ["b", "c"])


def test_text_as_the_truth_of_scores_is_refused_with_a_way():
    for truth in (["benign", "malignant"], pd.Series(["benign", "malignant"])):
        with pytest.raises(mf.InputError, match=r"came as text, such as 'benign', but .* such as 1 for yes"):
            mf.RankLabels(["a", "b"], truth)
    with pytest.raises(mf.InputError, match=r"came as text, such as '0', but .*; convert it to numbers\."):
        mf.RankLabels(["a", "b"], np.array(["0", "1"]))
    assert mf.RankLabels(["a", "b"], [True, False]).grades.tolist() == [1.0, 0.0]


def test_a_group_that_is_blank_is_no_group():
    with pytest.raises(mf.InputError, match="The group column of the labels has no value in rows 1, 2; give every"):
        mf.RankLabels(["a", "b", "c", "d"], [1, 2, 3, 4], groups=["x", "", " ", "y"])
