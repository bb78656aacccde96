"""``manifuse apply``: a saved refinement is applied to rows that came later."""

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.problems import draw, write_table

import manifuse as mf
from manifuse.cli import app
from manifuse.cli.apply_command import told_of


def columns(table, rows, names):
    features = {f"x{k}": column for k, column in enumerate(table.table[rows].T)}
    return {"id": np.array(names), "score": table.scores[rows], **features}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A main table, a reference, labels, and later rows of which two were in the fit."""
    monkeypatch.chdir(tmp_path)
    case = draw(0, references=1)
    every = np.arange(len(case.main))
    write_table(tmp_path / "main.csv", columns(case.main, every, case.main.keys))
    other = case.references[0]
    write_table(tmp_path / "theirs.csv", columns(other, np.arange(len(other)), other.keys))
    pl.DataFrame({"id": case.labels().keys, "label": case.labels().grades}).write_csv("known.csv")
    names = [*case.main.keys[:2], *(f"later {row}" for row in range(8))]
    write_table(tmp_path / "new.csv", columns(case.main, every[:10], names))
    return tmp_path


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["manifuse", *arguments])
    try:
        app.main()
    except SystemExit as leave:
        return int(leave.code or 0), capsys.readouterr()
    return 0, capsys.readouterr()


#: What `fit` wrote, by the names of the files.
FITTED = {}


def fit(capsys, monkeypatch):
    """Refine the tables of the folder, once for all tests."""
    if not FITTED:
        done, said = run(
            capsys,
            monkeypatch,
            *("refine", "main.csv", "--reference", "theirs.csv", "--labels", "known.csv"),
            *("--out", "refined.csv", "--save", "model.npz"),
        )
        assert done == 0, said.err
        FITTED.update((name, Path(name).read_bytes()) for name in ("refined.csv", "model.npz"))
    for name, content in FITTED.items():
        Path(name).write_bytes(content)


def test_later_rows_equal_those_of_the_library(folder, capsys, monkeypatch):
    fit(capsys, monkeypatch)
    done, said = run(capsys, monkeypatch, "apply", "model.npz", "new.csv", "--out", "out.csv", "--json")
    assert done == 0, said.err
    summary = json.loads(said.out)
    assert (summary["rows"], summary["already_fitted"]) == (10, 2)
    out, refined = pl.read_csv("out.csv"), pl.read_csv("refined.csv")
    assert out.columns == ["id", "score", "original", "support", "uncertainty"]
    np.testing.assert_allclose(out["score"][:2], refined["score"][:2], rtol=1e-12)
    table = pl.read_csv("new.csv")
    new = mf.Observations(table["score"], table.drop("id", "score"), ids=table["id"])
    np.testing.assert_allclose(out["score"], mf.load("model.npz").apply(new).to_numpy(), rtol=1e-12)
    np.testing.assert_allclose(out["uncertainty"], mf.load("model.npz").apply_in_full(new).uncertainty, rtol=1e-12)
    np.testing.assert_allclose(out["uncertainty"][:2], refined["uncertainty"][:2], rtol=1e-12)


@pytest.mark.filterwarnings("default::manifuse.ManifuseWarning")
@pytest.mark.parametrize("more", [(), ("--drop-invalid",)])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_without_rows_gives_one(folder, capsys, monkeypatch, ending, more):
    fit(capsys, monkeypatch)
    none = pl.read_csv("new.csv").head(0)
    none.write_csv("none.csv") if ending == "csv" else none.write_parquet("none.parquet")
    apply = ("apply", "model.npz", f"none.{ending}", "--out", f"out.{ending}", "--strict", *more)
    done, said = run(capsys, monkeypatch, *apply)
    assert (done, f"none.{ending} has no rows" in said.err) == (3, True)
    out = pl.read_csv("out.csv") if ending == "csv" else pl.read_parquet("out.parquet")
    assert out.columns == ["id", "score", "original", "support", "uncertainty"]
    assert len(out) == 0


def test_without_references_nothing_is_said_of_support(folder, capsys, monkeypatch):
    alone = ("refine", "main.csv", "--labels", "known.csv", "--out", "refined.csv")
    assert run(capsys, monkeypatch, *alone, "--save", "alone.npz")[0] == 0
    apply = ("apply", "alone.npz", "new.csv", "--out", "out.csv")
    assert run(capsys, monkeypatch, *apply)[1].out == "10 rows written to out.csv; 2 of them were in the fit.\n"
    done, said = run(capsys, monkeypatch, *apply, "--json")
    assert done == 0, said.err
    assert json.loads(said.out)["little_support"] is None


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("apply", "nowhere.npz", "new.csv", "--out", "out.csv"), "nowhere.npz is not there"),
        (("apply", "main.csv", "new.csv", "--out", "out.csv"), "main.csv is not a saved refinement"),
        (("apply", "model.npz", "nowhere.csv", "--out", "out.csv"), "nowhere.csv is not there"),
        (("apply", "model.npz", "known.csv", "--out", "out.csv"), "has no 'score'"),
        (("apply", "model.npz", "new.csv", "--out", "out.txt"), "ends in '.txt'"),
        (
            ("apply", "model.npz", "new.csv", "--features", "x[01]$", "--out", "out.csv"),
            "lacks the features 'x2', 'x3'",
        ),
        (("apply", "model.npz", "new.csv", "--drop", "x9", "--out", "out.csv"), "--drop x9 came, but no table has"),
        (("refine", "main.csv", "--reference", "theirs.csv", "--out", "o.csv", "--save", "m.pkl"), "end in .npz"),
        (("refine", "main.csv", "--reference", "theirs.csv", "--out", "o.csv", "--save", "no/m.npz"), "is not there"),
    ],
)
def test_what_cannot_be_applied_is_refused_and_nothing_written(arguments, says, folder, capsys, monkeypatch):
    fit(capsys, monkeypatch)
    before = sorted(path.name for path in folder.iterdir())
    done, said = run(capsys, monkeypatch, *arguments)
    assert done == 2
    assert says in said.err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("drop", [[], ["--drop-invalid"]])
@pytest.mark.parametrize(
    "given, shapes, says",
    [
        ("new.npz", ((6,), (6,), (8, 6)), "new has 6 scores but 8 feature rows"),
        ("new.npz", ((6,), (6,), (5, 6)), "new has 6 scores but 5 feature rows"),
        ("new.npz", ((6,), (8,), (6, 6)), "new has 8 scores but 6 ids"),
        ("new.npz", ((6,), (), (6, 6)), "new has 1 scores but 6 ids"),
        ("new.npz::more.npy", ((6,), (6,), (6, 6)), "new has 6 scores but 8 feature rows"),
    ],
)
def test_arrays_of_different_lengths_cannot_be_applied(drop, given, shapes, says, folder, capsys, monkeypatch):
    fit(capsys, monkeypatch)
    ids, scores, features = (np.arange(np.prod(shape), dtype=float).reshape(shape) for shape in shapes)
    np.savez("new.npz", ids=ids.astype(int), scores=scores, features=features)
    np.save("more.npy", np.zeros((8, 6)))
    done, said = run(capsys, monkeypatch, "apply", "model.npz", given, "--out", "out.csv", *drop)
    assert done == 2
    assert says in " ".join(said.err.split())
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize(
    "scores, features, says",
    [
        (np.full(6, "high"), np.zeros((6, 6)), "The scores of new"),
        (np.zeros((6, 2, 2)), np.zeros((6, 6)), "The scores of new"),
        (np.zeros(6), np.full((6, 6), "wide"), "The features of new"),
        (np.zeros(6), np.zeros((6, 6, 2)), "The features of new"),
        (np.zeros(6), np.float64(5.0), "new has 6 scores but 1 feature rows"),
    ],
)
@pytest.mark.parametrize("drop", [[], ["--drop-invalid"]])
def test_arrays_that_are_no_numbers_cannot_be_applied(drop, scores, features, says, folder, capsys, monkeypatch):
    fit(capsys, monkeypatch)
    np.savez("new.npz", ids=np.arange(6), scores=scores)
    np.save("more.npy", features)
    done, said = run(capsys, monkeypatch, "apply", "model.npz", "new.npz::more.npy", "--out", "out.csv", *drop)
    assert done == 2
    assert says in " ".join(said.err.split())


def test_rows_of_a_refinement_that_was_not_taken_need_their_features_too(folder, capsys, monkeypatch):
    """In a file as in a data frame."""
    other = pl.read_csv("theirs.csv")
    other.with_columns(-pl.col("score")).write_csv("reversed.csv")
    given = (
        "refine",
        "main.csv",
        "--reference",
        "reversed.csv",
        "--out",
        "refined.csv",
        "--save",
        "left.npz",
        "--json",
    )
    done, said = run(capsys, monkeypatch, *given)
    assert (done, json.loads(said.out)["accepted"]) == (0, False)
    assert run(capsys, monkeypatch, "apply", "left.npz", "new.csv", "--out", "out.csv")[0] == 0
    pl.read_csv("new.csv").drop("x1").write_csv("fewer.csv")
    done, said = run(capsys, monkeypatch, "apply", "left.npz", "fewer.csv", "--out", "fewer_out.csv")
    assert done == 2
    assert "fewer lacks the feature 'x1'" in " ".join(said.err.split())


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_columns_are_found_by_name_and_further_ones_ignored(folder, capsys, monkeypatch):
    fit(capsys, monkeypatch)
    assert run(capsys, monkeypatch, "apply", "model.npz", "new.csv", "--out", "out.csv")[0] == 0
    table = pl.read_csv("new.csv")
    table.select(reversed(table.columns)).with_columns(town=pl.lit("Bonn")).write_csv("other.csv")
    done, said = run(capsys, monkeypatch, "apply", "model.npz", "other.csv", "--out", "other-out.csv")
    assert done == 0
    assert "columns that the refinement was fitted without (town); they are ignored" in said.err
    assert pl.read_csv("other-out.csv").equals(pl.read_csv("out.csv"))
    table.rename({"x3": "pressure"}).write_csv("renamed.csv")
    done, said = run(capsys, monkeypatch, "apply", "model.npz", "renamed.csv", "--out", "renamed-out.csv")
    assert done == 2
    assert "renamed lacks the feature 'x3'" in said.err


@pytest.mark.parametrize(
    "rows, unmoved, reason, says",
    [
        (0, 0, "TAUGHT", None),
        (5, 0, "PAIRS", None),
        (5, 2, "TAUGHT", None),
        (5, 2, "PAIRS", "Scores of 2 rows are unchanged: Because."),
        (5, 5, "PAIRS", "Their scores are unchanged: Because."),
        (5, 5, "NO_GAIN", "Their scores are unchanged: Because."),
    ],
)
def test_it_is_said_of_rows_that_stay_why_they_do(rows, unmoved, reason, says):
    counts = {"already_fitted": 0, "changed": 0, "little_support": None}
    said = told_of({"rows": rows, "unmoved": unmoved, "reason": reason, "why": "Because.", **counts}, "out.csv")
    ending = "0 of them were in the fit."
    assert said.endswith(ending if says is None else f"{ending} {says}")
