"""Warnings for programs: their codes in the JSON, and the exit status of ``--strict``."""

import json
import re

import numpy as np
import polars as pl
import pytest
from tests.problems import draw
from tests.test_pairs import problem

import manifuse as mf
from manifuse.cli import app
from manifuse.cli.app import UNSURE
from manifuse.cli.console import in_flags
from manifuse.words.reasons import REASONS
from manifuse.words.wording import fill

# Warnings are errors in tests; here they are shown, as users see them.
pytestmark = pytest.mark.filterwarnings("default::manifuse.ManifuseWarning")

REFINE = (
    "refine",
    "main.csv",
    "--reference",
    "theirs.csv",
    "--same-target",
    "--out",
    "out.csv",
    "--save",
    "model.npz",
)
APPLY = ("apply", "model.npz", "new.csv", "--out", "new-out.csv")


def write(name, table, scores=None, rows=slice(None)):
    features = {f"x{k}": column[rows] for k, column in enumerate(table.table.T)}
    scores = table.scores if scores is None else scores
    pl.DataFrame({"id": table.keys[rows], "score": scores[rows], **features}).write_csv(name)


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    case = draw(0, references=1)
    write("main.csv", case.main)
    write("theirs.csv", case.references[0])
    return case


@pytest.fixture
def run(monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["manifuse", *arguments])
        try:
            app.main()
        except SystemExit as leave:
            return int(leave.code or 0), capsys.readouterr().out
        return 0, capsys.readouterr().out

    return run


def test_what_nothing_speaks_against_ends_as_usual(case, run):
    status, printed = run(*REFINE, "--json", "--strict")
    assert (status, json.loads(printed)["warnings"], json.loads(printed)["reason"]) == (0, [], "TOLD")
    write("new.csv", case.main)
    status, printed = run(*APPLY, "--json", "--strict")
    found = json.loads(printed)
    assert (status, found["warnings"], found["reason"], found["changed"]) == (0, [], "TOLD", 0)


def test_a_warning_has_a_code_and_the_outputs_are_there(case, run, tmp_path):
    common = np.isin(case.references[0].keys, case.main.keys)
    few = np.flatnonzero(~common | (np.cumsum(common) <= 5))
    write("theirs.csv", case.references[0], rows=few)
    status, printed = run(*REFINE, "--json", "--strict")
    assert status == UNSURE
    assert json.loads(printed)["warnings"] == [
        {
            "code": "few_pairs",
            "sentence": "theirs shares only 5 ids with main; fewer than 10 rarely help.",
        }
    ]
    assert (tmp_path / "out.csv").exists()
    assert run(*REFINE)[0] == 0


def test_unchanged_scores_are_no_result_for_who_is_strict(case, run, tmp_path):
    write("theirs.csv", case.references[0], scores=-case.references[0].scores)
    arguments = [each for each in REFINE if each != "--same-target"]
    status, printed = run(*arguments, "--json")
    assert (status, json.loads(printed)["accepted"]) == (0, False)
    assert run(*arguments, "--strict")[0] == UNSURE
    assert (tmp_path / "out.csv").exists()
    write("new.csv", case.main)
    assert (run(*APPLY)[0], run(*APPLY, "--strict")[0]) == (0, UNSURE)


def test_rows_that_come_again_changed_are_counted(case, run):
    assert run(*REFINE)[0] == 0
    write("new.csv", case.main, scores=case.main.scores + np.where(np.arange(len(case.main)) < 3, 1.0, 0.0))
    status, printed = run(*APPLY, "--json", "--strict")
    found = json.loads(printed)
    assert (status, found["changed"], found["already_fitted"]) == (UNSURE, 3, len(case.main))
    assert [each["code"] for each in found["warnings"]] == ["changed_rows"]
    said = run(*APPLY)[1]
    assert f"{len(case.main)} of them were in the fit (3 of these came with other scores or features)" in said
    assert found["little_support"] == 0
    assert "unlike all rows that the references know" not in " ".join(said.split())


def test_a_scale_that_has_no_option_is_set_in_a_config():
    for row in ([2.0, -1.0], [0.7, 0.7]):
        with pytest.raises(mf.InputError) as refused:
            mf.Observations([row, [0.4, 0.6], [0.1, 0.9]], ids=["a", "b", "c"], classes=("yes", "no"))
        assert in_flags(str(refused.value)).endswith("decision values, refine with --scale logits.")


@pytest.mark.parametrize("reason", REASONS)
def test_reasons_name_options_and_no_parameter_that_has_one(reason):
    """Each sentence stays a sentence, also if a line breaks in it."""
    for said in (in_flags(REASONS[reason]), in_flags(fill(REASONS[reason]))):
        assert "`" not in said
        assert "same_target" not in said
        assert not re.search(r"--[a-z-]+\s(to|is)\s(true|false)", said)


def test_rows_that_labels_keep_from_moving_are_counted_and_told(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    _, ours, references, labels = problem(7)
    write("main.csv", ours)
    for reference in references:
        pl.DataFrame({"id": reference.keys, "score": reference.scores}).write_csv(f"{reference.name}.csv")
    pl.DataFrame({"id": labels.keys, "label": labels.grades}).write_csv("labels.csv")
    given = [part for each in references for part in ("--reference", f"{each.name}.csv")]
    refined = run("refine", "main.csv", *given, "--labels", "labels.csv", "--out", "out.csv", "--save", "model.npz")
    assert refined[0] == 0
    write("new.csv", ours)
    status, printed = run(*APPLY, "--json", "--strict")
    found = json.loads(printed)
    assert (status, found["reason"], found["accepted"]) == (0, "PAIRS", True)
    assert found["unmoved"] == len(ours) - len(references[0])
    said = " ".join(run(*APPLY)[1].split())
    assert f"Scores of {found['unmoved']} rows are unchanged: At labels that were held out" in said
    later = ours.take(np.arange(len(references[0]), len(ours)))
    write("new.csv", later)
    status, printed = run(*APPLY, "--json", "--strict")
    assert (status, json.loads(printed)["unmoved"]) == (UNSURE, len(later))
    assert "Their scores are unchanged: At labels that were held out" in " ".join(run(*APPLY)[1].split())
