"""The runner: the same rows whatever the number of jobs, wherever it was stopped."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import manifuse as mf
from manifuse.datasets.dataset import Dataset
from manifuse.experiments import runner
from manifuse.experiments.methods import METHODS, Case, Method
from manifuse.experiments.plan import EXPERIMENTS, Experiment, experiments_named, methods_named
from manifuse.experiments.protocol import Protocol, Trial
from manifuse.experiments.runner import Plan, Progress, run
from manifuse.experiments.store import Store, read_rows

pytest.importorskip("torch")


def attributes(rng, rows=700):
    features = rng.standard_normal((rows, 6))
    return Dataset.of_attributes(
        "attributes",
        "Attributes",
        features,
        {f"a{k}": np.round(features @ rng.standard_normal(6) + rng.standard_normal(rows)) for k in range(2)},
    )


@pytest.fixture
def plan(monkeypatch, tmp_path):
    dataset = attributes(np.random.default_rng(0))
    monkeypatch.setattr(runner, "_load", lambda name, folder: dataset)
    experiment = Experiment("attributes", "attributes", Protocol("coupled", validation=150, region=300))
    return Plan([experiment], ("Ind", "mean", "impute and stack"), 1, tmp_path, 1)


def without_seconds(folder):
    return [
        {**row.flat(), "seconds": None, "hyperparameters": None} | {"ranker": row.hyperparameters.get("ranker")}
        for row in read_rows(folder)
    ]


def test_every_method_of_every_task_is_a_row_done_or_with_its_reason(plan, tmp_path):
    steps, totals = [], []
    with Store(tmp_path / "out", version="1") as store:
        found = run(plan, store, Progress(total=totals.append, step=steps.append))
    rows = read_rows(tmp_path / "out")
    assert len(rows) == found.rows == 2 * 3
    assert totals == [len(steps)]
    assert {(row.method, row.status) for row in rows} == {
        ("Ind", "done"),
        ("mean", "done"),
        ("impute and stack", "skipped"),
    }
    assert all(row.reason for row in rows if row.status == "skipped")
    assert all(0.5 < row.accuracy <= 1 and row.seconds > 0 for row in rows if row.method == "Ind")
    assert found.peak_gib > 0.05


def test_a_second_run_adds_only_what_is_missing(plan, tmp_path):
    with Store(tmp_path / "out", version="1") as store:
        run(plan, store)
        before = read_rows(tmp_path / "out")
        assert run(plan, store).rows == 0
        longer = Plan(plan.experiments, (*plan.methods, "MTL2"), 1, tmp_path, 1)
        assert run(longer, store).rows == 2
    assert read_rows(tmp_path / "out")[: len(before)] == before
    assert {row.method for row in read_rows(tmp_path / "out")[len(before) :]} == {"MTL2"}


def test_a_method_that_fails_is_a_row_and_the_run_goes_on(plan, tmp_path, monkeypatch):
    def fail(case):
        raise ZeroDivisionError("by design")

    monkeypatch.setattr(runner, "METHODS", {**METHODS, "mean": Method("mean", fail, lambda case: "")})
    with Store(tmp_path / "out", version="1") as store:
        assert run(plan, store).failed == 2
    failed = [row for row in read_rows(tmp_path / "out") if row.status == "failed"]
    assert [row.reason for row in failed] == ["ZeroDivisionError: by design"] * 2
    assert all(row.accuracy is None for row in failed)
    monkeypatch.setattr(runner, "METHODS", METHODS)
    with Store(tmp_path / "out", version="1") as store:
        again = run(plan, store)
    assert (again.rows, again.failed) == (2, 0)
    rows = read_rows(tmp_path / "out")
    assert len(rows) == len({row.key for row in rows}) == 2 * 3
    assert not [row for row in rows if row.status == "failed"]


def test_rankers_that_cannot_be_trained_fail_their_trial(plan, tmp_path):
    few = Experiment("attributes", "attributes", Protocol("coupled", validation=400, region=300))
    with Store(tmp_path / "out", version="1") as store:
        run(Plan([few], ("Ind",), 1, tmp_path, 1), store)
    assert all("to test on" in row.reason for row in read_rows(tmp_path / "out"))


def test_a_row_alone_gives_its_trial_again(plan, tmp_path):
    with Store(tmp_path / "out", version="1") as store:
        run(plan, store)
    row = next(row for row in read_rows(tmp_path / "out") if row.method == "mean")
    trial = Trial.prepare(attributes(np.random.default_rng(0)), plan.experiments[0].protocol, row.seed, deep=True)
    outcome = METHODS[row.method].measure(Case(trial, row.task))
    assert trial.test_accuracy(row.task, outcome.predictions) == pytest.approx(row.accuracy, abs=1e-12)


COMMAND = [sys.executable, "-m", "manifuse.cli", "reproduce", "digits", "--trials", "1", "--method", "Ind"]


def test_killed_and_resumed_or_in_parallel_the_rows_are_the_same(tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    process = subprocess.Popen(
        [*COMMAND, "--method", "mean", "--jobs", "1", "--out", str(killed)], stderr=subprocess.DEVNULL
    )
    started = time.monotonic()
    while process.poll() is None and not ((killed / "rows.jsonl").exists() and (killed / "rows.jsonl").stat().st_size):
        assert time.monotonic() - started < 200
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    for folder in (killed, whole):
        done = subprocess.run(
            [*COMMAND, "--method", "mean", "--jobs", "2", "--out", str(folder)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
    assert len(read_rows(whole)) == 12
    assert without_seconds(killed) == without_seconds(whole)
    assert json.loads((whole / "run.json").read_text())["manifuse"] == mf.__version__


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: experiments_named(["hww"]), "did you mean 'hw'"),
        (lambda: methods_named(["stacking ridge"]), "did you mean 'stacking, ridge'"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(call, says):
    with pytest.raises(mf.InputError, match=says):
        call()


def test_no_name_means_all():
    assert [experiment.name for experiment in experiments_named([])] == list(EXPERIMENTS)
    assert methods_named([]) == list(METHODS)
    assert methods_named(["JMD", "Ind"]) == ["Ind", "JMD"]
