import numpy as np
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
    ],
)
def test_labels_that_order_nothing_are_refused(ids, grades, says):
    with pytest.raises(mf.InputError, match=says):
        mf.RankLabels(ids, grades)


@pytest.mark.parametrize(
    "better, worse, says",
    [(["a"], ["b", "c"], "one each"), ([], [], "one pair or more"), (["a", "b"], ["b", "a"], "both above and below")],
)
def test_pairs_that_contradict_are_refused(better, worse, says):
    with pytest.raises(mf.InputError, match=says):
        mf.RankLabels.from_pairs(better, worse)


def test_pairs_name_their_places():
    labels = mf.RankLabels.from_pairs(["c", "b"], ["a", "a"])
    assert [(labels.keys[i], labels.keys[j]) for i, j in zip(labels.better, labels.worse, strict=True)] == [
        ("c", "a"),
        ("b", "a"),
    ]


def test_pairs_of_numbers_are_the_ids_that_the_table_has():
    assert mf.RankLabels.from_pairs([1.0, 2.0], [3.0, 4.0]).keys.tolist() == ["1", "2", "3", "4"]
    with pytest.raises(mf.InputError, match="no value in row 1"):
        mf.RankLabels.from_pairs(["a", None], ["b", "c"])
