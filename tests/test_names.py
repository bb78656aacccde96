"""Names of classes, groups, columns and ids: what looks like a number is a name still."""

import csv

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sparse
from sklearn.model_selection import GroupKFold, cross_val_predict

import manifuse as mf
from manifuse.errors import ManifuseWarning
from manifuse.tables.classes import Classes
from manifuse.tables.feature_names import warn_of_names
from manifuse.tables.problem_files import read_labels
from manifuse.tables.user_tables import FrameColumns
from tests.test_classes import draw

PROBABLE = ["p_ash", "p_oak"]


def frame_of(table, columns):
    """A data frame of observations with classes."""
    frame = pd.DataFrame(table.came, columns=columns)
    return frame.assign(id=table.keys, **{f"x{place}": column for place, column in enumerate(table.table.T)})


@pytest.fixture(scope="module")
def two():
    """Tables of two classes, as frames, and labels."""
    main, others, known, _, _ = draw(1, names=("ash", "oak"), labels=40, references=1)
    return frame_of(main, PROBABLE), frame_of(others[0], PROBABLE), known


@pytest.fixture(scope="module")
def scored(two):
    """Tables of scores whose feature columns are called 0, 1, 2 and 3."""
    ours, theirs, _ = two
    frames = [frame.rename(columns={"p_ash": "score", "x0": 0, "x1": 1, "x2": 2, "x3": 3}) for frame in (ours, theirs)]
    return [frame.drop(columns="p_oak") for frame in frames]


@pytest.mark.parametrize(
    "names", [("01", "1"), ("1.0", "2.0"), ("True", "False"), ("2020-01-01", "2021-01-01"), ("1e3", "1E3"), ("7", "8")]
)
def test_names_of_classes_in_a_file_are_its_text(names, tmp_path):
    path = tmp_path / "known.csv"
    path.write_text(f"id,label,group\na,{names[0]},01\nb,{names[1]},1\nc,,1\n")
    labels = read_labels(path, classes=names)
    assert labels.names.tolist() == list(names)
    assert labels.groups.tolist() == ["01", "1"]


def test_a_program_may_write_whole_numbers_as_floats_because_a_label_lacks(tmp_path):
    path = tmp_path / "known.csv"
    path.write_text("id,label\na,7.0\nb,8.0\nc,\n")
    labels = read_labels(path, classes=("7", "8", "9"))
    for names in (("7", "8", "9"), ("7.0", "8.0")):
        assert Classes(names).places_of(labels.names).tolist() == [0, 1]


@pytest.mark.filterwarnings("ignore:The scores of .* are in .0, 1.:manifuse.ManifuseWarning")
def test_features_whose_names_are_numbers_are_found_by_their_names(scored):
    ours, theirs = scored
    result = mf.refine(ours, [theirs], rng=0)
    later = ours.assign(id=[f"later {each}" for each in ours["id"]])
    turned = later[["score", 3, "id", 2, 0, 1]]
    np.testing.assert_array_equal(result.apply(turned)["score"], result.apply(later)["score"])
    with pytest.raises(mf.InputError, match="lacks the feature '3', with which main was fitted"):
        result.apply(later.rename(columns={3: 9}))
    counted = ours.rename(columns={0: "x"}).assign(**{"9": np.arange(len(ours))})
    with pytest.warns(ManifuseWarning, match=r"columns that number or name its rows, .*\(9\)"):
        assert mf.Observations.from_frame(counted).feature_names == ("x", "1", "2", "3")
    with pytest.raises(mf.InputError, match="two columns whose name is '3' as text"):
        mf.refine(ours.assign(**{"3": 0.0}), [theirs], rng=0)
    assert mf.Observations.from_frame(ours, drop=[3]).feature_names == ("0", "1", "2")


@pytest.mark.filterwarnings("ignore:The scores of .* are in .0, 1.:manifuse.ManifuseWarning")
def test_features_without_names_are_taken_in_their_order_with_a_warning(scored):
    ours, theirs = scored
    bare = mf.Observations(ours["score"], ours[[0, 1, 2, 3]].to_numpy(), ids=ours["id"], name="ours")
    result = mf.refine(bare, [theirs], rng=0)
    with pytest.warns(ManifuseWarning, match="the features that ours was fitted with have no names"):
        result.apply(ours.assign(id=[f"later {each}" for each in ours["id"]]))


def test_numbers_that_could_be_names_or_places_are_refused():
    main, others, _, truth, _ = draw(1, names=("1", "2", "3"), references=1)
    columns = ["p_1", "p_2", "p_3"]
    X, theirs, y = frame_of(main, columns), frame_of(others[0], columns), truth.astype(int)
    combiner = mf.ClassifierCombiner([theirs], random_state=0, class_columns="p_(.*)", pair_rows=X)
    folds = np.where(y == 1, 0, np.arange(len(y)) % 3)
    with pytest.raises(mf.InputError, match="cannot be told whether these are names or places"):
        # Where no row of class 1 teaches, scikit-learn gives places 1 and 2, which are classes 2 and 3.
        cross_val_predict(combiner, X, y, cv=GroupKFold(3), groups=folds, method="predict_proba")
    # A truth that a score is asked for is never given as places.
    fitted, few = combiner.fit(X, y), y != 3
    assert fitted.score(X[few], y[few]) == np.mean(fitted.predict(X[few]) == y[few])


def test_a_saved_combiner_knows_that_its_classes_are_numbers(tmp_path):
    main, others, _, truth, _ = draw(1, names=("1", "2", "10"), references=1)
    X, theirs = frame_of(main, ["p_1", "p_2", "p_10"]), others[0]
    combiner = mf.ClassifierCombiner([theirs], random_state=0, class_columns="p_(.*)").fit(X, truth.astype(int))
    combiner.save(tmp_path / "model.npz")
    again = mf.ClassifierCombiner.load(tmp_path / "model.npz")
    assert again.classes_.tolist() == combiner.classes_.tolist() == [1, 2, 10]
    np.testing.assert_array_equal(again.predict_proba(X), combiner.predict_proba(X))


def test_ids_with_blanks_are_refused_wherever_they_come_from(scored):
    ours, theirs = scored
    for strange in ("", " a", "a\t"):
        with pytest.raises(
            mf.InputError, match=r"The id column of main holds .*, but ids and names must not be empty"
        ):
            mf.refine(ours.assign(id=[strange, *ours["id"][1:]]), [theirs], rng=0)
        with pytest.raises(mf.InputError, match="The id column of the labels holds"):
            mf.RankLabels([strange, "b"], [0, 1])


def test_a_model_saved_in_python_knows_its_class_columns(two, tmp_path):
    ours, theirs, known = two
    result = mf.refine(ours, [theirs], known, classes=dict(zip(PROBABLE, ("ash", "oak"), strict=True)), rng=0)
    later = ours.assign(id=[f"later {each}" for each in ours["id"]])
    later.to_csv(tmp_path / "later.csv", index=False)
    mf.apply_files(result, tmp_path / "later.csv", tmp_path / "refined.csv")
    found = pd.read_csv(tmp_path / "refined.csv")
    np.testing.assert_allclose(found[PROBABLE], result.apply(later)[PROBABLE], rtol=1e-12)


def test_a_score_beside_classes_is_no_feature_in_python_either(two):
    ours, theirs, _ = two
    result = mf.refine(ours.assign(score=ours["x0"] ** 2), [theirs], classes="p_(.*)", rng=0)
    assert result.main.feature_names == ("x0", "x1", "x2", "x3")


def test_a_later_row_of_classes_has_the_same_bits_by_itself():
    main, others, _, _, _ = draw(2, names=tuple("abcde"), references=1)
    columns = [f"p_{name}" for name in "abcde"]
    ours = frame_of(main, columns)
    result = mf.refine(ours, others, classes="p_(.*)", rng=0)
    later = ours.assign(id=[f"later {key}" for key in ours["id"]]).head(30)
    alone = pd.concat([result.apply(later.iloc[[row]]) for row in range(30)])
    np.testing.assert_array_equal(alone[columns], result.apply(later)[columns])


def test_what_holds_no_plain_numbers_is_refused_with_what_to_do(scored):
    ours, theirs = scored
    table = ours[[0, 1]].to_numpy()
    with pytest.raises(mf.InputError, match=r"The features of table came as a sparse matrix, .* give its toarray\(\)"):
        mf.Observations(ours["score"], sparse.csr_matrix(table), ids=ours["id"])
    with pytest.raises(mf.InputError, match=r"The id column of table came as generator, .* make a list"):
        mf.Observations(ours["score"], table, ids=(each for each in ours["id"]))
    for kind, shown in ((pd.SparseDtype("float"), "Sparse"), (object, "Object")):
        with pytest.raises(mf.InputError, match=rf"'0' of main is of type {shown}.*; convert it with astype\(float\)"):
            mf.refine(ours.astype({0: kind}), [theirs], rng=0)


def test_a_refined_archive_is_read_as_a_table(scored, tmp_path):
    ours, theirs = (frame[["id", "score"]] for frame in scored)
    ours = ours[ours["id"].isin(theirs["id"])]
    for name, frame in (("ours", ours), ("theirs", theirs)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    mf.refine_files(tmp_path / "ours.csv", tmp_path / "theirs.csv", out=tmp_path / "once.npz")
    mf.refine_files(tmp_path / "once.npz", tmp_path / "theirs.csv", out=tmp_path / "twice.csv")
    with np.load(tmp_path / "once.npz") as once:
        np.testing.assert_allclose(pd.read_csv(tmp_path / "twice.csv")["original"], once["score"])


@pytest.mark.parametrize("classes", [(), ("oak", "yew")])
def test_a_blank_label_may_have_quotes(classes, tmp_path):
    (tmp_path / "known.csv").write_text('"id","label"\n"a","{}"\n"b",""\n"c","{}"\n'.format(*(classes or (1, 2))))
    labels = read_labels(tmp_path / "known.csv", classes=classes)
    assert labels.keys.tolist() == ["a", "c"]


def test_a_blank_label_of_a_class_may_be_empty_text():
    main = mf.Observations(np.full((3, 2), 0.5), ids=["a", "b", "c"], classes=["oak", "yew"])
    known = pd.DataFrame({"id": ["a", "b", "c"], "label": ["oak", "", "yew"]})
    assert FrameColumns().labels_of(known, main).keys.tolist() == ["a", "c"]


def test_pairs_need_no_ids_that_are_longer_than_those_that_came(scored, tmp_path):
    ours, theirs = (frame[["id", "score"]].astype({"id": str}) for frame in scored)
    ours = ours[ours["id"].isin(theirs["id"])].head(40)
    theirs = theirs.assign(id=theirs["id"].str.zfill(1000))
    for name, frame in (("ours", ours), ("theirs", theirs)):
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    pd.DataFrame({"main": ours["id"], "reference": ours["id"].str.zfill(1000)}).to_csv(tmp_path / "p.csv", index=False)
    result = mf.refine_files(
        tmp_path / "ours.csv", tmp_path / "theirs.csv", out=tmp_path / "out.csv", pairs=tmp_path / "p.csv"
    )
    assert result.relevance[0].pairs == 40


@pytest.mark.filterwarnings("error::manifuse.ManifuseWarning")
@pytest.mark.parametrize("ids", [np.arange(100), np.arange(100).astype("datetime64[D]").astype("datetime64[ns]")])
def test_pairs_name_rows_by_numbers_or_times_and_other_rows_are_spelled_like_none(ids, tmp_path):
    rng = np.random.default_rng(0)
    truth, shift = rng.standard_normal(100), 1000 if ids.dtype.kind == "i" else np.timedelta64(1000, "D")
    ours = pl.DataFrame({"id": ids, "score": truth + rng.standard_normal(100), "x": truth})
    theirs = pl.DataFrame({"id": (ids + shift)[:80], "score": truth[:80] + 0.3 * rng.standard_normal(80)})
    for name, frame in (("ours", ours), ("theirs", theirs)):
        frame.write_parquet(tmp_path / f"{name}.parquet")
    pl.DataFrame({"main": ids[:40], "reference": (ids + shift)[:40]}).write_parquet(tmp_path / "p.parquet")
    files = (tmp_path / "ours.parquet", tmp_path / "theirs.parquet")
    result = mf.refine_files(*files, out=tmp_path / "out.csv", pairs=tmp_path / "p.parquet")
    assert result.relevance[0].pairs == 40


def test_a_loaded_combiner_knows_what_was_left_out(scored, tmp_path):
    ours, theirs = (frame.rename(columns=str) for frame in scored)
    combiner = mf.PredictorCombiner([theirs], random_state=0, drop=["3"]).fit(ours)
    combiner.save(tmp_path / "model.npz")
    again = mf.PredictorCombiner.load(tmp_path / "model.npz")
    assert again.get_params()["drop"] == ("3",)
    np.testing.assert_array_equal(again.predict(ours), combiner.predict(ours))


@pytest.mark.filterwarnings("ignore:The scores of .* are in .0, 1.:manifuse.ManifuseWarning")
def test_classes_are_refused_where_a_score_was_fitted(scored, tmp_path):
    ours, theirs = scored
    ours.to_csv(tmp_path / "ours.csv", index=False)
    with pytest.raises(mf.InputError, match="`classes` came, but the refinement is of scores; leave it out"):
        mf.apply_files(mf.refine(ours, [theirs], rng=0), tmp_path / "ours.csv", tmp_path / "out.csv", classes="x(.*)")


def test_unchanged_probabilities_are_the_same_bits_after_they_were_saved(tmp_path):
    rng = np.random.default_rng(0)
    main = mf.Observations(rng.random(40) ** 30, rng.random((40, 2)), ids=range(40), scale="probability", name="ours")
    said = -main.scores + 0.5 * rng.standard_normal(40)
    other = mf.Observations(said, ids=main.keys, name="opposed")
    result = mf.refine(main, [other], rng=0)
    assert not result.accepted
    mf.save(result, tmp_path / "model.npz")
    again = mf.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predictions, main.came)
    np.testing.assert_array_equal(again.apply(main), result.apply(main))


@pytest.mark.filterwarnings("ignore:The scores of .* are in .0, 1.:manifuse.ManifuseWarning")
def test_a_blank_feature_may_have_quotes(scored, tmp_path):
    ours, theirs = scored
    theirs.to_csv(tmp_path / "theirs.csv", index=False)
    ours = ours.assign(**{"4": np.where(np.arange(len(ours)) == 3, np.nan, np.cos(np.arange(len(ours))))})
    for name, quoting in (("plain", csv.QUOTE_MINIMAL), ("quoted", csv.QUOTE_ALL)):
        ours.to_csv(tmp_path / f"{name}.csv", index=False, quoting=quoting)
        with pytest.warns(ManifuseWarning, match="not finite in 1 of 240 rows, which are left out"):
            mf.refine_files(
                tmp_path / f"{name}.csv", tmp_path / "theirs.csv", out=tmp_path / f"{name}_out.csv", drop_invalid=True
            )
    assert (tmp_path / "quoted_out.csv").read_text() == (tmp_path / "plain_out.csv").read_text()


def test_scores_that_differ_in_their_last_digits_are_not_called_equal():
    with pytest.raises(mf.InputError, match=r"ours are equal up to their last digits \(all are about 1e\+16\)"):
        mf.refine(
            mf.Observations(1e16 + 2.0 * np.arange(30), ids=range(30), name="ours"), [], mf.RankLabels([0, 1], [0, 1])
        )


@pytest.mark.parametrize("name", ["group", "Groups", "fold", "label", "patient_id"])
def test_a_feature_that_is_named_like_a_label_or_a_group_is_warned_of(name):
    with pytest.warns(ManifuseWarning, match=rf"labels, folds, ids or results \({name}\)"):
        warn_of_names("ours", ["age", name, "grouping"])
    warn_of_names("ours", ["age", "grouping"])
