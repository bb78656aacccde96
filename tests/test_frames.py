"""Refinements applied to data frames: of pandas, of polars, and of Dask, partition by partition."""

import pickle
import warnings
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import manifuse as mf
from manifuse.rivals import comparison
from tests.problems import draw, remade
from tests.test_classes import draw as classes

COLUMNS = ["name", "score", "original", "support", "uncertainty"]


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


FITS = {
    "frame": lambda frame, references: mf.refine(frame, references, rng=0).apply,
    "observations": lambda frame, references: mf.refine(mf.Observations.from_frame(frame), references, rng=0).apply,
    "combiner": lambda frame, references: mf.PredictorCombiner(references, random_state=0).fit(frame).transform,
}


@pytest.mark.parametrize("how", FITS)
def test_columns_that_the_fit_left_out_are_not_told_of_in_later_frames(case, how):
    frame = frame_of(case, prefix="").rename(columns={"name": "id", "risk": "score"}).assign(level_0=range(400))
    with pytest.warns(mf.ManifuseWarning, match=r"number or name its rows.* \(level_0\)"):
        apply = FITS[how](frame, case.references)
    later = frame.assign(id="later " + frame["id"])
    for each in (later, later.drop(columns="level_0")):
        apply(each)
    with pytest.warns(mf.ManifuseWarning, match="has the feature 'town'"):
        apply(later.assign(town=1.0))


def test_rows_that_were_fitted_with_other_scores_are_noticed(case, result):
    frame = frame_of(case, prefix="")
    frame.loc[[3, 5], "risk"] += 0.1 * frame["risk"].std()
    says = r"Rows of the frame were fitted with other scores or features \(2, the first is "
    with pytest.warns(mf.ManifuseWarning, match=says):
        refined = result.apply(frame, id="name", score="risk")
    assert np.flatnonzero(refined["score"] != result.predictions).tolist() == [3, 5]


def test_rows_that_were_fitted_with_other_features_are_noticed(case, result):
    frame = frame_of(case, prefix="")
    frame.loc[[3, 5, 7], "x2"] += 1.0
    # In single precision all are as they were.
    frame = frame.astype({f"x{number}": np.float32 for number in range(6)})
    says = r"Rows of the frame were fitted with other scores or features \(3, the first is "
    with pytest.warns(mf.ManifuseWarning, match=says):
        refined = result.apply(frame[["x3", "risk", "x0", "x1", "x2", "x5", "x4", "name"]], id="name", score="risk")
    assert np.flatnonzero(refined["score"] != result.predictions).tolist() == [3, 5, 7]


def test_scores_in_other_units_are_noticed(case, result):
    frame = frame_of(case)
    frame["risk"] *= 100.0
    with pytest.warns(mf.ManifuseWarning, match="The scores of the frame differ from the fitted ones by"):
        result.apply(frame, id="name", score="risk")


def test_scores_that_are_all_equal_or_have_moved_are_noticed(case, result):
    frame = frame_of(case)
    for changed, says in (
        (frame.assign(risk=0.5), "All scores of the frame in 400 new or changed rows are equal"),
        (frame.assign(risk=frame["risk"] + 1.4 * frame["risk"].std()), "differ from the fitted ones by 1.4 standard"),
    ):
        with pytest.warns(mf.ManifuseWarning, match=says):
            result.apply(changed, id="name", score="risk")


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
    np.testing.assert_array_equal(refined["uncertainty"], expected.uncertainty)


def test_partitions_of_dask_are_mapped_one_by_one(case, result, expected):
    frames = pytest.importorskip("dask.dataframe")
    lazy = frames.from_pandas(frame_of(case), npartitions=5)
    refine = partial(result.apply, id="name", score="risk")
    refined = lazy.map_partitions(refine, meta=refine(lazy._meta))
    assert list(refined.columns) == COLUMNS
    found = refined.compute(scheduler="threads")
    assert found["name"].to_list() == frame_of(case)["name"].to_list()
    np.testing.assert_array_equal(found["score"], expected.scores)
    np.testing.assert_array_equal(found["uncertainty"], expected.uncertainty)


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
    # Rows of a table that is kept column by column, as data frames are. A refinement keeps them row by row.
    columns = np.asfortranarray(np.repeat(case.main.table, 2, axis=0))[:400]
    main = mf.Observations(case.main.scores, columns, ids=case.main.keys, name="main")
    here = mf.refine(main, case.references, rng=0)
    there = pickle.loads(pickle.dumps(here))
    assert here.main.table.strides == there.main.table.strides != columns.strides
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
        (lambda case: frame_of(case).assign(x1="a"), "Column 'x1' of the frame is of type String"),
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


NAMED = {"id": "patient", "score": "risk", "label": "outcome", "group": "ward"}


@pytest.fixture(scope="module")
def hospital(case):
    """Tables with names of their own: a main table with labels of some rows beside it, and two references."""
    ours = frame_of(case, prefix="").rename(columns={"name": "patient"}).assign(ward=np.arange(400) % 40)
    ours["outcome"] = np.where(np.isin(np.arange(400), case.labelled), case.truth, np.nan)
    ours.index = pd.Index(np.arange(400) * 3 + 5, name="place")
    theirs = [
        pd.DataFrame({"patient": each.keys, "risk": each.scores} | dict(zip("abcdef", each.table.T, strict=True)))
        for each in case.references
    ]
    return ours, theirs


@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_frames_are_taken_wherever_tables_are(case, hospital, kind):
    ours, theirs = kind(hospital[0]), list(map(kind, hospital[1]))
    wards = mf.RankLabels(case.main.keys[case.labelled], case.truth[case.labelled], case.labelled % 40)
    features = hospital[0].filter(like="x")
    main = mf.Observations(hospital[0]["risk"].to_numpy(), features, ids=hospital[0]["patient"], name="main")
    expected = mf.refine(main, case.references, wards, rng=0)
    result = mf.refine(ours, theirs, ours, rng=0, **NAMED)
    np.testing.assert_array_equal(result.scores, expected.scores)
    later = kind(hospital[0].drop(columns=["ward", "outcome"]))
    for shown in (result.to_frame(), result.apply(later)):
        assert type(shown) is type(ours)
        assert list(shown.columns) == ["patient", *COLUMNS[1:]]
        assert shown["patient"].to_list() == ours["patient"].to_list()
        assert shown["patient"].dtype == ours["patient"].dtype
        np.testing.assert_array_equal(shown["score"], expected.scores)
        if isinstance(shown, pd.DataFrame):
            pd.testing.assert_index_equal(shown.index, ours.index)
    np.testing.assert_array_equal(result.apply_in_full(later).support, expected.support)
    told = mf.explain(result, "m3", case.references, labels=wards)
    assert str(mf.explain(result, "m3", theirs, labels=ours, label="outcome")) == str(told)
    noted = [kind(each.assign(note="seen")) for each in hospital[1]]
    assert str(mf.explain(result, "m3", noted, labels=ours, label="outcome", drop=["note"])) == str(told)


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
@pytest.mark.parametrize("kind", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize("values, told", [(10, True), (1, False), (400, False)])
def test_text_beside_labels_in_a_frame_that_repeats_may_be_groups(hospital, kind, values, told):
    ours, theirs = hospital[0].drop(columns=["ward", "outcome"]), hospital[1]
    known = hospital[0].assign(ward=[f"w{row % values}" for row in range(400)])
    names = {"id": "patient", "score": "risk", "label": "outcome"}
    grouped = mf.refine(kind(ours), map(kind, theirs), kind(known), rng=0, group="ward", **names) if told else None

    def codes(**more):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            result = mf.refine(kind(ours), map(kind, theirs), kind(known), rng=0, **names, **more)
            mf.explain(result, "m3", map(kind, theirs), labels=kind(known), label="outcome")
        if grouped is not None:
            assert result.gain != grouped.gain
        return [str(each.message) for each in given if getattr(each.message, "code", "") == "ungrouped_labels"]

    said = "The table of labels has 'ward' beside the labels, a column of text with 10 values, which is not read; name"
    assert [each[: len(said)] for each in codes()] == [said] * told
    assert codes(drop=["ward"]) == []


def test_a_combiner_takes_frames_as_references_and_remembers_their_names(case, hospital, tmp_path):
    ours, theirs = hospital
    names = {"id_column": "patient", "score_column": "risk", "drop": ["ward", "outcome"]}
    combiner = mf.PredictorCombiner(theirs, random_state=0, **names).fit(ours, ours["outcome"])
    expected = mf.refine(ours, theirs, ours, rng=0, drop=["ward"], **{**NAMED, "group": None})
    np.testing.assert_array_equal(combiner.predict(ours), expected.scores)
    combiner.save(tmp_path / "model.npz")
    again = mf.PredictorCombiner.load(tmp_path / "model.npz")
    later = ours.drop(columns=["ward", "outcome"])
    np.testing.assert_array_equal(again.predict(later), expected.scores)
    assert list(mf.load(tmp_path / "model.npz").apply(later).columns) == ["patient", *COLUMNS[1:]]


def test_a_column_to_drop_need_only_be_in_one_of_the_tables(case, hospital, tmp_path):
    ours, theirs = hospital[0].drop(columns=["ward", "outcome"]), [each.assign(town="Bonn") for each in hospital[1]]
    names = {"id": "patient", "score": "risk"}
    plain = mf.refine(ours, hospital[1], rng=0, **names)
    for main in (ours, mf.Observations.from_frame(ours, name="main", **names)):
        result = mf.refine(main, iter(theirs), rng=0, drop=["town"], **names)
        np.testing.assert_array_equal(result.scores, plain.scores)
        assert result.main.called.drop == ()
    parameters = {"id_column": "patient", "score_column": "risk", "random_state": 0, "drop": ["town"]}
    combiner = mf.PredictorCombiner(theirs, **parameters).fit(ours)
    np.testing.assert_array_equal(combiner.predict(ours), plain.scores)
    twice = pd.concat([theirs[0], theirs[0][["risk"]]], axis=1)
    with pytest.raises(mf.InputError, match="reference 1 has two columns of one name"):
        mf.refine(ours, twice, rng=0, drop=["town"], **names)
    with pytest.raises(mf.InputError, match="`drop` town came, but no table has such a column"):
        mf.PredictorCombiner(hospital[1], **parameters).fit(ours)


def test_whole_numbers_as_ids_come_back_as_such(case, hospital):
    ours, theirs = (
        each.assign(patient=each["patient"].str[1:].astype(int) + 1000 * each["patient"].str.startswith("r"))
        for each in (hospital[0].drop(columns=["ward", "outcome"]), hospital[1][0])
    )
    result = mf.refine(ours, theirs, rng=0, id="patient", score="risk")
    assert result.to_frame(pl)["patient"].to_list() == list(range(400))
    assert result.to_frame()["patient"].dtype == np.int64
    scores = mf.Observations(case.main.scores, case.main.table, ids=np.arange(400), name="main")
    assert mf.refine(scores, [theirs], rng=0, id="patient", score="risk").to_frame()["id"].dtype == pl.Int64


@pytest.mark.parametrize(
    "change, says",
    [
        (
            {"labels": "outcome"},
            "str came for the table of labels, but RankLabels, ClassLabels or a data frame was expected",
        ),
        ({"labels": pd.Series([1.0, 2.0]), "main": pd.DataFrame()}, "Series came for the table of labels"),
        (
            {"main": pd.DataFrame({"patient": ["a"], "risk": [np.nan]})},
            "main has NaN or infinite score .*`invalid='drop'` of `Observations.from_frame`",
        ),
        (
            {"drop": ["town"]},
            "`drop` town came, but no table has such a column beside ids, scores and classes; correct it",
        ),
        (
            {"drop": [" X0"]},
            "`drop` ' X0' came, but no table has such a column beside ids, scores and classes; did you mean 'x0'?",
        ),
        ({"drop": None}, "drop=None came, but a list of columns was expected"),
        ({"score": None}, "`score` = None came, but the name of one column"),
        ({"group": 0}, "`group` = 0 came, but the name of one column"),
        ({"classes": 3}, "classes=3 came, but names of columns were expected"),
        ({"classes": "q_(.*)"}, "0 columns of main match it"),
        ({"drop": ["patient"]}, "`drop` has 'patient', which main cannot do without"),
        (
            {"main": pd.DataFrame([["a", 1.0, 2.0]], columns=["patient", "risk", "risk"])},
            "main has two columns of one name",
        ),
        (
            {"main": pd.DataFrame({"patient": ["a"], "risk": [1.0], "embedding": [[0.5, 1.0]]})},
            "'embedding' of main is of type Object, but numbers were expected; give each of its entries a column",
        ),
        ({"label": "truth"}, r"The table of labels has no column 'truth' .*, or name it with `label`\.$"),
        ({"score": "points"}, "main has no column 'points' .* .of one table alone: `Observations.from_frame`"),
        (
            {"main": pd.DataFrame([["a"] * 500], columns=[f"gene {number}" for number in range(500)])},
            r"main has no column 'patient' \(it has: gene 0, .{,160}\.\.\.\);",
        ),
        ({"group": "day"}, "The table of labels has no column 'day'"),
        ({"label": "empty"}, "The table of labels has no value in 'empty'"),
        ({"id": "place"}, "main has no column 'place' .*; its index is called so: call reset_index"),
        ({"id": "risk", "score": "x0", "drop": ["patient"]}, "The id column of main came with fractions"),
        (
            {"references": ["theirs.csv"]},
            "str came for reference 1, but Observations or a data frame .*; refine files with `refine_files`",
        ),
        ({"main": pl.LazyFrame({"patient": ["a"]})}, "LazyFrame came for main.*; collect it"),
    ],
)
def test_frames_that_cannot_be_used_are_refused(hospital, change, says):
    (ours, theirs), known = hospital, ["ward", "outcome"]
    given = {
        "main": ours.drop(columns=known),
        "references": theirs,
        "labels": ours.assign(empty=np.nan),
        **NAMED,
        **change,
    }
    with pytest.raises(mf.InputError, match=says):
        mf.refine(**given, rng=0)


def test_frames_without_names_are_told_apart_by_their_order_alone(case, hospital):
    ours, theirs = hospital
    result = mf.refine(ours.drop(columns=["ward", "outcome"]), theirs, rng=0, id="patient", score="risk")
    with pytest.raises(
        mf.InputError, match=r"1 reference came where 2 were expected.*give all of them in their order"
    ):
        mf.explain(result, "m3", theirs[1:])
    assert str(mf.explain(result, "m3", case.references[1:])).count("reference 2") > 1
    with pytest.raises(
        mf.InputError, match="At the common rows, reference 1 has other scores than when it was fitted"
    ):
        mf.explain(result, "m3", theirs[::-1])


@pytest.mark.filterwarnings("ignore:The scores of .* are in .0, 1.:manifuse.ManifuseWarning")
def test_labels_of_classes_and_ordered_pairs_come_in_frames():
    main, others, known, *_ = classes(3, labels=60)
    frame = pl.DataFrame(
        {"id": main.ids}
        | dict(zip(main.classes.names, main.came.T, strict=True))
        | {f"x{k}": column for k, column in enumerate(main.table.T)}
    )
    truth = pl.DataFrame({"id": known.keys.astype(int), "label": known.names})
    result = mf.refine(frame, others, truth, classes=main.classes.names, rng=0)
    np.testing.assert_allclose(result.scores, mf.refine(main, others, known, rng=0).scores, atol=1e-9)
    better, worse = known.keys[:30], known.keys[30:]
    scores = mf.Observations(main.came[:, 0], main.table, ids=main.ids, name="main")
    pairs = pd.DataFrame({"better": better, "worse": worse})
    expected = mf.refine(scores, [], mf.RankLabels.from_pairs(better, worse), rng=0)
    np.testing.assert_array_equal(mf.refine(scores, [], pairs, rng=0).scores, expected.scores)
    with pytest.warns(mf.ManifuseWarning, match="The table of labels has ordered pairs.*groups beside them are not"):
        mf.refine(scores, [], pairs.assign(group="a"), rng=0)
    with pytest.raises(
        mf.InputError, match="The table of labels has a label for each row and ordered pairs, better and"
    ):
        mf.refine(scores, [], pairs.assign(id=better, label=range(len(better))), rng=0)
    with pytest.raises(mf.InputError, match="The table of labels has no column 'day'"):
        mf.refine(scores, [], pairs, rng=0, group="day")


def test_references_of_scores_come_in_frames_beside_classes():
    main, others, *_ = classes(3, labels=60)
    features = {f"x{k}": column for k, column in enumerate(others[0].table.T)}
    frame = pl.DataFrame({"id": others[0].keys, "score": others[0].came[:, 0]} | features)
    table = mf.Observations(others[0].came[:, 0], others[0].table, ids=others[0].keys, name="reference 1")
    columns = {f"p_{name}": column for name, column in zip(main.classes.names, main.came.T, strict=True)}
    ours = pl.DataFrame({"id": main.keys} | columns | {f"x{k}": column for k, column in enumerate(main.table.T)})
    expected = mf.refine(main, [table], rng=0)
    for named in ("p_(.*)", {name: name.removeprefix("p_") for name in columns}):
        found = mf.refine(ours, [frame], rng=0, classes=named)
        np.testing.assert_allclose(found.scores, expected.scores, atol=1e-12)
        assert "reference 1" in str(mf.explain(found, main.keys[0], [frame]))


def test_later_rows_bring_the_features_though_references_know_all_fitted_rows(case):
    """A later row that they know, too, gets their scores; another one is imputed by its features."""
    noise = np.random.default_rng(0)
    ids = [*case.main.keys, "known"]
    truth = np.append(case.truth, 1.0)
    others = [pl.DataFrame({"id": ids, "score": truth + noise.standard_normal(len(ids))}) for _ in range(3)]
    features = {f"x{k}": column for k, column in enumerate(case.main.table.T)}
    ours = pl.DataFrame({"id": case.main.keys, "score": case.main.scores} | features)
    result = mf.refine(ours, others, rng=0)
    later = pl.DataFrame({"id": ["known", "new"], "score": [0.5, 0.5]})
    with pytest.raises(mf.InputError, match="lacks the features"):
        result.apply(later)
    later = later.with_columns(**{name: column[:1].repeat(2) for name, column in features.items()})
    known, new = result.apply(later)["score"]
    assert known > new
    assert result.apply(later)["support"].to_list() == [1.0, pytest.approx(0.3, abs=0.1)]


def test_rivals_are_compared_on_frames(case, hospital, monkeypatch):
    # Other methods are given the same tables; their tests are elsewhere.
    few = {
        "refine": partial(comparison._refined, method=mf.JointDiffusion()),
        "mine": lambda main, references, known, rng: main.scores * known.grades.sum(),
    }
    monkeypatch.setattr(comparison, "_methods", lambda *given, **more: few)
    ours, theirs = hospital
    ours = ours.assign(outcome=np.round(case.truth), day=np.arange(len(ours)) % 6).head(140)
    ours.loc[ours.index[50:], "outcome"] = np.nan
    known = ours.dropna(subset="outcome")
    main = mf.Observations(ours["risk"].to_numpy(), ours.filter(like="x"), ids=ours["patient"], name="main")
    labels = mf.RankLabels(known["patient"], known["outcome"], known["day"])
    expected = mf.rivals.compare(main, case.references, labels, library=pd)
    names = {"id": "patient", "score": "risk", "label": "outcome", "group": "day", "drop": ["ward"]}
    pd.testing.assert_frame_equal(mf.rivals.compare(ours, theirs, ours, **names), expected)


def test_columns_of_several_levels_are_refused_whatever_names_are_given(hospital):
    ours = hospital[0].set_axis(pd.MultiIndex.from_product([hospital[0].columns, [""]]), axis=1)
    for names in ({}, {"id": "('patient', '')", "score": "('risk', '')"}):
        with pytest.raises(mf.InputError, match=r"columns of several levels, such as \('patient', ''\); give each"):
            mf.Observations.from_frame(ours, **names)


def test_series_whose_index_is_in_another_order_are_refused(rng):
    ids, scores = pd.Series([f"m{row}" for row in range(9)]), pd.Series(rng.standard_normal(9))
    features = pd.DataFrame({"x": rng.standard_normal(9)})
    turned, groups = features[::-1], pd.Series(list("aabbccdde"))
    for given in ((scores, turned, ids), (scores[::-1], features, ids), (scores, None, ids[::-1])):
        with pytest.raises(mf.InputError, match="Scores, features and ids of table came with the same index in diff"):
            mf.Observations(given[0], given[1], ids=given[2])
    for kind, truth in ((mf.RankLabels, scores), (mf.ClassLabels, groups)):
        with pytest.raises(mf.InputError, match="of the labels came with the same index in different orders"):
            kind(ids, truth[::-1])
    # Another index says nothing, and neither do arrays.
    again = mf.Observations(scores, turned.reset_index(drop=True), ids=ids.set_axis(list("abcdefghi")))
    np.testing.assert_array_equal(again.table[:, 0], features["x"].to_numpy()[::-1])
    mf.Observations(scores, turned.to_numpy(), ids=ids)
    mf.Observations(scores[::-1], turned, ids=ids[::-1])


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_times_with_a_zone_are_no_ids(library, zone):
    times = pd.Series(pd.date_range("2020-01-01", periods=9, freq="h", tz=zone))
    ids = {"pandas": times, "polars": pl.Series(times), "pyarrow": pa.chunked_array([pa.array(times)])}[library]
    for made in (lambda: mf.Observations(np.arange(9.0), ids=ids), lambda: mf.RankLabels(ids, np.arange(9.0))):
        with pytest.raises(mf.InputError, match="times with a time zone, of which every library makes other text"):
            made()
    # Without a zone they are text as they print.
    plain = times.dt.tz_localize(None)
    assert mf.Observations(np.arange(9.0), ids=plain).keys[1] == "2020-01-01 01:00:00"


def test_columns_may_have_numbers_as_names(case, hospital):
    named = hospital[0].filter(like="x")
    ours = named.set_axis(range(6), axis=1).assign(id=hospital[0]["patient"], score=hospital[0]["risk"])
    main = mf.Observations(ours["score"].to_numpy(), named, ids=ours["id"], name="main")
    result, expected = (mf.refine(each, case.references, rng=0) for each in (ours, main))
    np.testing.assert_array_equal(result.scores, expected.scores)
    np.testing.assert_array_equal(result.apply(ours)["score"], expected.scores)


def test_rows_of_labels_have_their_numbers_in_the_whole_table(case):
    values = np.full(len(case.main), np.nan)
    values[[20, 30, 40, 50]] = [1.0, 2.0, np.inf, 3.0]
    for frame in (
        pd.DataFrame({"id": case.main.keys, "label": values}),
        pl.DataFrame({"id": case.main.keys, "label": values}),
    ):
        with pytest.raises(mf.InputError, match="The labels are NaN or infinite in row 40;"):
            mf.refine(case.main, case.references, frame)


def test_the_column_of_the_truth_is_no_feature_whatever_the_labels_come_as(case, hospital):
    ours, theirs = hospital
    names = {"id": "patient", "score": "risk", "drop": ["ward"]}
    plain = mf.refine(ours.drop(columns="outcome"), theirs, rng=0, **names)
    with pytest.warns(mf.ManifuseWarning, match="`label` names 'outcome', but no labels came"):
        told = mf.refine(ours.fillna(0.0), theirs, label="outcome", rng=0, **names)
    assert told.main.feature_names == plain.main.feature_names
    np.testing.assert_array_equal(told.scores, plain.scores)
    known = mf.RankLabels(case.main.keys[case.labelled], case.truth[case.labelled])
    taught = mf.refine(ours.fillna(0.0), theirs, known, label="outcome", rng=0, **names)
    assert taught.main.feature_names == plain.main.feature_names


def test_a_pattern_names_the_classes_of_each_table_and_lacking_ones_are_said():
    main, (other,), *_ = classes(3, references=1)
    names = list(main.classes.names)

    def frame(table, **changed):
        columns = dict(zip(names, table.came[:, [table.classes.names.index(name) for name in names]].T, strict=True))
        probabilities = {f"p_{name}": column for name, column in (columns | changed).items() if column is not None}
        features = {f"x{k}": column for k, column in enumerate(table.table.T)}
        return pl.DataFrame({"id": table.ids} | probabilities | features)

    ours, theirs = frame(main), frame(other)
    result = mf.refine(ours, theirs, classes="p_(.*)", rng=0)
    assert result.main.classes.names == tuple(names)
    named = {f"p_{name}": name for name in names}
    np.testing.assert_array_equal(result.predictions, mf.refine(ours, theirs, classes=named, rng=0).predictions)
    first, *_, last = names
    few = frame(other, **{first: None, last: theirs[f"p_{first}"] + theirs[f"p_{last}"]})
    with pytest.warns(
        mf.ManifuseWarning, match=rf"reference 1 does not have all classes of main \({first} is missing\)"
    ):
        mf.refine(ours, few, classes="p_(.*)", rng=0)


def test_single_arguments_are_refused_by_what_they_are(case):
    with pytest.raises(mf.InputError, match=r"rng=True came, but a whole number or a numpy\.random\.Generator"):
        mf.refine(case.main, case.references, rng=True)
    result = mf.refine(case.main, case.references, rng=0)
    with pytest.raises(mf.InputError, match=r"The list of ids has no value in row 0; give every row one, or"):
        mf.explain(result, None, case.references)
    far = case.main.table.copy()
    far[:, 0] = 1e300
    ids = [f"later {row}" for row in range(len(far))]
    with pytest.warns(mf.ManifuseWarning, match=r"by up to [0-9.]+e\+\d+ standard deviations; check the units"):
        result.apply(mf.Observations(case.main.scores, far, ids=ids, name="later"))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_names_of_columns_are_no_patterns(rng, library):
    columns = {"id": np.arange(30), "score": rng.standard_normal(30), "x0": rng.standard_normal(30)}
    columns |= {name: rng.standard_normal(30) for name in ("^x.$", "*", "^score$")}
    made = mf.Observations.from_frame(library(columns), drop=["x0"])
    assert made.feature_names == ("^x.$", "*", "^score$")
    np.testing.assert_array_equal(made.table, np.column_stack([columns[name] for name in made.feature_names]))


@pytest.mark.parametrize("role, named", [("score", "risk"), ("id", "name")])
def test_a_second_score_or_id_is_no_feature(case, role, named):
    """A score that a table had before may lie beside the one that is meant."""
    frame = frame_of(case).assign(**{role: 1.0})
    said = f"ours has '{role}' beside '{named}', which was named as the {role}; it is left out"
    with pytest.warns(mf.ManifuseWarning, match=said):
        warned = mf.Observations.from_frame(frame, id="name", score="risk", name="ours")
    assert warned.feature_names == tuple(f"x{k}" for k in range(6))
    assert role in warned.called.drop
    dropped = mf.Observations.from_frame(frame, id="name", score="risk", drop=[role], name="ours")
    assert dropped.feature_names == tuple(f"x{k}" for k in range(6))


def test_features_of_later_rows_that_are_no_numbers_are_named(case, result):
    frame = frame_of(case).assign(x1="a", x3="b")
    with pytest.raises(
        mf.InputError,
        match=r"Column 'x1' of .* \(so is 'x3'\), but numbers were expected; convert it to numbers or encode it.$",
    ):
        result.apply(frame, id="name", score="risk")
