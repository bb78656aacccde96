"""`manifuse datasets`: what it prints, and what it refuses."""

import json

import numpy as np
import pytest
from study.tests.datasets.published import release, write_matlab, write_mfeat
from typer.testing import CliRunner

import manifuse as mf
from manifuse_study.commands.datasets_command import app
from manifuse_study.datasets.catalogue import CATALOGUE


@pytest.fixture
def folder(tmp_path, rng):
    """OSR present, PubFig damaged, HW half there, nothing of the others."""
    write_matlab(tmp_path / "osr" / "data.mat", release("osr", rng))
    write_matlab(tmp_path / "pubfig" / "data.mat", {"feat": np.ones((2, 2))})
    write_mfeat(tmp_path, rng)
    (tmp_path / "hw" / "mfeat-pix").unlink()
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "200", "TERM": "dumb"})


def test_list_names_every_data_set():
    result = run("list")
    assert result.exit_code == 0
    for source in CATALOGUE.values():
        assert source.name in result.output
        assert source.summary in result.output


def test_check_tells_present_damaged_and_missing_apart(folder):
    result = run("check", "--data", folder, "--json")
    assert result.exit_code == 0
    reports = {each["name"]: each for each in json.loads(result.output)["datasets"]}
    states = {name: each["state"] for name, each in reports.items()}
    assert states == {
        "pubfig": "damaged",
        "osr": "present",
        "shoes": "missing",
        "cal7": "missing",
        "nus": "missing",
        "hw": "damaged",
        "awa": "missing",
        "lipophilicity": "missing",
        "digits": "present",
    }
    assert (reports["osr"]["rows"], len(reports["osr"]["tasks"]), reports["osr"]["classes"]) == (2688, 6, 8)
    assert len(reports["osr"]["checksums"]["osr/data.mat"]) == 64
    assert reports["digits"]["classes"] == 10
    assert "has no array" in reports["pubfig"]["message"]
    assert "mfeat-pix is not there" in reports["hw"]["message"]


def test_check_says_of_missing_sets_what_is_expected_where(folder):
    result = run("check", "--data", folder)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    for name in ("shoes", "nus"):
        line = next(line for line in lines if line.startswith(f"{name}: "))
        assert CATALOGUE[name].expected in line
        assert CATALOGUE[name].owner in line
    assert json.loads(run("check", "--data", folder, "--json").output)["datasets"][0]["state"] == "damaged"
    assert "2,688" in next(line for line in lines if "osr" in line and "present" in line)


def test_check_shows_checksums_and_deviations(folder):
    report = json.loads(run("check", "--data", folder, "--json").output)["datasets"][1]
    printed = run("check", "--data", folder).output
    assert report["checksums"]["osr/data.mat"][:12] in printed
    (folder / "osr" / "data.mat").unlink()
    write_matlab(folder / "pubfig" / "data.mat", release("pubfig", np.random.default_rng(0)))
    assert "pubfig: The paper counts 800 images; this copy has 24." in run("check", "--data", folder).output


def test_check_reads_the_folder_named_in_the_environment(folder, monkeypatch):
    monkeypatch.setenv("MANIFUSE_DATA", str(folder))
    assert json.loads(run("check", "--json").output)["folder"] == str(folder)


def test_a_missing_folder_is_refused(tmp_path):
    result = run("check", "--data", tmp_path / "none")
    assert isinstance(result.exception, mf.InputError)
    assert "is not a folder" in str(result.exception)


@pytest.mark.parametrize(
    "name, sentence",
    [("mw", "did you mean 'hw'"), ("shoes", "no stable public address"), ("digits", "needs no fetching")],
)
def test_fetch_refuses_what_it_cannot_get(tmp_path, name, sentence):
    result = run("fetch", name, "--data", tmp_path)
    assert isinstance(result.exception, mf.InputError)
    assert sentence in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_fetch_prints_what_came(tmp_path, rng, monkeypatch):
    def local(source, folder):
        write_mfeat(folder, rng)
        return source.load(folder)

    monkeypatch.setattr("manifuse_study.datasets.fetch.fetch", local)
    result = run("fetch", "hw", "--data", tmp_path)
    assert result.exit_code == 0
    assert "2,000 rows" in result.output
    assert "hw/mfeat-fou" in result.output


def test_the_real_folder_is_sound(data):
    reports = json.loads(run("check", "--data", data, "--json").output)["datasets"]
    assert not [each for each in reports if each["state"] == "damaged"]
    readme = (data / "README.md").read_text()
    sums = {path: digest for each in reports for path, digest in each.get("checksums", {}).items()}
    listed = {path: digest for path, digest in sums.items() if f"| `{path}` |" in readme}
    assert "hw/mfeat.npz" in listed
    assert set(sums) - set(listed) <= {"lipophilicity/lipophilicity.npz"}
    assert all(digest in readme for digest in listed.values())
