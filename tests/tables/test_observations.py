import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from tests.problems import draw

import manifuse as mf
from manifuse.grid import many
from manifuse.tables import id_checks

CONTAINERS = {
    "list": list,
    "numpy": np.asarray,
    "float32": lambda values: np.asarray(values, dtype=np.float32),
    "pandas": lambda values: pd.Series(values, index=[f"row {i}" for i in range(len(values))], name="score"),
    "polars": lambda values: pl.Series("score", values),
    "torch": torch.tensor,
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_results_come_back_in_the_library_of_the_input(kind):
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


def test_kept_rows_keep_their_index_after_a_drop():
    features = [[1.0], [np.nan], [3.0], [4.0]]
    given = pd.Series([1.0, 2.0, np.inf, 4.0], index=list("wxyz"))
    with pytest.warns(mf.ManifuseWarning, match="not finite in 2 of 4 rows, which are left out"):
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
        (([1, 2],), {"ids": ["a", "a"]}, "1 repeated value (first: 'a')"),
        (([1, 2],), {"ids": [1, None]}, "no value in row 1"),
        (([1, 2],), {"ids": [1.0, 2.5]}, "fractions, infinities"),
        (([1, np.nan],), {"ids": [1, 2]}, "score in row 1"),
        (([1, 2], [[1], [np.inf]]), {"ids": [1, 2]}, "features in row 1"),
        ((["x", "y"],), {"ids": [1, 2]}, "numbers were expected"),
        (([1, "y"],), {"ids": [1, 2]}, "numbers"),
        (([[1], [2]],), {"ids": [1, 2]}, "one number per row"),
        (([1, 2], [1, 2]), {"ids": [1, 2]}, "a table of rows by columns"),
        (([1, 2], [[], []]), {"ids": [1, 2]}, "no columns"),
        (([np.nan, np.nan],), {"ids": [1, 2], "invalid": "drop"}, "no row"),
        (([1, 2],), {"ids": [1, 2], "invalid": "keep"}, "'refuse' or 'drop'"),
        (([1, 2],), {"ids": [[1, 2]]}, "one id per row"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(arguments, options, says):
    assert says in refusal(*arguments, **options)


def test_all_columns_with_gaps_are_named_at_once():
    features = pd.DataFrame({"full": [1, 2, 3, 4], "some": [1, 2, 3, np.nan], "few": [1] + [np.nan] * 3})
    said = r"no number in 75% of column 'few'; .* it is no feature\. Other columns have gaps, too \(some\)\.$"
    with pytest.raises(mf.InputError, match=said):
        mf.Observations([1, 2, 3, 4], features, ids=range(4))
    with pytest.raises(mf.InputError, match=r"it is no feature\.$"):
        mf.Observations([1, 2, 3, 4], features[["full", "few"]], ids=range(4))


def test_many_bad_rows_are_named_up_to_five():
    assert "rows 0, 1, 2, 3, 4 and 3 more" in refusal([np.nan] * 8, ids=range(8))


@pytest.mark.parametrize(
    "predictions, dtype",
    [
        (torch.tensor([3, 1, 2]), torch.float64),
        (torch.tensor([3.0, 1.0, 2.0], dtype=torch.float32), torch.float32),
        (torch.tensor([3.0, 1.0, 2.0], dtype=torch.bfloat16), torch.float32),
        (np.array([3, 1, 2], dtype=np.int8), np.float64),
        (np.array([3, 1, 2], dtype=np.float16), np.float32),
        (pd.Series([3, 1, 2], dtype="Int64"), np.float64),
        (pd.Series([3, 1, 2], dtype=np.float32), np.float32),
        (pl.Series([3.0, 1.0, 2.0], dtype=pl.Float32), pl.Float32),
    ],
)
def test_results_have_the_precision_of_the_input_but_at_least_32_bits(predictions, dtype):
    back = mf.Observations(predictions, ids=[1, 2, 3]).like_predictions(np.array([0.5, 70000.25, 2.5]))
    assert back.dtype == dtype
    np.testing.assert_allclose(np.asarray(back), [0.5, 70000.25, 2.5])


@pytest.mark.parametrize(
    "scores",
    [
        np.ma.array([1.0, 999.0, 3.0], mask=[0, 1, 0]),
        pd.Series([1.0, None, 3.0], dtype="Float64"),
        pd.Series([True, None, False], dtype="boolean"),
        pl.Series([1.0, None, 3.0]),
        [1.0, None, 3.0],
    ],
)
def test_missing_values_are_named_or_dropped_in_every_library(scores):
    assert "score in row 1" in refusal(scores, ids=[1, 2, 3])
    with pytest.warns(mf.ManifuseWarning, match="1 of 3 rows"):
        assert mf.Observations(scores, ids=[1, 2, 3], invalid="drop").keys.tolist() == ["1", "3"]


@pytest.mark.parametrize(
    "ids, keys",
    [
        (np.array([b"a", "\u00e9".encode()], dtype=object), ["a", "\u00e9"]),
        (np.array([b"a", b"b"]), ["a", "b"]),
        (np.array([1.0, "b"], dtype=object), ["1", "b"]),
        ([2.0**53 - 1, -3.0], ["9007199254740991", "-3"]),
        (np.array([2**53 + 1, 2**53]), ["9007199254740993", "9007199254740992"]),
    ],
)
def test_ids_of_any_kind_become_text(ids, keys):
    assert mf.Observations([1, 2], ids=ids).keys.tolist() == keys


@pytest.mark.parametrize(
    "ids",
    [
        [2.0**53, 1.0],
        np.array([1.0, 2.0**60]),
        np.array([1, 2**24], np.float32),
        np.array(["a", -(2.0**53)], dtype=object),
        pd.Series([1.0, 1e300]),
        pl.Series([1.0, 2.0**53]),
    ],
)
def test_floats_that_may_be_other_ids_rounded_are_refused(ids):
    with pytest.raises(mf.InputError, match=r"as a float, but from \d+ on floats may be other ids, rounded; give ids"):
        mf.Observations([1, 2], ids=ids)


def test_ids_are_at_most_a_thousand_characters_and_of_similar_length(monkeypatch):
    assert mf.Observations([1, 2], ids=["a" * 1000, "b"]).keys.dtype.itemsize == 4000
    for ids in (["a" * 1001, "b"], np.array(["a" * 1001, "b"])):
        with pytest.raises(mf.InputError, match="an id of 1,001 characters, but at most 1,000 were expected"):
            mf.Observations([1, 2], ids=ids)
    monkeypatch.setattr(id_checks, "ROOM", 4 * 10 * 80)
    rows = np.arange(100.0)
    narrow = np.array([f"{row:02}" for row in range(100)])
    assert mf.Observations(rows, ids=narrow.astype("U1000")).keys.dtype == "U2"
    assert mf.Observations(rows, ids=np.where(rows == 3, "c" * 16, narrow)).keys[3] == "c" * 16
    for wide in (np.where(rows == 3, "c" * 20, narrow), ["c" * 20] * 100):
        with pytest.raises(mf.InputError, match="more than 8 times their text; shorten the longest ids"):
            mf.Observations(rows, ids=wide)


@pytest.mark.parametrize(
    "arguments, options, says",
    [
        (([1, 2],), {"ids": pd.Series(["a", pd.NA], dtype="string")}, "no value in row 1"),
        (([1, 2], [[1], [2, 3]]), {"ids": [1, 2]}, "cannot be read as an array"),
        (([1, 10**400],), {"ids": [1, 2]}, "not numbers"),
        ((pd.Series(["1", "1_000"]),), {"ids": [1, 2]}, "came as '1', but numbers were expected"),
        ((np.array([1.0, "1_000"], dtype=object),), {"ids": [1, 2]}, "came as '1_000', but numbers were expected"),
        (([1, 2], pd.DataFrame([[1, 2], [3, 4]], columns=["x", "x"])), {"ids": [1, 2]}, "cannot be read as an array"),
        (([1, 2],), {"ids": np.array([b"a", b"\xff"])}, "broken text"),
    ],
)
def test_unusual_input_is_refused_too(arguments, options, says):
    assert says in refusal(*arguments, **options)


def test_dates_in_nanoseconds_are_the_ids_that_dates_in_microseconds_are():
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03T04:05"], dtype="datetime64[ns]")
    keys = [mf.Observations([1.0, 2.0, 4.0], ids=ids).keys.tolist() for ids in (days, days.astype("datetime64[us]"))]
    assert keys[0] == keys[1] == ["2020-01-01 00:00:00", "2020-01-02 00:00:00", "2020-01-03 04:05:00"]
    exact = mf.Observations([1.0, 2.0, 4.0], ids=days + np.arange(3).astype("timedelta64[ns]")).keys
    assert exact[1] == "2020-01-02T00:00:00.000000001"
    with pytest.raises(mf.InputError, match="no value in row 1"):
        mf.Observations([1.0, 2.0, 4.0], ids=np.array([days[0], "NaT", days[2]], dtype="datetime64[ns]"))


def test_a_missing_value_in_a_list_of_texts_is_no_id():
    with pytest.raises(mf.InputError, match="no value in row 1"):
        mf.Observations([1.0, 2.0, 4.0], ids=["a", float("nan"), "c"])


def test_a_regression_refuses_scores_whose_squares_leave_the_range():
    ours = mf.Observations(np.arange(40.0) * 1e160, ids=range(40), name="ours")
    labels = mf.RankLabels(range(20), np.arange(20.0))
    with pytest.raises(mf.InputError, match="The scores of ours leave the range of numbers when squared"):
        mf.refine(ours, [], labels, mf.JointDiffusion(task="regression"))


def test_a_regression_refuses_labels_whose_squares_are_no_numbers():
    ours = mf.Observations(np.arange(40.0), ids=range(40), name="ours")
    labels = mf.RankLabels(range(20), np.arange(20.0) * 1e-200)
    with pytest.raises(mf.InputError, match="The labels differ by less than 1e-146, which cannot be squared"):
        mf.refine(ours, [], labels, task="regression")


@pytest.mark.parametrize("name", [3, b"ours", "", " ", None])
def test_a_name_that_cannot_be_shown_is_refused(name):
    with pytest.raises(mf.InputError, match="but text was expected; name the table"):
        mf.Observations([1.0, 2.0], ids=["a", "b"], name=name)


def test_one_row_is_not_called_rows():
    assert repr(mf.Observations([1.0], [[2.0]], ids=["a"], name="ours")) == "Observations('ours': 1 row, 1 feature)"
    assert [many(count, "class") for count in (0, 1, 1000)] == ["0 classes", "1 class", "1,000 classes"]


def test_only_later_rows_may_be_none():
    none = mf.Observations([], np.empty((0, 6)), ids=[], name="none", scale="score")
    drawn = draw(0)
    assert none._repr_html_().count("<tr>") == 1
    assert mf.refine(drawn.main, drawn.references, rng=0).apply(none).shape == (0,)
    for refused in (
        lambda: mf.refine(none, drawn.references),
        lambda: mf.refine(drawn.main, [none]),
        lambda: mf.rivals.compare(none, [], drawn.labels()),
        lambda: mf.rivals.impute_and_average(drawn.main, [none]),
    ):
        with pytest.raises(mf.InputError, match="none has 0 rows, but at least 3 were expected"):
            refused()
