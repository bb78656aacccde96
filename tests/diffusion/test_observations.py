import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import manifuse as mf

CONTAINERS = {
    "list": list,
    "numpy": np.asarray,
    "float32": lambda values: np.asarray(values, dtype=np.float32),
    "pandas": lambda values: pd.Series(values, index=[f"row {i}" for i in range(len(values))], name="score"),
    "polars": lambda values: pl.Series("score", values),
    "torch": torch.tensor,
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_what_comes_in_goes_out(kind):
    given = CONTAINERS[kind]([3.0, 1.0, 2.0])
    table = mf.Observations(given, ids=["a", "b", "c"])
    np.testing.assert_allclose(table.scores, [3.0, 1.0, 2.0])
    back = table.like_predictions(np.array([0.5, 1.5, 2.5]))
    if kind == "list":
        assert isinstance(back, np.ndarray)
    else:
        assert type(back) is type(given)
        assert back.dtype == given.dtype
    np.testing.assert_allclose(np.asarray(back), [0.5, 1.5, 2.5])
    if kind == "pandas":
        assert list(back.index) == list(given.index)
        assert back.name == "score"


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, lambda columns: pl.DataFrame(columns).lazy()])
def test_features_may_be_a_data_frame(frame):
    table = mf.Observations([1, 2, 3], frame({"x": [1.0, 2.0, 3.0], "y": [0, 1, 0]}), ids=[1, 2, 3])
    np.testing.assert_allclose(table.table, [[1, 0], [2, 1], [3, 0]])


@pytest.mark.parametrize(
    "ids",
    [
        [10, 2, 3],
        np.array([10, 2, 3]),
        [10.0, 2.0, 3.0],
        ["10", "2", "3"],
        pd.Series([10, 2, 3]),
        torch.tensor([10, 2, 3]),
    ],
)
def test_ids_are_compared_as_text(ids):
    assert mf.Observations([1, 2, 3], ids=ids).keys.tolist() == ["10", "2", "3"]


def test_dropped_rows_leave_their_places_behind():
    features = [[1.0], [np.nan], [3.0], [4.0]]
    given = pd.Series([1.0, 2.0, np.inf, 4.0], index=list("wxyz"))
    table = mf.Observations(given, features, ids=[1, 2, 3, 4], invalid="drop")
    assert table.keys.tolist() == ["1", "4"]
    assert list(table.like_predictions(table.scores).index) == ["w", "z"]


def refusal(*arguments, **options):
    with pytest.raises(mf.InputError) as caught:
        mf.Observations(*arguments, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize(
    "arguments, options, says",
    [
        (([1, 2],), {"ids": [1, 2, 3]}, "2 scores but 3 ids"),
        (([1, 2], [[1], [2], [3]]), {"ids": [1, 2]}, "2 scores but 3 feature rows"),
        (([1, 2],), {"ids": ["a", "a"]}, "1 repeated values (first: 'a')"),
        (([1, 2],), {"ids": [1, None]}, "no value in row 1"),
        (([1, 2],), {"ids": [1.0, 2.5]}, "fractions or infinities"),
        (([1, np.nan],), {"ids": [1, 2]}, "score in row 1"),
        (([1, 2], [[1], [np.inf]]), {"ids": [1, 2]}, "features in row 1"),
        ((["x", "y"],), {"ids": [1, 2]}, "numbers were expected"),
        (([1, "y"],), {"ids": [1, 2]}, "numbers"),
        (([[1], [2]],), {"ids": [1, 2]}, "one number per row"),
        (([1, 2], [1, 2]), {"ids": [1, 2]}, "a table of rows by columns"),
        (([1, 2], [[], []]), {"ids": [1, 2]}, "no columns"),
        (([],), {"ids": []}, "empty"),
        (([np.nan, np.nan],), {"ids": [1, 2], "invalid": "drop"}, "no row"),
        (([1, 2],), {"ids": [1, 2], "invalid": "keep"}, "'refuse' or 'drop'"),
        (([1, 2],), {"ids": [[1, 2]]}, "one id per row"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(arguments, options, says):
    assert says in refusal(*arguments, **options)


def test_many_bad_rows_are_named_up_to_five():
    assert "rows 0, 1, 2, 3, 4 and 3 more" in refusal([np.nan] * 8, ids=range(8))
