"""Tables as their owners have them: other column names, further columns, tabs, labels of other rows."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.problems import draw

import manifuse as mf
from manifuse.cli import app

NAMES = {"id": "patient", "score": "risk", "label": "outcome"}
CALLED = ("--id", "patient", "--score", "risk", "--drop", "town", "--config", "names.toml")


def frame(table):
    features = {f"x{k}": column for k, column in enumerate(table.table.T)}
    return pl.DataFrame({"id": table.keys, "score": table.scores, **features})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The same problem twice: with the usual names, and with others, a column of text and tabs."""
    monkeypatch.chdir(tmp_path)
    case = draw(0, references=1)
    main, theirs = frame(case.main), frame(case.references[0])
    known = pl.DataFrame({"id": case.labels().keys, "label": case.labels().grades})
    for table, name in ((main, "main"), (theirs, "theirs"), (known, "known")):
        table.write_csv(f"{name}.csv")
    town = pl.lit("Bonn").alias("town")
    main.with_columns(town).rename({"id": "patient", "score": "risk"}).write_csv("ours.csv")
    theirs.rename({"id": "patient"}).write_csv("partner.tsv", separator="\t")
    known.rename({"id": "patient", "label": "outcome"}).write_parquet("outcomes.parquet")
    (tmp_path / "names.toml").write_text('label = ["outcome"]\n')
    return tmp_path


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["manifuse", *map(str, arguments)])
    try:
        app.main()
    except SystemExit as left:
        return left.code or 0
    return 0


def said(capsys):
    return " ".join(capsys.readouterr().err.split())


USUAL = ("refine", "main.csv", "--reference", "theirs.csv", "--labels", "known.csv")
OWN = ("refine", "ours.csv", "--reference", "partner.tsv", "--labels", "outcomes.parquet")


def test_names_change_nothing_but_names(folder, monkeypatch):
    assert run(monkeypatch, *USUAL, "--out", "usual.csv") == 0
    assert run(monkeypatch, *OWN, *CALLED, "--out", "own.tsv", "--save", "model.npz") == 0
    usual, own = pl.read_csv("usual.csv"), pl.read_csv("own.tsv", separator="\t")
    assert ["patient", *usual.columns[1:]] == own.columns
    for column in usual.columns[1:]:
        np.testing.assert_allclose(own[column], usual[column], rtol=1e-9)
    assert mf.load("model.npz").main.feature_names == tuple(f"x{k}" for k in range(6))
    # The record repeats the run.
    (folder / "own.tsv").unlink()
    assert run(monkeypatch, "refine", "--config", "own.run.toml") == 0
    assert pl.read_csv("own.tsv", separator="\t").equals(own)
    table = pl.read_csv("ours.csv").with_columns(pl.format("later {}", "patient").alias("patient"))
    table.select(reversed(table.columns)).write_csv("new.csv")
    later = ("--id", "patient", "--score", "risk", "--drop", "town", "--out", "later.csv")
    assert run(monkeypatch, "apply", "model.npz", "new.csv", *later) == 0
    features = table.select(f"x{k}" for k in range(6)).to_numpy()
    names = [f"x{k}" for k in range(6)]
    new = mf.Observations(table["risk"].to_numpy(), features, ids=table["patient"].to_numpy(), feature_names=names)
    np.testing.assert_allclose(pl.read_csv("later.csv")["score"], mf.load("model.npz").apply(new), rtol=1e-9)


def test_tables_may_call_the_same_column_by_different_names(folder, monkeypatch, capsys):
    pl.read_csv("theirs.csv").rename({"id": "mrn", "score": "points"}).write_csv("other.csv")
    own = ("refine", "ours.csv", "--reference", "other.csv", "--labels", "outcomes.parquet")
    names = ("--id", "mrn", "--score", "points", *CALLED)
    assert run(monkeypatch, *USUAL, "--out", "usual.csv") == 0
    assert run(monkeypatch, *own, *names, "--out", "own.csv") == 0
    np.testing.assert_allclose(pl.read_csv("own.csv")["score"], pl.read_csv("usual.csv")["score"], rtol=1e-9)
    assert run(monkeypatch, "refine", "--config", "own.run.toml", "--out", "again.csv") == 0
    capsys.readouterr()
    # Two names of one table: the one that is left out is not meant. And one name of two columns.
    twice = (*own, *names, "--id", "x0", "--out", "out.csv")
    assert run(monkeypatch, *twice) == 2
    assert "both would be the id; leave one of them out with --drop patient or --drop x0" in said(capsys)
    assert run(monkeypatch, *twice, "--drop", "x0") == 0
    pl.read_csv("ours.csv").with_columns(pl.lit("m0").alias("id")).write_csv("two.csv")
    two = ("refine", "two.csv", *own[2:], *names, "--id", "id", "--out", "out.csv")
    assert run(monkeypatch, *two) == 2
    assert "both would be the id; leave one of them out with --drop id or --drop patient" in said(capsys)
    assert run(monkeypatch, *two, "--drop", "id") == 0
    capsys.readouterr()
    assert run(monkeypatch, *own, *names, "--id", "risk", "--out", "out.csv") == 2
    assert "--id and --score both name the column 'risk'" in said(capsys)


@pytest.mark.parametrize(
    "changed, says",
    [
        ({"label": "inf"}, "The labels are NaN or infinite in line 24;"),
        ({"group": None}, "The group column of the labels has no value in line 24;"),
        ({"id": None}, "The id column of the labels has no value in line 24;"),
    ],
)
def test_lines_of_labels_are_those_of_the_file(folder, monkeypatch, capsys, changed, says):
    """Also where the labels before have blanks."""
    lines = [
        {"id": f"m{row}", "label": str(row % 3) if row % 2 == 0 else None, "group": f"g{row % 5}"} for row in range(60)
    ]
    lines[22] |= changed
    pl.DataFrame(lines).write_csv("known.csv")
    assert run(monkeypatch, *USUAL, "--out", "out.csv") == 2
    assert says in said(capsys)


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_a_label_column_without_labels_is_named(folder, monkeypatch, capsys):
    table = pl.read_csv("main.csv").with_columns(outcome=pl.col("x0").round(1))
    table.write_csv("main.csv")
    assert run(monkeypatch, *USUAL[:4], "--label", "outcome", "--out", "out.csv") == 0
    assert "--label names 'outcome', but no labels came" in said(capsys)


def test_remedies_for_later_tables_can_be_followed(folder, monkeypatch, capsys):
    assert run(monkeypatch, *USUAL, "--out", "out.csv", "--save", "model.npz") == 0
    bare = pl.read_csv("main.csv").drop("score")
    bare.write_csv("bare.csv")
    assert run(monkeypatch, "apply", "model.npz", "bare.csv", "--out", "later.csv") == 2
    assert said(capsys).endswith("rename the column that holds it, or name it with --score.")
    classes = pl.read_csv("main.csv").with_columns(p_yes=0.1 + pl.col("x0").rank() / 200)
    classes = classes.with_columns(p_no=1.0 - pl.col("p_yes")).drop("score")
    classes.write_csv("classes.csv")
    common = classes.select("id", p_yes=0.1 + pl.col("x1").rank() / 200)[:80]
    common = common.with_columns(p_no=1.0 - pl.col("p_yes"))
    common.write_csv("common.csv")
    sides = ("refine", "classes.csv", "--reference", "common.csv", "--classes", "p_(.*)", "--ask-references")
    assert run(monkeypatch, *sides, "--out", "out.csv", "--save", "model.npz") == 0
    classes.rename({"p_yes": "q_yes", "p_no": "q_no"}).write_csv("renamed.csv")
    later = ("apply", "model.npz", "renamed.csv", "--out", "later.csv")
    assert run(monkeypatch, *later) == 2
    assert "but the refinement is of classes; rename them, or name them with --classes." in said(capsys)
    assert run(monkeypatch, *later, "--classes", "q_(.*)") == 0


def test_messages_show_the_columns_as_the_file_calls_them(folder, monkeypatch, capsys):
    pl.read_parquet("outcomes.parquet").rename({"outcome": "died"}).write_csv("died.csv")
    own = ("refine", "ours.csv", "--reference", "partner.tsv", "--labels", "died.csv", *CALLED, "--out", "out.csv")
    assert run(monkeypatch, *own) == 2
    assert "died.csv has the columns patient, died, but id or patient and label or outcome" in said(capsys)
    words = pl.read_csv("ours.csv").with_columns(pl.lit("high").alias("risk"))
    words.write_csv("words.csv")
    assert run(monkeypatch, "refine", "words.csv", "--reference", "partner.tsv", *CALLED, "--out", "out.csv") == 2
    assert "Column 'risk' of words.csv holds 'high'" in said(capsys)


@pytest.mark.parametrize(
    "options, says",
    [
        (("--id", "patients"), "ours.csv has no column 'patients' for its id, but only patient, risk, x0"),
        (
            ("--id", "patient", "--score", "risk", "--drop", "town", "--drop", "city"),
            "--drop city came, but no table has such a column",
        ),
        (("--score", "risk"), "ours.csv has no 'id' (it has: patient, risk, x0"),
        (("--id", "patient", "--score", "risk"), "leave it out with --drop"),
    ],
)
def test_a_name_that_is_not_there_is_refused(folder, monkeypatch, capsys, options, says):
    assert run(monkeypatch, *OWN, *options, "--out", "out.csv") == 2
    assert says in said(capsys)


def test_all_columns_of_text_are_named_at_once(folder, monkeypatch, capsys):
    ours = pl.read_csv("main.csv")
    more = {"sex": "m", "ward": "east", "town": "Ulm"}
    ours.with_columns(**{name: pl.lit(value) for name, value in more.items()}).write_csv("main.csv")
    assert run(monkeypatch, *USUAL, "--out", "out.csv") == 2
    assert "holds 'm' where numbers were expected (so do 'ward', 'town'); correct it" in said(capsys)


def test_quotes_in_the_name_of_a_column_are_read_as_csv_has_them(folder, monkeypatch):
    names = {"x0": 'size "in"', "x1": 'x,"1'}
    for table in ("main", "theirs"):
        frame = pl.read_csv(f"{table}.csv")
        frame.rename(names, strict=False).write_csv(f"{table}.csv")
        frame.rename(names, strict=False).write_parquet(f"{table}.parquet")
    more = ("--drop", 'x,"1', "--save", "model.npz", "--out")
    assert run(monkeypatch, *USUAL, *more, "text.csv") == 0
    assert 'size "in"' in mf.load("model.npz").fitted_model.main.feature_names
    assert run(monkeypatch, "apply", "model.npz", "main.parquet", "--out", "later.csv") == 0
    assert run(monkeypatch, *(each.replace(".csv", ".parquet") for each in USUAL[:4]), *USUAL[4:], *more, "b.csv") == 0
    assert pl.read_csv("text.csv").equals(pl.read_csv("b.csv"))


@pytest.mark.parametrize("name", ["table", "main", "reference", "better", "worse"])
def test_a_feature_may_have_the_name_of_a_column_of_ids(folder, monkeypatch, name):
    assert run(monkeypatch, *USUAL, "--out", "usual.csv") == 0
    pl.read_csv("main.csv").rename({"x0": name}).write_csv("main.csv")
    assert run(monkeypatch, *USUAL, "--out", "named.csv") == 0
    assert pl.read_csv("named.csv").equals(pl.read_csv("usual.csv"))


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_of_two_columns_the_one_that_was_named_is_the_id(folder, monkeypatch, capsys):
    pl.read_csv("ours.csv").with_columns(pl.col("x0").alias("id")).write_csv("both.csv")
    arguments = ("refine", "both.csv", "--reference", "partner.tsv", "--id", "patient", "--score", "risk")
    assert run(monkeypatch, *arguments, "--drop", "town", "--out", "out.csv") == 0
    assert "both.csv has 'id' beside 'patient', which was named as the id; it is left out." in said(capsys)
    assert run(monkeypatch, *arguments, "--drop", "town", "--drop", "id", "--out", "dropped.csv") == 0
    assert "beside" not in said(capsys)
    assert pl.read_csv("out.csv").equals(pl.read_csv("dropped.csv"))
    assert run(monkeypatch, *OWN, "--id", "patient", "--score", "patient", "--out", "out.csv") == 2
    assert "--id and --score both name the column 'patient'" in " ".join(capsys.readouterr().err.split())


def test_a_column_has_its_role_in_every_kind_of_table(folder, monkeypatch):
    """One file of scores and labels; a label called score; a partner with a further column that is dropped."""
    table = pl.read_csv("ours.csv").join(pl.read_parquet("outcomes.parquet"), on="patient", how="left")
    table.with_columns(pl.col("outcome").fill_null(0.0)).write_csv("all.csv")
    partner = pl.read_csv("partner.tsv", separator="\t").with_columns(pl.lit("x").alias("ward"))
    partner.write_csv("partner.tsv", separator="\t")
    arguments = ("refine", "all.csv", "--reference", "partner.tsv", "--labels", "outcomes.parquet", *CALLED)
    assert run(monkeypatch, *arguments, "--drop", "ward", "--save", "model.npz", "--out", "out.csv") == 0
    assert mf.load("model.npz").main.feature_names == tuple(f"x{k}" for k in range(6))
    # Columns that were left out are known, so that no warning names them.
    assert len(mf.load("model.npz").apply(pl.read_csv("all.csv"))) == len(table)
    pl.read_csv("known.csv").rename({"label": "score"}).write_csv("scores.csv")
    (folder / "names.toml").write_text('label = ["score"]\n')
    more = ("--labels", "scores.csv", "--config", "names.toml", "--out", "out.csv")
    assert run(monkeypatch, *USUAL[:4], *more) == 0


def test_ids_keep_their_zeros_under_any_name(folder, monkeypatch):
    for name in ("ours.csv", "partner.tsv"):
        separator = "\t" if name.endswith("tsv") else ","
        table = pl.read_csv(name, separator=separator)
        numbers = pl.col("patient").str.replace("^m", "001").str.replace("^[^0-9]+", "002")
        table.with_columns(numbers).write_csv(name, separator=separator)
    arguments = ("refine", "ours.csv", "--reference", "partner.tsv", *CALLED[:4], "--drop", "town", "--same-target")
    assert run(monkeypatch, *arguments, "--out", "out.csv") == 0
    assert pl.read_csv("out.csv", infer_schema=False)["patient"].str.starts_with("00").all()


@pytest.mark.parametrize("ordered", [False, True])
def test_labels_of_other_rows_are_counted_and_left_out(ordered):
    case = draw(0)
    labels = case.labels()
    strangers = np.array([f"other {row}" for row in range(7)])
    if ordered:
        rows = case.labelled[np.argsort(case.truth[case.labelled])]
        better, worse = case.main.keys[rows[30:]], case.main.keys[rows[:30]]
        labels = mf.RankLabels.from_pairs(better, worse)
        more = mf.RankLabels.from_pairs([*better, *strangers], [*worse, *better[:7]])
    else:
        more = mf.RankLabels([*labels.keys, *strangers], [*labels.grades, *np.arange(7)])
    with pytest.warns(mf.ManifuseWarning, match="^7 .*first: 'other 0', where main has ids like 'm0'.*left out, "):
        found = mf.refine(case.main, case.references, more, rng=0)
    np.testing.assert_array_equal(found.scores, mf.refine(case.main, case.references, labels, rng=0).scores)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_another_separator_is_found_and_changes_nothing(folder, monkeypatch, separator):
    assert run(monkeypatch, *USUAL, "--out", "usual.csv") == 0
    for name in ("main", "known"):
        pl.read_csv(f"{name}.csv").write_csv(f"{name}.csv", separator=separator)
    assert run(monkeypatch, *USUAL, "--out", "other.csv") == 0
    assert (folder / "other.csv").read_bytes() == (folder / "usual.csv").read_bytes()


def test_a_comma_in_a_name_between_quotes_is_no_separator(folder, monkeypatch):
    assert run(monkeypatch, *USUAL, "--out", "usual.csv") == 0
    pl.read_csv("main.csv").rename({"x0": "weight, kg"}).write_csv("main.csv", separator=";", quote_style="always")
    assert run(monkeypatch, *USUAL, "--out", "other.csv") == 0
    assert (folder / "other.csv").read_bytes() == (folder / "usual.csv").read_bytes()


def test_what_was_read_is_said_before_the_verdict(folder, monkeypatch, capsys):
    assert run(monkeypatch, *USUAL, "--out", "usual.csv") == 0
    said = capsys.readouterr()
    assert said.err.splitlines() == [
        "main: 160 rows, 6 features (x0, x1, x2, x3, x4, x5)",
        "theirs: 160 rows, 6 features (x0, x1, x2, x3, x4, x5)",
        "labels: 60 labelled rows",
    ]
    pl.read_csv("known.csv").with_columns(group=pl.int_range(60) % 7).write_csv("grouped.csv")
    assert run(monkeypatch, *USUAL[:-1], "grouped.csv", "--out", "grouped_out.csv") == 0
    assert "labels: 60 labelled rows in 7 groups" in capsys.readouterr().err.splitlines()
    assert said.out.startswith("The scores of “main” were refined")


@pytest.mark.parametrize(
    "name, warned",
    [
        ("fold", True),
        ("Outcome", True),
        ("visit_id", True),
        ("unnamed", True),
        ("original", True),
        ("fluid", False),
        ("age", False),
    ],
)
@pytest.mark.filterwarnings("default::manifuse.errors.ManifuseWarning")
def test_columns_that_are_named_like_no_features_are_warned_of(folder, monkeypatch, capsys, name, warned):
    pl.read_csv("main.csv").rename({"x0": name}).write_csv("main.csv")
    assert run(monkeypatch, *USUAL, "--out", "usual.csv") == 0
    assert (f"labels, folds, ids or results ({name})" in capsys.readouterr().err) is warned
    # Whoever chooses the features is not warned.
    assert run(monkeypatch, *USUAL, "--features", ".", "--out", "usual.csv") == 0
    assert "labels, folds, ids or results" not in capsys.readouterr().err


def test_a_header_of_any_width_is_read_by_commas(folder, monkeypatch):
    assert run(monkeypatch, *USUAL, "--out", "usual.csv") == 0
    wide = {f"x{k}": f"ENSG{k:070000}" for k in range(2)}
    pl.read_csv("main.csv").rename(wide).write_csv("main.csv")
    assert run(monkeypatch, *USUAL, "--out", "other.csv") == 0
    assert (folder / "other.csv").read_bytes() == (folder / "usual.csv").read_bytes()


@pytest.mark.parametrize("other", ["x0", "weight, kg"])
def test_a_separator_is_found_without_a_column_that_is_known(folder, monkeypatch, capsys, other):
    names = {"id": "who", "score": "risk", "x0": other}
    pl.read_csv("main.csv").rename(names).write_csv("main.csv", separator=";", quote_style="never")
    assert run(monkeypatch, *USUAL, "--out", "out.csv") == 2
    assert "main.csv has no 'id' (it has: who, risk, " in " ".join(capsys.readouterr().err.split())


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_ids_with_a_fraction_of_zero_stay_as_they_are_and_are_told_of(folder, monkeypatch, capsys):
    """Data frames write a column of whole numbers that has gaps as 1447.0; 250.0 may be a code beside 250.5."""
    table = pl.read_csv("main.csv").with_columns(pl.Series("id", [f"{1000 + row}" for row in range(160)]))
    theirs = table.select("id", pl.col("score") + pl.col("x0"), "x1", "x2").head(100)
    table.write_csv("numbers.csv")
    theirs.with_columns(pl.col("id") + ".0").write_csv("theirs.csv")
    assert run(monkeypatch, "refine", "numbers.csv", "--reference", "theirs.csv", "--out", "out.csv") == 2
    assert (
        "100 more ids of theirs would be equal to ids of numbers if both wrote whole numbers in one way"
        in " ".join(capsys.readouterr().err.split())
    )
    mixed = theirs.with_columns(pl.when(pl.int_range(100) < 50).then(pl.col("id") + ".0").otherwise("id").alias("id"))
    mixed.write_csv("theirs.csv")
    assert run(monkeypatch, "refine", "numbers.csv", "--reference", "theirs.csv", "--out", "mixed.csv", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["references"][0]["pairs"] == 50
    assert [each["code"] for each in said["warnings"]] == ["spelling_of_ids"]


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
@pytest.mark.parametrize("chosen", [(), ("--features", "x")])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_nightly_job_is_not_warned_of_what_the_fit_left_out(folder, monkeypatch, capsys, chosen, ending):
    table = pl.read_csv("main.csv").with_row_index("row")
    further = () if chosen else ("--drop", "age")
    every = table.with_columns(pl.lit(1.5).alias("age"))
    getattr(every, f"write_{ending}")(f"main.{ending}")
    given = ("refine", f"main.{ending}", "--reference", "theirs.csv", "--labels", "known.csv", *chosen, *further)
    assert run(monkeypatch, *given, "--out", "out.csv", "--save", "model.npz") == 0
    nightly = ("apply", "model.npz", f"main.{ending}", "--strict", "--out", "night.csv")
    assert run(monkeypatch, *nightly) == 0, said(capsys)
    assert pl.read_csv("night.csv").equals(pl.read_csv("out.csv"))
    # A column that is new is told of.
    getattr(every.with_columns(pl.lit(1.5).alias("weight")), f"write_{ending}")(f"main.{ending}")
    capsys.readouterr()
    assert run(monkeypatch, *nightly) == 3
    assert "weight" in said(capsys)
    table.drop("row").write_csv("bare.csv")
    assert run(monkeypatch, "apply", "model.npz", "bare.csv", "--strict", "--out", "bare-night.csv") == 0
    frame = every.to_pandas() if ending == "csv" else every
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mf.load("model.npz").apply(frame)


@pytest.mark.parametrize("renamed", [{"patient": "id"}, {"risk": "score"}])
@pytest.mark.parametrize("ending", ["csv", "h5ad"])
def test_later_rows_have_the_names_of_the_fit_and_not_our_own(folder, monkeypatch, capsys, renamed, ending):
    """A column called `score` may be another quantity than the one that was fitted."""
    assert run(monkeypatch, *OWN, *CALLED, "--out", "own.csv", "--save", "model.npz") == 0
    later = pl.read_csv("ours.csv").rename(renamed)
    if ending == "csv":
        later.write_csv("later.csv")
        missing = next(iter(renamed))
    else:
        anndata = pytest.importorskip("anndata")
        missing, frame = "risk", later.to_pandas().drop(columns="town")
        frame.index = frame.iloc[:, 0].astype(str)
        obs = frame[["score"]] if "score" in frame else frame[["risk"]].rename(columns={"risk": "score"})
        anndata.AnnData(obs=obs, obsm={"X": frame.filter(like="x")}).write_h5ad("later.h5ad")
    capsys.readouterr()
    assert run(monkeypatch, "apply", "model.npz", f"later.{ending}", "--out", "out.csv") == 2
    assert f"no {'column ' if ending == 'csv' else ''}'{missing}'" in said(capsys)
    assert not (folder / "out.csv").exists()


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_later_ids_that_are_spelled_otherwise_are_told_of(folder, monkeypatch, capsys):
    """A spreadsheet took the leading zeros, so no row is known to be one of the fit."""
    table = pl.read_csv("main.csv").with_columns(pl.Series("id", [f"0{1000 + row}" for row in range(160)]))
    theirs = table.select("id", pl.col("score") + pl.col("x0")).head(100)
    table.write_csv("main.csv")
    theirs.write_csv("theirs.csv")
    assert run(monkeypatch, *USUAL[:4], "--out", "out.csv", "--save", "model.npz") == 0
    table.with_columns(pl.col("id").str.strip_prefix("0")).write_csv("later.csv")
    capsys.readouterr()
    assert run(monkeypatch, "apply", "model.npz", "later.csv", "--strict", "--out", "night.csv") == 3
    assert "160 more ids of later would be equal to ids of main if both wrote leading zeros in one way" in said(capsys)


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_an_index_without_a_name_is_left_out_as_one_says(folder, monkeypatch, capsys):
    """As pandas writes it. Then nothing is unsure."""
    for name in ("main", "theirs"):
        table = pl.read_csv(f"{name}.csv")
        table.insert_column(0, pl.Series("", np.arange(len(table)))).write_csv(f"{name}.csv")
    strict = (*USUAL[:4], "--strict", "--save", "model.npz")
    assert run(monkeypatch, *strict, "--out", "out.csv") == 3
    assert "Name them with --drop (one without a name as '') if that is right" in said(capsys)
    assert run(monkeypatch, *strict, "--drop", "", "--out", "again.csv") == 0
    assert pl.read_csv("again.csv").equals(pl.read_csv("out.csv"))
    assert run(monkeypatch, "refine", "--config", "again.run.toml", "--strict", "--out", "again.csv") == 0


def test_features_are_chosen_where_there_are_some(folder, monkeypatch):
    """A reference of ids and scores alone has none to choose from."""
    theirs = pl.read_csv(folder / "theirs.csv").select("id", "score")
    theirs.write_csv(folder / "theirs.csv")
    assert run(monkeypatch, *USUAL, "--features", "x[0-5]", "--out", "chosen.csv") == 0
    assert run(monkeypatch, *USUAL, "--out", "usual.csv") == 0
    assert (folder / "chosen.csv").read_bytes() == (folder / "usual.csv").read_bytes()


@pytest.mark.filterwarnings("ignore:.*are named like labels:manifuse.errors.ManifuseWarning")
@pytest.mark.parametrize("columns", [("label",), ("label", "group"), ("better", "worse")])
def test_columns_called_like_labels_are_features_unless_the_labels_have_them(folder, columns):
    main, theirs = (pl.read_csv(f"{name}.csv").rename({"x0": "group", "x1": "label"}) for name in ("main", "theirs"))
    known, places = pl.read_csv("known.csv"), np.arange(60)
    ranked = known.sort("label")["id"]
    halves = {"better": pl.concat([ranked[30:]] * 2), "worse": pl.concat([ranked[:30], ranked[1:30], ranked[:1]])}
    known = known.with_columns(group=pl.Series(places % 9), **halves).select("id", *columns)
    for table, name in ((main, "main"), (theirs, "theirs"), (known, "known")):
        table.write_csv(f"{name}.csv")
    features = [name for name in main.columns[2:] if name not in columns]
    by_files = mf.refine_files("main.csv", ["theirs.csv"], "known.csv", out="refined.csv", rng=0)
    by_frames = mf.refine(main, [theirs], known, rng=0)
    for result in (by_files, by_frames):
        assert list(result.main.feature_names) == features
    np.testing.assert_allclose(by_files.scores, by_frames.scores, rtol=1e-12)
    assert mf.explain(by_frames, "m3", [theirs], labels=None if "better" in columns else known).rows.body
    if columns == ("label",):
        labels = mf.RankLabels(known["id"], known["label"])
        assert list(mf.refine(main, [theirs], labels, rng=0).main.feature_names) == features


def test_names_of_a_reference_may_be_given_where_the_main_table_has_none(folder, monkeypatch, capsys):
    """An archive and a table of classes have no column that could be called otherwise."""
    table = pl.read_csv("main.csv")
    np.savez("main.npz", ids=table["id"].to_numpy().astype(str), scores=table["score"], features=table[:, 2:])
    pl.read_csv("theirs.csv").rename({"id": "mrn", "score": "points"}).write_csv("other.csv")
    archive = ("refine", "main.npz", "--reference", "other.csv", "--out", "out.csv")
    assert run(monkeypatch, *archive, "--id", "mrn", "--score", "points") == 0
    assert run(monkeypatch, "refine", "main.csv", "--reference", "theirs.csv", "--out", "usual.csv") == 0
    np.testing.assert_allclose(pl.read_csv("out.csv")["score"], pl.read_csv("usual.csv")["score"], rtol=1e-9)
    capsys.readouterr()
    assert run(monkeypatch, "refine", "main.npz", "--reference", "theirs.csv", "--out", "out.csv", "--id", "mrn") == 2
    assert "--id mrn came, but no table has such a column" in said(capsys)
    bare = ("refine", "main.npz", "--reference", "theirs.csv", "--out", "out.csv", "--score", "points")
    assert run(monkeypatch, *bare) == 2
    assert "--score points came, but no table has such a column" in said(capsys)
    risk = 1.0 / (1.0 + np.exp(-table["score"]))
    features = table.drop("id", "score")
    features.insert_column(0, table["id"]).with_columns(p_no=1.0 - risk, p_yes=risk).write_csv("classes.csv")
    classes = ("refine", "classes.csv", "--reference", "other.csv", "--classes", "p_(.*)", "--out", "out.csv")
    pl.read_csv("other.csv").rename({"mrn": "id"}).write_csv("other.csv")
    assert run(monkeypatch, *classes, "--score", "points") == 0
    assert pl.read_csv("out.csv").columns[3:5] == ["p_no", "p_yes"]


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
@pytest.mark.parametrize("named", [(), ("--id", "patient", "--score", "risk")])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_later_rows_may_have_our_own_names_beside_those_of_the_fit(folder, monkeypatch, capsys, ending, named):
    assert run(monkeypatch, *OWN, *CALLED, "--out", "out.csv", "--save", "model.npz") == 0
    new = pl.read_csv("ours.csv").with_columns(pl.format("later {}", "patient").alias("patient"))
    further = new.with_columns(pl.col("x0").alias("score"), pl.lit("x").alias("id"))
    for table, name in ((new, "new"), (further, "further")):
        getattr(table, f"write_{ending}")(f"{name}.{ending}")
        capsys.readouterr()
        assert run(monkeypatch, "apply", "model.npz", f"{name}.{ending}", *named, "--out", f"{name}-out.csv") == 0
        told = said(capsys)
        assert ("has 'score' beside 'risk', which was named as the score; it is left out" in told) is (name != "new")
        assert ("has 'id' beside 'patient', which was named as the id; it is left out" in told) is (name != "new")
    assert pl.read_csv("new-out.csv").equals(pl.read_csv("further-out.csv"))


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_features_of_a_later_archive_have_no_names_and_that_is_told(folder, monkeypatch, capsys):
    assert run(monkeypatch, *USUAL, "--out", "out.csv", "--save", "model.npz") == 0
    table = pl.read_csv("main.csv")
    ids = np.char.add("later ", table["id"].to_numpy().astype(str))
    np.savez("new.npz", ids=ids, scores=table["score"], features=table[:, 2:])
    assert run(monkeypatch, "apply", "model.npz", "new.npz", "--out", "applied.csv", "--strict") == 3
    assert "because those of new have no names; check it." in said(capsys)
    assert run(monkeypatch, "apply", "model.npz", "new.npz", "--id", "mrn", "--out", "applied.csv") == 2
    assert "--id mrn came, but no table has such a column" in said(capsys)


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_what_is_called_label_beside_the_labels_is_no_feature(folder, monkeypatch, capsys):
    table = pl.read_csv("main.csv").join(pl.read_csv("known.csv"), on="id", how="left")
    table.rename({"label": "outcome"}).with_columns(label=pl.col("x0") ** 2).write_csv("main.csv")
    arguments = ("refine", "main.csv", "--reference", "theirs.csv", "--labels", "main.csv", "--label", "outcome")
    assert run(monkeypatch, *arguments, "--out", "out.csv", "--save", "model.npz") == 0
    assert "main.csv has 'label' beside 'outcome', which was named as the label; it is left out." in said(capsys)
    features = mf.load("model.npz").fitted_model.main.feature_names
    assert features == tuple(f"x{k}" for k in range(6))
    frame = pl.read_csv("main.csv", infer_schema_length=None)
    result = mf.refine(frame, [pl.read_csv("theirs.csv")], frame, rng=0, label="outcome")
    assert result.main.feature_names == features


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_a_column_of_another_role_is_not_said_to_be_left_out(folder, monkeypatch, capsys):
    pl.read_csv("main.csv").rename({"score": "risk", "id": "score"}).write_csv("swapped.csv")
    pl.read_csv("theirs.csv").rename({"score": "risk", "id": "score"}).write_csv("theirs.csv")
    swapped = ("refine", "swapped.csv", "--reference", "theirs.csv", "--id", "score", "--score", "risk")
    assert run(monkeypatch, *swapped, "--out", "out.csv") == 2
    told = said(capsys)
    assert "a name that the output has" in told
    assert "left out" not in told


def test_later_rows_may_have_one_of_several_names(folder, monkeypatch):
    pl.read_csv("theirs.csv").rename({"id": "mrn", "score": "points"}).write_csv("other.csv")
    names = ("--id", "patient", "--id", "mrn", "--score", "points", "--score", "risk")
    own = ("refine", "ours.csv", "--reference", "other.csv", *names, "--drop", "town")
    assert run(monkeypatch, *own, "--out", "out.csv", "--save", "model.npz") == 0
    table = pl.read_csv("ours.csv").with_columns(pl.format("later {}", "patient").alias("patient"))
    table.write_csv("new.csv")
    assert run(monkeypatch, "apply", "model.npz", "new.csv", *names, "--out", "applied.csv") == 0


def test_of_two_named_columns_of_the_labels_one_can_be_left_out(folder, monkeypatch, capsys):
    pl.read_csv("known.csv").with_columns(pat=pl.lit("x")).write_csv("wide.csv")
    wide = ("refine", "main.csv", "--reference", "theirs.csv", "--labels", "wide.csv", "--id", "pat", "--id", "id")
    assert run(monkeypatch, *wide, "--out", "out.csv") == 2
    assert "both would be the id; leave one of them out with --drop id or --drop pat" in said(capsys)
    assert run(monkeypatch, *wide, "--drop", "pat", "--out", "out.csv") == 0


@pytest.mark.parametrize(
    "text, says",
    [("1.5", "convert it to numbers"), ("yes", "the larger one for what means more, such as 1 for yes and 0 for no")],
)
def test_truth_as_text_is_refused_with_what_to_do(folder, text, says):
    labels = pl.read_csv("known.csv").with_columns(label=pl.lit(text))
    with pytest.raises(mf.InputError, match=says):
        mf.refine(pl.read_csv("main.csv"), [pl.read_csv("theirs.csv")], labels, rng=0)


def rewritten(name, change):
    """Change the lines of a file below its header."""
    head, *lines = Path(name).read_text().splitlines()
    Path(name).write_text("\n".join([head, *map(change, lines)]) + "\n")


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_what_r_writes_for_missing_values_among_numbers_is_missing(folder, monkeypatch, capsys):
    """In a row of the main table it is as if the row were not there; a row without a label teaches nothing."""
    without = pl.read_csv("main.csv").filter(pl.col("id") != "m7")
    without.write_csv("without.csv")
    rewritten("main.csv", lambda line: "m7,NA" + line[line.index(",", 3) :] if line.startswith("m7,") else line)
    known = pl.read_csv("known.csv")
    first = known["id"][0]
    known.filter(pl.col("id") != first).write_csv("fewer.csv")
    rewritten("known.csv", lambda line: f"{first},NA" if line.startswith(f"{first},") else line)
    given = ["refine", "main.csv", "--reference", "theirs.csv", "--labels", "known.csv", "--out"]
    assert run(monkeypatch, *given, "no.csv") == 2
    assert "NaN or infinite" in said(capsys)
    assert run(monkeypatch, *given, "a.csv", "--drop-invalid") == 0
    given = ["refine", "without.csv", "--reference", "theirs.csv", "--labels", "fewer.csv", "--out", "b.csv"]
    assert run(monkeypatch, *given) == 0
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_missing_values_of_r_may_stand_between_decimal_commas_and_no_other_text(folder, monkeypatch, capsys):
    first = pl.read_csv("main.csv")["x0"][0]
    text = (folder / "main.csv").read_text()
    (folder / "commas.csv").write_text(text.replace(f"{first}", "NA").replace(",", ";").replace(".", ","))
    (folder / "points.csv").write_text(text.replace(f"{first}", ""))
    for name in ("commas", "points"):
        given = ["refine", f"{name}.csv", "--reference", "theirs.csv", "--drop-invalid", "--out", f"{name}_out.csv"]
        assert run(monkeypatch, *given) == 0
        assert "1 of 160 rows" in said(capsys)
    assert (folder / "commas_out.csv").read_bytes() == (folder / "points_out.csv").read_bytes()
    second = pl.read_csv("main.csv")["x0"][1]
    (folder / "text.csv").write_text(text.replace(f"{first}", "NA").replace(f"{second}", "high"))
    assert run(monkeypatch, "refine", "text.csv", "--reference", "theirs.csv", "--out", "no.csv") == 2
    assert "holds 'high' where numbers were expected" in said(capsys)


def test_a_limit_among_labels_has_a_remedy(folder, monkeypatch, capsys):
    rewritten("known.csv", lambda line: line.replace(",", ",<"))
    given = ["refine", "main.csv", "--reference", "theirs.csv", "--labels", "known.csv", "--out", "a.csv"]
    assert run(monkeypatch, *given) == 2
    assert "write the limit as a number (errors that labels report are then too small)" in said(capsys)


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
@pytest.mark.parametrize("name, told", [("group", False), ("ward", True), ("note", False)])
def test_text_beside_labels_that_repeats_may_be_groups(folder, monkeypatch, capsys, name, told):
    known = pl.read_csv("known.csv")
    values = [f"w{row % 6 if name != 'note' else row}" for row in range(len(known))]
    known.with_columns(pl.Series(name, values)).write_csv("known.csv")
    given = ["refine", "main.csv", "--reference", "theirs.csv", "--labels", "known.csv", "--out", "a.csv"]
    assert run(monkeypatch, *given) == 0
    assert ("call it group if rows" in said(capsys)) is told
    assert run(monkeypatch, *given, "--drop", name) == 0
    assert "call it" not in said(capsys)


def test_row_names_without_a_column_name_may_be_ids(folder, monkeypatch):
    for name in ("main.csv", "theirs.csv", "known.csv"):
        text = (folder / name).read_text()
        (folder / f"r_{name}").write_text(text.replace("id,", ",", 1))
    given = ["refine", "main.csv", "--reference", "theirs.csv", "--labels", "known.csv", "--out", "a.csv"]
    assert run(monkeypatch, *given) == 0
    given = ["refine", "r_main.csv", "--reference", "r_theirs.csv", "--labels", "r_known.csv", "--out", "b.csv"]
    assert run(monkeypatch, *given, "--id", "") == 0
    assert (folder / "b.csv").read_text().replace('""', "id", 1) == (folder / "a.csv").read_text()
