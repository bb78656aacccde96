"""Files refined from Python: what cannot be used is refused in a sentence, and nothing is written."""

from pathlib import Path

import polars as pl
import pytest
from tests.problems import draw, write_tables

import manifuse as mf

GIVEN = {"main": "main.csv", "references": "theirs.csv", "rng": 0, "out": "out.csv"}


@pytest.fixture(autouse=True)
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = draw(0)
    write_tables(made)
    return made


def refused(call, says):
    before = sorted(Path().iterdir())
    with pytest.raises(mf.InputError, match=says):
        call()
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("name", ["main", "references", "out", "labels", "pairs"])
def test_what_is_no_path_is_refused(case, name):
    says = "Observations came where a path was expected; give the path of a file."
    refused(lambda: mf.refine_files(**{**GIVEN, name: case.main}), says)


@pytest.mark.parametrize(
    "name, value, says",
    [
        ("method", "exact", "str came where JointDiffusion was expected"),
        ("features", 3, "int came where str was expected"),
        ("rng", "a", "rng='a' came"),
        ("backend", "cuda", "str came where Backend was expected"),
        ("scale", "percent", "scale='percent' came"),
        ("id", "patient", "main.csv has no column 'patient' for its id, but only"),
        ("out", "main.csv", "main.csv"),
    ],
)
def test_an_argument_that_cannot_be_used_is_refused(name, value, says):
    refused(lambda: mf.refine_files(**{**GIVEN, name: value}), says)


def test_what_cannot_be_applied_is_refused(case):
    result = mf.refine(case.main, case.references[:1], rng=0)
    refused(lambda: mf.apply_files("model.npz", "main.csv", "out.csv"), "str came where Refinement was expected")
    refused(lambda: mf.apply_files(result, case.main, "out.csv"), "Observations came where a path was expected")
    refused(lambda: mf.apply_files(result, "main.csv", None), "NoneType came where a path was expected")


def test_one_name_of_a_column_needs_no_list():
    for name in ("main.csv", "theirs.csv"):
        pl.read_csv(name).rename({"id": "patient"}).write_csv(name)
    mf.refine_files(**GIVEN, id=["patient"])
    expected = Path("out.csv").read_bytes()
    mf.refine_files(**GIVEN, id="patient")
    assert Path("out.csv").read_bytes() == expected


@pytest.mark.filterwarnings("always::manifuse.ManifuseWarning")
def test_text_that_a_spreadsheet_would_run_is_escaped_as_the_warning_says(case):
    for name in ("main.csv", "theirs.csv"):
        pl.read_csv(name).with_columns(pl.format("={}", "id").alias("id")).write_csv(name)
    with pytest.warns(mf.ManifuseWarning, match="set `escape_formulas`"):
        result = mf.refine_files(**GIVEN)
    mf.refine_files(**{**GIVEN, "out": "refined.csv"}, escape_formulas=True)
    mf.apply_files(result, "main.csv", "applied.csv", escape_formulas=True)
    plain = pl.read_csv("out.csv")["id"]
    for name in ("refined.csv", "applied.csv"):
        assert pl.read_csv(name)["id"].to_list() == [f"'{each}" for each in plain]


@pytest.mark.filterwarnings("ignore:Features are taken in the order:manifuse.ManifuseWarning")
def test_rows_that_were_not_fitted_are_named_as_such(case):
    for name in ("main", "theirs"):
        pl.read_csv(f"{name}.csv").write_parquet(f"{name}.parquet")
    pl.DataFrame({"id": case.labels().keys, "label": case.labels().grades}).write_parquet("known.parquet")
    method = mf.JointDiffusion(fitted_rows=120)
    result = mf.refine_files("main.parquet", "theirs.parquet", "known.parquet", method, rng=0, out="out.parquet")
    (other, *_) = sorted(set(case.main.keys) - set(result.main.keys))
    says = f"'{other}' among the 120 rows that were fitted; give ids of these, or the row as `later`"
    for call in (lambda: mf.explain(result, other), lambda: result.probability([other], result.main.keys[:1])):
        with pytest.raises(mf.InputError, match=says):
            call()
    assert mf.explain(result, other, later=case.main).sentences
