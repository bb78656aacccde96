"""``manifuse refine --report``: the page that goes with the output."""

import hashlib
import json
import sys
import tomllib

import pytest
from tests.problems import draw, write_tables

import manifuse as mf
from manifuse.cli import app
from manifuse.report.refinement_page import page_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = draw(0, references=1)
    write_tables(case)
    return tmp_path


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["manifuse", "refine", *arguments])
    try:
        app.main()
    except SystemExit as leave:
        return int(leave.code or 0), capsys.readouterr()
    return 0, capsys.readouterr()


TABLES = ("main.csv", "--reference", "theirs.csv", "--out", "out.csv")


def test_the_page_is_the_librarys(folder, capsys, monkeypatch):
    done, said = run(capsys, monkeypatch, *TABLES, "--report", "page.html", "--save", "model.npz", "--json")
    assert done == 0, said.err
    assert {path.name for path in folder.iterdir()} == {
        *("main.csv", "theirs.csv", "out.csv", "out.run.toml", "model.npz", "page.html")
    }
    case = draw(0, references=1)
    other = mf.Observations(
        case.references[0].scores, case.references[0].table, ids=case.references[0].keys, name="theirs"
    )
    page = (folder / "page.html").read_text(encoding="utf-8")
    seconds = float(page.rpartition(" seconds.")[0].rpartition(" in ")[2])
    assert 0 <= seconds <= json.loads(said.out)["seconds"] + 0.05
    text = page_of(mf.load("model.npz"), references=[other], seconds=seconds)
    assert page == text
    for name in ("main.csv", "theirs.csv"):
        content = (folder / name).read_bytes()
        assert f"<td>{len(content):,}</td><td>{hashlib.sha256(content).hexdigest()}</td>" in page


def test_the_config_says_where_the_page_goes(folder, capsys, monkeypatch):
    done, said = run(capsys, monkeypatch, *TABLES, "--report", "page.html")
    assert done == 0, said.err
    assert said.out.endswith(" rows written to out.csv.\nThe report is page.html.\n")
    used = tomllib.loads((folder / "out.run.toml").read_text())
    assert used["report"] == "page.html"
    (folder / "page.html").unlink()
    done, said = run(capsys, monkeypatch, "--config", "out.run.toml", "--report", "other.html")
    assert done == 0, said.err
    assert (folder / "other.html").exists()
    assert not (folder / "page.html").exists()
    assert tomllib.loads((folder / "out.run.toml").read_text()) == used
    assert run(capsys, monkeypatch, "--config", "out.run.toml", "--report", "other.html", "--out", "new.csv")[0] == 0
    changed = {"report": "other.html", "out": "new.csv"}
    assert tomllib.loads((folder / "new.run.toml").read_text()) == used | changed


def test_a_page_that_cannot_be_made_leaves_nothing(folder, capsys, monkeypatch):
    def broken(*arguments, **options):
        raise mf.InputError("The page cannot be made.")

    monkeypatch.setattr("manifuse.cli.refine_command.page_of", broken)
    done, _ = run(capsys, monkeypatch, *TABLES, "--report", "page.html", "--save", "model.npz")
    assert done == 2
    assert sorted(path.name for path in folder.iterdir()) == ["main.csv", "theirs.csv"]
