"""Config files: the same as the options, and what a run used gives it again."""

import sys
import tomllib

import numpy as np
import polars as pl
import pytest
from tests.problems import draw, write_tables

import manifuse as mf
from manifuse.cli import app
from manifuse.cli.config import config_text, read_config, request_of
from manifuse.cli.request import RefineRequest

#: What a config may not say, and what is answered.
REFUSED = [
    ("main = ", "is no TOML"),
    ('mian = "main.csv"', "no key in run.toml named 'mian'; did you mean 'main'"),
    ("main = 3", "main = 3 came in run.toml, but a text was expected"),
    ('reference = "theirs.csv"', "but a list of texts was expected"),
    ("reference = [1]", "but a list of texts was expected"),
    ("seed = true", "but a whole number was expected"),
    ("seed = -1", "seed must be 0 or more"),
    ("[method]\nneighbors = 3", "no hyperparameter in run.toml named 'neighbors'; did you mean 'neighbours'"),
    ("[method]\nrounds = 0", "rounds=0 came"),
    ('[method]\nrounds = "many"', "rounds='many' came"),
    ("[method]\nsteps = 100000000000000000000000000", "whole numbers of at most 1000000000 were expected"),
    ("[method]\nfolds = true", "folds=True came"),
    ("[method]\nstep_size = 1" + 400 * "0", "but positive numbers were expected"),
    ("[method]\nbridge = { steps = true }", "whole steps of at least 1"),
    ('[method]\nbridge = { scheme = "Euler" }', "no bridge scheme in run.toml named 'Euler'"),
    ("[method]\nbridge = { stride = 3 }", "but ImplicitEuler has step, steps, tolerance"),
    ("[method]\nbridge = { step = -3 }", "but a step in"),
    ('[method]\nstep_size = "x"', "step_size='x' came"),
    ('[method]\nsearch = "fast"', "search='fast' came"),
    ("[method]\nsafeguarded = 3", "safeguarded=3 came"),
    ('main = "a\\u0000.csv"', "but no file has such a name"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = draw(0, references=1)
    write_tables(case)
    pl.DataFrame({"id": case.labels().keys, "label": case.labels().grades}).write_csv("known.csv")
    return tmp_path


def run(capsys, monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["manifuse", "refine", *arguments])
    try:
        app.main()
    except SystemExit as leave:
        return int(leave.code or 0), capsys.readouterr().err
    return 0, capsys.readouterr().err


def test_what_a_run_used_gives_the_same_bits_again(folder, capsys, monkeypatch):
    arguments = [
        "main.csv",
        "--reference",
        "theirs.csv",
        "--labels",
        "known.csv",
        "--seed",
        "7",
        "--features",
        "x[0-4]",
    ]
    assert run(capsys, monkeypatch, *arguments, "--out", "first.parquet")[0] == 0
    assert run(capsys, monkeypatch, "--config", "first.run.toml", "--out", "again.parquet")[0] == 0
    assert pl.read_parquet("first.parquet").equals(pl.read_parquet("again.parquet"))
    first, again = (tomllib.loads((folder / f"{name}.run.toml").read_text()) for name in ("first", "again"))
    assert first | {"out": "again.parquet"} == again


@pytest.mark.parametrize(
    "method",
    [
        mf.JointDiffusion(),
        mf.JointDiffusion.as_published(),
        mf.JointDiffusion(
            neighbours=(5, 10),
            score_scale=np.inf,
            bridge=(mf.ImplicitEuler(3.0), mf.ExplicitEuler(step=0.3)),
            step_size=1.0,
            standardised=False,
            task="regression",
            safeguarded=False,
        ),
    ],
)
def test_every_hyperparameter_survives_the_file(method, tmp_path):
    request = RefineRequest(
        main='odd "name"\\.csv',
        references=["ä.csv", "b.csv::c.npy"],
        out=tmp_path / "out.csv",
        labels=tmp_path / "labels.csv",
        pairs=None,
        features=r"x\d+$",
        method=method,
        seed=3,
        drop_invalid=True,
        save=tmp_path / "model.npz",
        report=tmp_path / "page.html",
    )
    (tmp_path / "run.toml").write_text(config_text(request), encoding="utf-8")
    assert request_of(read_config(tmp_path / "run.toml"), {}, {}) == request


def test_options_go_before_the_config(folder, capsys, monkeypatch):
    (folder / "run.toml").write_text(
        'main = "nowhere.csv"\nreference = ["theirs.csv"]\nout = "out.csv"\nseed = 3\n'
        "[method]\nrounds = 2\nneighbours = [5, 6]\n"
    )
    done, said = run(capsys, monkeypatch, "main.csv", "--config", "run.toml", "--task", "regression")
    assert done == 0, said
    used = tomllib.loads((folder / "out.run.toml").read_text())
    assert (used["main"], used["seed"]) == ("main.csv", 3)
    assert (used["method"]["rounds"], used["method"]["neighbours"]) == (2, [5, 6])
    assert used["method"]["task"] == "regression"


def test_the_config_that_was_read_stays_as_it_is(folder, capsys, monkeypatch):
    text = '# ours\nmain = "main.csv"\nreference = ["theirs.csv"]\nout = "out.csv"\n'
    (folder / "out.run.toml").write_text(text)
    done, said = run(capsys, monkeypatch, "--config", "out.run.toml", "--seed", "3")
    assert done == 0, said
    assert (folder / "out.csv").exists()
    assert (folder / "out.run.toml").read_text() == text


@pytest.mark.parametrize("text, says", REFUSED)
def test_a_config_that_says_what_there_is_not_is_refused(text, says, folder, capsys, monkeypatch):
    (folder / "run.toml").write_text(text)
    arguments = ("main.csv", "--reference", "theirs.csv", "--out", "out.csv", "--config", "run.toml")
    given = [a for a in arguments if a != "main.csv"] if text.startswith("main") else list(arguments)
    done, said = run(capsys, monkeypatch, *given)
    assert done == 2
    assert says in said
    assert not list(folder.glob("out.*"))


@pytest.mark.parametrize("left_out", ["main.csv", "--reference theirs.csv", "--out out.csv"])
def test_what_neither_options_nor_config_name_is_asked_for(left_out, folder, capsys, monkeypatch):
    arguments = "main.csv --reference theirs.csv --out out.csv".replace(left_out, "").split()
    done, said = run(capsys, monkeypatch, *arguments)
    assert done == 2
    assert "is missing; give it" in said
    assert run(capsys, monkeypatch, "--config", "nowhere.toml")[0] == 2
