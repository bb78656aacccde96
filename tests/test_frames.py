"""Refinements applied to data frames: of pandas, of polars, and of Dask, partition by partition."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import manifuse as mf
from tests.problems import draw, remade

COLUMNS = ["name", "score", "original", "support", "error"]


@pytest.fixture(scope="module")
def case():
    return draw(0, rows=400)


def frame_of(case, rows=slice(None), prefix="later "):
    features = pd.DataFrame(case.main.table, columns=[f"x{k}" for k in range(6)])
    keys = [prefix + key for key in case.main.keys]
    return pd.concat([pd.DataFrame({"name": keys, "risk": case.main.scores}), features], axis=1)[rows]


@pytest.fixture(scope="module")
def result(case):
    frame = frame_of(case, prefix="")
    main = mf.Observations(frame["risk"], frame.filter(like="x"), ids=frame["name"], name="main")
    return mf.refine(main, case.references, case.labels(), rng=0)


@pytest.fixture(scope="module")
def expected(case, result):
    frame = frame_of(case)
    return result.apply_in_full(mf.Observations(frame["risk"], frame.filter(like="x"), ids=frame["name"]))


def test_an_arrow_table_gives_an_arrow_table(case, result, expected):
    refined = result.apply(pa.Table.from_pandas(frame_of(case)), id="name", score="risk")
    assert type(refined) is pa.Table
    assert refined.column_names == COLUMNS
    np.testing.assert_array_equal(refined["score"].to_numpy(), expected.scores)


def test_further_columns_are_ignored_with_a_warning(case, result, expected):
    frame = frame_of(case).assign(town="A")
    with pytest.warns(mf.ManifuseWarning, match="the frame has the feature 'town', which main was fitted without"):
        refined = result.apply(frame, id="name", score="risk")
    np.testing.assert_array_equal(refined["score"], expected.scores)


def test_rows_that_were_fitted_with_other_scores_are_noticed(case, result):
    frame = frame_of(case, prefix="")
    frame.loc[[3, 5], "risk"] += 0.1 * frame["risk"].std()
    says = r"Rows of the frame were fitted with other scores or features \(2 of them\)"
    with pytest.warns(mf.ManifuseWarning, match=says):
        refined = result.apply(frame, id="name", score="risk")
    assert np.flatnonzero(refined["score"] != result.predictions).tolist() == [3, 5]


def test_rows_that_were_fitted_with_other_features_are_noticed(case, result):
    frame = frame_of(case, prefix="")
    frame.loc[[3, 5, 7], "x2"] += 1.0
    # In single precision all are as they were.
    frame = frame.astype({f"x{number}": np.float32 for number in range(6)})
    says = r"Rows of the frame were fitted with other scores or features \(3 of them\)"
    with pytest.warns(mf.ManifuseWarning, match=says):
        refined = result.apply(frame[["x3", "risk", "x0", "x1", "x2", "x5", "x4", "name"]], id="name", score="risk")
    assert np.flatnonzero(refined["score"] != result.predictions).tolist() == [3, 5, 7]


def test_scores_in_other_units_are_noticed(case, result):
    frame = frame_of(case)
    frame["risk"] *= 100.0
    with pytest.warns(mf.ManifuseWarning, match="The scores of the frame differ from the fitted ones by"):
        result.apply(frame, id="name", score="risk")


@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_frame_gives_a_frame_of_the_same_library(case, result, expected, kind):
    # Columns in another order, because features are found by their names.
    frame = kind(frame_of(case)[["x3", "risk", "x0", "x1", "x2", "x5", "x4", "name"]])
    refined = result.apply(frame, id="name", score="risk")
    assert type(refined) is type(frame)
    assert list(refined.columns) == COLUMNS
    assert refined["name"].to_list() == frame["name"].to_list()
    np.testing.assert_array_equal(refined["score"], expected.scores)
    np.testing.assert_array_equal(refined["original"], frame["risk"])
    np.testing.assert_array_equal(refined["support"], expected.support)
    np.testing.assert_array_equal(refined["error"], expected.errors)


def test_partitions_of_dask_are_mapped_one_by_one(case, result, expected):
    frames = pytest.importorskip("dask.dataframe")
    lazy = frames.from_pandas(frame_of(case), npartitions=5)
    refine = partial(result.apply, id="name", score="risk")
    refined = lazy.map_partitions(refine, meta=refine(lazy._meta))
    assert list(refined.columns) == COLUMNS
    found = refined.compute(scheduler="threads")
    assert found["name"].to_list() == frame_of(case)["name"].to_list()
    np.testing.assert_array_equal(found["score"], expected.scores)
    np.testing.assert_array_equal(found["error"], expected.errors)


def test_the_index_of_a_frame_stays(case, result):
    frame = frame_of(case).set_index(pd.Index(np.arange(400) * 7 + 3, name="place"))
    pd.testing.assert_index_equal(result.apply(frame, id="name", score="risk").index, frame.index)


def test_ids_in_a_column_that_is_written_are_refused(case, result):
    with pytest.raises(
        mf.InputError, match="the frame has its ids in a column 'original', a name that the output has"
    ):
        result.apply(frame_of(case).rename(columns={"name": "original"}), id="original", score="risk")


def test_an_empty_frame_gives_an_empty_one(case, result):
    refined = result.apply(frame_of(case, slice(0, 0)), id="name", score="risk")
    assert list(refined.columns) == COLUMNS
    assert len(refined) == 0


def test_any_engine_that_maps_batches_can_apply_it(case, result, expected):
    """As Spark's mapInPandas and Ray's map_batches do: the refinement travels as bytes, and batches come and go."""
    there = pickle.loads(pickle.dumps(result))
    frame = frame_of(case)
    batches = (there.apply(frame[first : first + 90], id="name", score="risk") for first in range(0, 400, 90))
    np.testing.assert_array_equal(pd.concat(batches)["score"], expected.scores)


def test_a_refinement_travels_to_the_bit_whatever_the_order_of_the_table_in_memory(case):
    # Rows of a table that is kept column by column, as data frames are. A copy of them is kept row by row, and there
    # what later rows need is measured again.
    columns = np.asfortranarray(np.repeat(case.main.table, 2, axis=0))[:400]
    main = mf.Observations(case.main.scores, columns, ids=case.main.keys, name="main")
    here = mf.refine(main, case.references, rng=0)
    there = pickle.loads(pickle.dumps(here))
    assert here.main.table.strides != there.main.table.strides
    later = remade(main, ids=[f"later {row}" for row in range(400)])
    np.testing.assert_array_equal(here.apply(later), there.apply(later))


def test_a_refinement_that_was_applied_travels_without_what_was_computed(result, expected):
    fresh = pickle.loads(pickle.dumps(result))
    assert len(pickle.dumps(result)) == pytest.approx(len(pickle.dumps(fresh)), rel=0.01)
    np.testing.assert_array_equal(fresh.predictions, result.predictions)


@pytest.mark.parametrize(
    "frame, says",
    [
        (
            lambda case: frame_of(case).drop(columns="x2"),
            "the frame lacks the feature 'x2', with",
        ),
        (
            lambda case: frame_of(case).rename(columns={"risk": "r"}),
            "the frame has no column 'risk' .it has",
        ),
        (
            lambda case: frame_of(case).to_numpy(),
            "ndarray came for the frame, but Observations or a data frame was expected",
        ),
        (lambda case: frame_of(case).assign(x1="a"), "The features of the frame"),
    ],
)
def test_what_is_no_frame_or_lacks_columns_is_refused(case, result, frame, says):
    with pytest.raises(mf.InputError, match=says):
        result.apply(frame(case), id="name", score="risk")


def test_a_frame_with_numbers_as_names_that_lacks_a_column_is_refused(case, result):
    frame = frame_of(case).rename(columns={"x5": 5})
    with pytest.raises(mf.InputError, match="the frame lacks the feature 'x5'"):
        result.apply(frame, id="name", score="risk")
    with pytest.raises(mf.InputError, match="has no column 'points'"):
        mf.Observations.from_frame(frame, id="name", score="points")
