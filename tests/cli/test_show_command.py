"""``manifuse show``, and what a saved refinement remembers of its tables: names, sizes and checksums, and no rows."""

import hashlib
import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.cli.test_strict import REFINE, case, run, write

import manifuse as mf
from manifuse.run.persistence import FORMAT

__all__ = ["case", "run"]

pytestmark = pytest.mark.filterwarnings("default::manifuse.ManifuseWarning")

NAMED = ("--id", "patient", "--score", "risk", "--drop", "id")


def rename():
    """Give the tables other names of columns, beside an id that is none."""
    for name in ("main.csv", "theirs.csv"):
        table = pl.read_csv(name).rename({"id": "patient", "score": "risk"})
        table.with_columns(id=pl.int_range(len(table))).write_csv(name)


def test_it_says_what_was_read_and_what_later_rows_need(case, run):
    rename()
    known = case.labels()
    pl.DataFrame({"patient": known.keys, "label": known.grades}).write_csv("known.csv")
    status, printed = run(*REFINE, *NAMED, "--labels", "known.csv", "--json")
    assert status == 0
    refined = json.loads(printed)
    facts = json.loads(run("show", "model.npz", "--json")[1])
    assert (facts["format"], facts["version"]) == (FORMAT, version("manifuse"))
    assert facts["date"] == datetime.now(UTC).date().isoformat()
    assert {name: facts[name] for name in ("accepted", "reason", "why")} == {
        name: refined[name] for name in ("accepted", "reason", "why")
    }
    read = [(table["role"], table["name"], table["rows"]) for table in facts["tables"]]
    assert read == [
        ("main", "main", len(case.main)),
        ("reference", "theirs", len(case.references[0])),
        ("labels", "known", len(case.labels())),
    ]
    for table in facts["tables"]:
        content = Path(f"{table['name']}.csv").read_bytes()
        checksum = hashlib.sha256(content).hexdigest()
        assert table["files"] == [{"name": f"{table['name']}.csv", "size": len(content), "sha256": checksum}]
    features = [f"x{k}" for k in range(case.main.table.shape[1])]
    assert facts["expects"]["features"] == features
    assert (facts["expects"]["id"], facts["expects"]["score"]) == ("patient", "risk")
    said = run("show", "model.npz")[1]
    assert (
        f"Later rows need an id (patient), a score (risk) and {len(features)} features ({', '.join(features)})."
        in " ".join(said.split())
    )
    assert f"labels: known, {len(case.labels())} rows" in said
    assert f"  main.csv, {Path('main.csv').stat().st_size:,} bytes, sha256 " in said


def test_later_rows_are_found_under_the_names_of_the_main_table(case, run):
    rename()
    assert run(*REFINE, *NAMED)[0] == 0
    assert run("apply", "model.npz", "main.csv", "--out", "named.csv", *NAMED)[0] == 0
    assert run("apply", "model.npz", "main.csv", "--out", "remembered.csv")[0] == 0
    assert Path("remembered.csv").read_bytes() == Path("named.csv").read_bytes()
    result = mf.load("model.npz")
    assert mf.apply_files(result, "main.csv", "in-python.csv") == len(case.main)
    assert Path("in-python.csv").read_bytes() == Path("named.csv").read_bytes()
    pl.read_csv("main.csv").rename({"risk": "danger"}).write_csv("new.csv")
    assert run("apply", "model.npz", "new.csv", "--out", "other.csv")[0] == 2
    assert run("apply", "model.npz", "new.csv", "--out", "other.csv", "--score", "danger")[0] == 0


def test_a_table_with_the_usual_names_is_taken_too(case, run):
    write("new.csv", case.main)
    rename()
    assert run(*REFINE, "--id", "patient", "--score", "risk", "--drop", "id")[0] == 0
    assert run("apply", "model.npz", "new.csv", "--out", "out.csv", "--id", "id")[0] == 2
    assert run("apply", "model.npz", "new.csv", "--out", "out.csv", "--id", "id", "--score", "score")[0] == 0


def test_columns_of_classes_are_remembered(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    noise = np.random.default_rng(0)
    for name in ("main", "theirs"):
        each = noise.dirichlet(np.ones(3), size=60)
        columns = {f"p_{c}": each[:, k] for k, c in enumerate("abc")}
        ids = [f"{name if k % 2 else 'both'}{k}" for k in range(60)]
        pl.DataFrame({"id": ids, **columns, "x": noise.standard_normal(60)}).write_csv(f"{name}.csv")
    assert run(*REFINE, "--classes", "p_(.*)")[0] == 0
    assert run("apply", "model.npz", "main.csv", "--out", "later.csv")[0] == 0
    assert {"p_a", "p_b", "p_c"} <= set(pl.read_csv("later.csv").columns)
    expects = json.loads(run("show", "model.npz", "--json")[1])["expects"]
    assert (expects["classes"], expects["class_columns"], expects["score"]) == (["a", "b", "c"], "p_(.*)", None)
    assert "the probability of a, b, c, columns p_(.*)" in run("show", "model.npz")[1]


def test_of_tables_that_were_in_no_file_it_knows_the_names(case, run):
    result = mf.refine(case.main, case.references, rng=0)
    mf.save(result, "model.npz")
    tables = json.loads(run("show", "model.npz", "--json")[1])["tables"]
    assert [(each["role"], each["rows"], each["files"]) for each in tables] == [
        ("main", len(case.main), []),
        ("reference", len(case.references[0]), []),
    ]


def test_what_it_remembers_has_no_ids_of_labels_and_no_folders(case, run, tmp_path):
    known = case.labels()
    (tmp_path / "secret").mkdir()
    pl.DataFrame({"id": [f"label-{key}" for key in known.keys], "label": known.grades}).vstack(
        pl.DataFrame({"id": known.keys, "label": known.grades})
    ).write_csv("secret/known.csv")
    assert run(*REFINE, "--labels", "secret/known.csv")[0] == 0
    with np.load("model.npz") as archive:
        words = " ".join([bytes(archive["plain"]).decode(), *(str(each.tolist()) for each in archive.values())])
    assert "label-" not in words
    assert "secret" not in words
