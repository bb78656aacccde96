"""Config files set the same as options, and the record of a run repeats it."""

import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import pytest
import typer
from tests.printed import sentence_on_page
from tests.problems import draw, write_tables
from typer import Option
from typer.testing import CliRunner

import manifuse as mf
from manifuse.cli import app, config, refine_options
from manifuse.cli.config import config_text, method_of, read_options
from manifuse.cli.refine_options import RefineOptions, takes

#: Configs that are refused, and what the message contains.
REFUSED = [
    ("main = ", "is not valid TOML"),
    ('classes = "p\\\\.(.*)"'.replace("\\\\", "\\"), "a text with a backslash needs single quotes"),
    ('mian = "main.csv"', "no key in run.toml named 'mian'; did you mean 'main'"),
    ("main = 3", "main = 3 came in run.toml, but a text was expected"),
    ('reference = "theirs.csv"', "but a list of texts was expected"),
    ("reference = [1]", "but a list of texts was expected"),
    ("seed = true", "but a whole number was expected"),
    ("seed = -1", "a whole number of at least 0 was expected"),
    (
        "[method.diffusion]\nneighbors = 3",
        "no hyperparameter in run.toml named 'neighbors'; did you mean 'neighbours'",
    ),
    ("[method.diffusion]\nstep_size = [0.1, 1.0]", "labels teach and do not choose among them"),
    ("[method.diffusion]\nrounds = 0", "rounds=0 came"),
    ('[method.diffusion]\nrounds = "many"', "rounds='many' came"),
    ("[method.diffusion]\nsteps = 10000000000", "whole numbers from 1 to 1,000,000,000 were expected"),
    ("[method.diffusion]\nbridge = { step = 1000000000000000000000000000000 }", "but a step in [1e-6, 1e4]"),
    ("[method.diffusion]\nbridge = { step = 10000.0, steps = 20 }", "together of at most 2048 polynomials"),
    ("[method.diffusion]\nfolds = true", "folds=True came"),
    ("[method.diffusion]\nstep_size = 1" + 400 * "0", "came, but positive numbers were expected"),
    ("[method.diffusion]\nbridge = { steps = true }", "1 to 100 whole steps"),
    ('[method.diffusion]\nbridge = { scheme = "Euler" }', "no bridge scheme in run.toml named 'Euler'"),
    ('[method.diffusion]\nbridge = { scheme = "ExplicitEuler", steps = 1001 }', "1 to 1000 whole steps"),
    ('[method.diffusion]\nbridge = { step = "1" }', "ImplicitEuler(step='1', steps=1, tolerance=1e-06) came"),
    ("[method.diffusion]\nbridge = { step = [1] }", "ImplicitEuler(step=[1], steps=1, tolerance=1e-06) came"),
    (
        "[method.diffusion]\nbridge = { step = 2020-01-01 }",
        "ImplicitEuler(step=datetime.date(2020, 1, 1), steps=1, tolerance=1e-06) came",
    ),
    ("[method.diffusion]\nbridge = { stride = 3 }", "but ImplicitEuler has the parameters step, steps, tolerance"),
    ("[method.diffusion]\nbridge = { step = -3 }", "but a step in"),
    ('[method.diffusion]\nstep_size = "x"', "step_size='x' came"),
    ('[method.diffusion]\nsearch = "fast"', "search='fast' came"),
    ("[method]\nsafeguarded = 3", "safeguarded=3 came"),
    ('[method]\nscale = "probability"', "scale came in [method] of run.toml, but it belongs at the top; move it"),
    ("same_target = true", "same_target came at the top of run.toml, but it belongs in the table [method]"),
    ("[method]\nrounds = 3", "rounds came in [method] of run.toml, but it belongs in the table [method.diffusion]"),
    ("drop-invalid = true\ndrop_invalid = false", "drop_invalid came twice in run.toml, with - and with _"),
    ("[method]\nsame-target = true\nsame_target = false", "same_target came twice in run.toml, with - and with _"),
    ("bridge = { step = 3.0 }", "bridge came at the top of run.toml, but it belongs in the table [method.diffusion]"),
    ('[refine]\nmain = "main.csv"', "has the table [refine], but only [method] and [method.diffusion] were expected"),
    ("method.a.a.a = 1", "There is no hyperparameter in run.toml named 'a'"),
    ('labels = ""', "came in run.toml, but a text that is not empty was expected"),
    ('pairs = ""', "came in run.toml, but a text that is not empty was expected"),
    ('reference = [""]', "came in run.toml, but a text that is not empty was expected"),
    ('main = ""', "came in run.toml, but a text that is not empty was expected"),
    ('main = "a\\u0000.csv"', "but no name can hold a NUL character"),
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


def test_the_record_of_a_run_repeats_it_to_the_bit(folder, capsys, monkeypatch):
    arguments = [
        "main.csv",
        "--reference",
        "theirs.csv",
        "--labels",
        "known.csv",
        "--config",
        "more.toml",
        "--features",
        # TOML forbids the last character.
        "x[0-4\x7f]",
    ]
    (folder / "more.toml").write_text("seed = 7\n")
    assert run(capsys, monkeypatch, *arguments, "--out", "first.parquet")[0] == 0
    assert run(capsys, monkeypatch, "--config", "first.run.toml", "--out", "again.parquet")[0] == 0
    assert pl.read_parquet("first.parquet").equals(pl.read_parquet("again.parquet"))
    first, again = (tomllib.loads((folder / f"{name}.run.toml").read_text()) for name in ("first", "again"))
    assert first | {"out": "again.parquet"} == again


def test_keys_may_have_hyphens_as_options_of_the_command_line_have(tmp_path):
    text = "drop-invalid = true\n[method]\nsame-target = true\n[method.diffusion]\nscore-scale = 3.0\n"
    (tmp_path / "run.toml").write_text(text)
    options = read_options({"config": tmp_path / "run.toml", "main": "a", "reference": ["b"], "out": "c"})
    assert options.drop_invalid
    assert method_of(options) == mf.JointDiffusion(same_target=True, diffusion=mf.Algorithm1(score_scale=3.0))


@pytest.mark.parametrize(
    "method",
    [
        mf.JointDiffusion(),
        mf.JointDiffusion(ignored=("a", "b"), same_target=True, fitted_rows=None),
        mf.JointDiffusion(
            diffusion=mf.Algorithm1(
                neighbours=(5, 10),
                score_scale=np.inf,
                bridge=(mf.ImplicitEuler(3.0), mf.ExplicitEuler(step=0.3)),
                step_size=2.0,
                standardised=False,
            ),
            task="regression",
            safeguarded=False,
        ),
    ],
)
def test_every_hyperparameter_survives_the_file(method, tmp_path):
    options = RefineOptions(
        main='odd "name"\\.csv',
        reference=["ä.csv", "b.csv::c.npy"],
        out=tmp_path / "out.csv",
        labels=tmp_path / "labels.csv",
        features=r"x\d+$",
        seed=3,
        drop_invalid=True,
        save=tmp_path / "model.npz",
        report=tmp_path / "page.html",
    )
    path = tmp_path / "run.toml"
    path.write_text(config_text(options, method), encoding="utf-8")
    again = read_options({"config": path})
    assert replace(again, config=None, method={}) == options
    assert method_of(again) == method


@dataclass(frozen=True, kw_only=True)
class MoreOptions(RefineOptions):
    """The options with one more field of each type, and one more for a hyperparameter."""

    word: Annotated[str, Option(help="A word.")] = "none"
    path_of: Annotated[Path | None, Option(help="A path.")] = None
    count: Annotated[int, Option(help="A whole number.", min=0)] = 1
    flag: Annotated[bool, Option(help="True or false.")] = False
    names: Annotated[list[str] | None, Option(help="A list of texts.")] = None
    fitted_rows: Annotated[int | None, Option(help="A hyperparameter.")] = None


#: Arguments of the command line, with the fields and values that they set.
MORE = {
    "--word=some": ("word", "some"),
    "--path-of=a/b.csv": ("path_of", Path("a/b.csv")),
    "--count=3": ("count", 3),
    "--flag": ("flag", True),
    "--names=a": ("names", ["a"]),
}


@pytest.fixture
def given(monkeypatch):
    """Runs a command that takes more options, and returns what it was given."""
    for module in (config, refine_options):
        monkeypatch.setattr(module, "RefineOptions", MoreOptions)
    app, received = typer.Typer(), []

    @app.command()
    @takes()
    def command(given: Mapping[str, Any]) -> None:
        received.append(given)

    def given(*arguments):
        result = CliRunner().invoke(app, [*arguments], env={"COLUMNS": "200", "TERM": "dumb"})
        assert result.exit_code == 0, result.output
        return received.pop() if received else result.output

    return given


BARE = ["main.csv", "--reference", "theirs.csv", "--out", "out.csv"]


def test_a_field_is_all_that_a_new_option_takes(given, tmp_path):
    said = given("--help")
    assert all(option.partition("=")[0] in said for option in [*MORE, "--fitted-rows"])
    assert all(
        words in said for words in ("A word.", "A path.", "A whole number.", "True or false.", "A hyperparameter.")
    )
    options = read_options(given(*BARE, *MORE, "--fitted-rows=200"))
    assert {name: getattr(options, name) for name, _ in MORE.values()} == dict(MORE.values())
    method = method_of(options)
    assert method == mf.JointDiffusion(fitted_rows=200)
    path = tmp_path / "run.toml"
    path.write_text(config_text(options, method))
    written = tomllib.loads(path.read_text())
    assert written | {"word": "some", "path_of": "a/b.csv", "count": 3, "flag": True, "names": ["a"]} == written
    assert (written.get("fitted_rows"), written["method"]["fitted_rows"]) == (None, 200)
    again = read_options({"config": path})
    assert replace(again, config=None, method={}) == replace(options, fitted_rows=None)
    assert method_of(again) == method


@pytest.mark.parametrize(
    "text, says",
    [
        ('wort = "some"', "did you mean 'word'"),
        ("word = 3", "word = 3 came in .*, but a text was expected"),
        ("path_of = 3", "but a text was expected"),
        ("count = true", "but a whole number was expected"),
        ("flag = 1", "but true or false was expected"),
        ('names = "a"', "but a list of texts was expected"),
        ("fitted_rows = 200", "belongs in the table"),
    ],
)
def test_the_config_checks_the_type_of_a_new_option(text, says, given, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(mf.InputError, match=says):
        read_options(given(*BARE, "--config", str(path)))


def test_options_overrule_the_config(folder, capsys, monkeypatch):
    (folder / "run.toml").write_text(
        'main = "nowhere.csv"\nreference = ["theirs.csv"]\nout = "out.csv"\nseed = 3\n'
        "[method.diffusion]\nrounds = 2\nneighbours = [5, 6]\n"
    )
    done, said = run(capsys, monkeypatch, "main.csv", "--config", "run.toml", "--task", "regression")
    assert done == 0, said
    used = tomllib.loads((folder / "out.run.toml").read_text())
    assert (used["main"], used["seed"]) == ("main.csv", 3)
    assert (used["method"]["diffusion"]["rounds"], used["method"]["diffusion"]["neighbours"]) == (2, [5, 6])
    assert used["method"]["task"] == "regression"


def test_the_config_that_was_read_stays_as_it_is(folder, capsys, monkeypatch):
    text = '# ours\nmain = "main.csv"\nreference = ["theirs.csv"]\nout = "out.csv"\n'
    (folder / "out.run.toml").write_text(text)
    done, said = run(capsys, monkeypatch, "--config", "out.run.toml", "--task", "ranking")
    assert done == 0, said
    assert (folder / "out.csv").exists()
    assert (folder / "out.run.toml").read_text() == text


@pytest.mark.parametrize("text, says", REFUSED)
def test_each_config_is_refused(text, says, folder, capsys, monkeypatch):
    (folder / "run.toml").write_text(text)
    arguments = ("main.csv", "--reference", "theirs.csv", "--out", "out.csv", "--config", "run.toml")
    given = [a for a in arguments if a != "main.csv"] if text.startswith("main") else list(arguments)
    done, said = run(capsys, monkeypatch, *given)
    assert done == 2
    assert says in said
    case = f"`{text}`".replace("\n", " ").replace("|", "\\|")
    assert re.search(sentence_on_page(case), " ".join(said.split()))
    assert not list(folder.glob("out.*"))


def test_a_byte_order_mark_is_taken(folder, capsys, monkeypatch):
    (folder / "run.toml").write_text('main = "main.csv"\nreference = ["theirs.csv"]\n', encoding="utf-8-sig")
    done, said = run(capsys, monkeypatch, "--config", "run.toml", "--out", "out.csv")
    assert done == 0, said


def test_a_config_that_takes_too_much_memory_is_not_said_to_be_wrong(folder, capsys, monkeypatch):
    def refuse(path, _):
        raise mf.InputError(f"{path} takes too much memory.")

    monkeypatch.setattr(config, "demand_memory", refuse)
    (folder / "run.toml").write_text("seed = 1\n")
    done, said = run(capsys, monkeypatch, "--config", "run.toml")
    assert (done, said.strip()) == (2, "manifuse: run.toml takes too much memory.")


def test_tables_in_tables_may_be_deeper_than_python_can_follow(folder, capsys, monkeypatch):
    (folder / "run.toml").write_text("method" + 2000 * ".a" + " = 1")
    done, said = run(capsys, monkeypatch, "--config", "run.toml")
    assert done == 2
    assert "no hyperparameter in run.toml named 'a'" in " ".join(said.split())


@pytest.mark.parametrize("left_out", ["main.csv", "--out out.csv"])
def test_what_neither_options_nor_config_give_is_named(left_out, folder, capsys, monkeypatch):
    arguments = "main.csv --reference theirs.csv --out out.csv".replace(left_out, "").split()
    done, said = run(capsys, monkeypatch, *arguments)
    assert done == 2
    assert "is missing; give it" in said
    assert run(capsys, monkeypatch, "--config", "nowhere.toml")[0] == 2


def test_a_config_that_would_be_the_record_must_say_what_the_run_uses(folder, capsys, monkeypatch):
    """Else the record beside the output would be of another run."""
    tables = ("main.csv", "--reference", "theirs.csv", "--out", "out.csv")
    assert run(capsys, monkeypatch, *tables)[0] == 0
    record, refined = ((folder / name).read_bytes() for name in ("out.run.toml", "out.csv"))
    for more in (("--drop", "x1"), ("--labels", "known.csv")):
        status, said = run(capsys, monkeypatch, "--config", "out.run.toml", *more)
        assert status == 2
        assert "out.run.toml would be the record of this run, but the command line changes what it says" in " ".join(
            said.split()
        )
    assert run(capsys, monkeypatch, "--config", "out.run.toml")[0] == 0
    assert [(folder / name).read_bytes() for name in ("out.run.toml", "out.csv")] == [record, refined]
    (folder / "out.run.toml").write_text("seed = 3\n")
    assert run(capsys, monkeypatch, *tables, "--config", "out.run.toml")[0] == 2


def test_a_changed_run_replaces_no_model_and_no_report_of_the_recorded_one(folder, capsys, monkeypatch):
    tables = ("main.csv", "--reference", "theirs.csv", "--out", "out.csv", "--save", "m.npz", "--report", "r.html")
    assert run(capsys, monkeypatch, *tables)[0] == 0
    assert run(capsys, monkeypatch, "--config", "out.run.toml", "--out", "again.csv")[0] == 0
    before = (folder / "m.npz").read_bytes()
    other = ("--config", "out.run.toml", "--drop", "x1", "--out", "other.csv")
    here = str(folder / "m.npz")
    for more, named in (((), "save"), (("--save", here), "save"), (("--save", "n.npz"), "report")):
        done, said = run(capsys, monkeypatch, *other, *more)
        assert done == 2
        assert f"give another name with --{named}." in " ".join(said.split())
    assert not (folder / "other.csv").exists()
    assert run(capsys, monkeypatch, *other, "--save", "n.npz", "--report", "s.html")[0] == 0
    assert (folder / "m.npz").read_bytes() == before != (folder / "n.npz").read_bytes()
