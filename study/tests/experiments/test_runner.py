"""The runner: the same rows whatever the number of jobs, wherever it was stopped."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

import manifuse as mf
from manifuse.cli import app
from manifuse_study.datasets.dataset import Dataset, Task
from manifuse_study.experiments import runner
from manifuse_study.experiments.drawn import DRAWN
from manifuse_study.experiments.methods import METHODS, Method
from manifuse_study.experiments.plan import EXPERIMENTS, Experiment, experiments_named, methods_named
from manifuse_study.experiments.protocol import Protocol, Roles
from manifuse_study.experiments.runner import missing_jobs, run
from manifuse_study.experiments.store import open_store, read_rows
from manifuse_study.experiments.trial import Case, Trial, train_rankers
from manifuse_study.experiments.workers import workers

pytest.importorskip("torch")


def attributes(rng, rows=400):
    features = rng.standard_normal((rows, 6))
    labels = [np.round(features @ rng.standard_normal(6) + rng.standard_normal(rows)) for _ in range(2)]
    return Dataset("attributes", "Attributes", {f"a{k}": Task(features, labels[k]) for k in range(2)})


def run_on_attributes(monkeypatch):
    """Let every experiment load this small data set without the deep ranker, and give the digits a protocol for it."""
    dataset = attributes(np.random.default_rng(0))
    monkeypatch.setattr(runner, "_load", lambda name, folder: dataset)
    # An optimiser of torch imports modules for seconds, in each process.
    monkeypatch.setattr(runner, "train_rankers", lambda *given, deep: train_rankers(*given, deep=False))
    experiment = Experiment("digits", "Digits", "digits", Protocol("coupled", training=60, validation=60, region=90))
    monkeypatch.setitem(EXPERIMENTS, "digits", experiment)
    return experiment


METHODS_RUN = ("Ind", "mean", "impute and stack")


@pytest.fixture
def experiment(monkeypatch):
    return run_on_attributes(monkeypatch)


def run_all(experiment, folder, methods=METHODS_RUN):
    """Run one trial into a results folder; return the steps, and the rows that were written."""
    with workers("processes", 1) as each, open_store(folder, version="1") as store:
        missing = missing_jobs([experiment], methods, 1, folder, store)
        found = list(run(missing, store, each))
    assert len(found) == 2 * sum(map(len, missing))
    return [step for step, _ in found], [row for _, rows in found for row in rows]


def test_other_data_are_not_mixed_with_the_rows_that_are_there(experiment, tmp_path, monkeypatch):
    for number in (1, 1, 2):
        dataset = replace(attributes(np.random.default_rng(number)), checksums={"a.npz": f"{number}"})
        monkeypatch.setattr(runner, "_load", lambda name, folder, dataset=dataset: dataset)
        if number == 1:
            run_all(experiment, tmp_path / "out", ["Ind"])
    before = (tmp_path / "out/rows.jsonl").read_bytes()
    with pytest.raises(mf.InputError, match=r"but the results are of data with [0-9a-f]{12}; name another"):
        run_all(experiment, tmp_path / "out", ["Ind", "mean"])
    assert (tmp_path / "out/rows.jsonl").read_bytes() == before


def without_seconds(folder):
    return [
        {**row.flat(), "seconds": None, "hyperparameters": None} | {"ranker": row.hyperparameters.get("ranker")}
        for row in read_rows(folder)
    ]


def test_every_method_of_every_task_is_a_row_done_or_with_its_reason(experiment, tmp_path):
    steps, written = run_all(experiment, tmp_path / "out")
    assert steps == ["digits, trial 1: rankers"] * 2 + ["digits, trial 1: methods"] * 2
    rows = read_rows(tmp_path / "out")
    assert rows == written
    assert len(rows) == 2 * 3
    assert {(row.method, row.status) for row in rows} == {
        ("Ind", "done"),
        ("mean", "done"),
        ("impute and stack", "skipped"),
    }
    assert all(row.reason for row in rows if row.status == "skipped")
    assert all(0.5 < row.accuracy <= 1 and row.seconds > 0 for row in rows if row.method == "Ind")


def test_a_second_run_adds_only_what_is_missing(experiment, tmp_path):
    _, before = run_all(experiment, tmp_path)
    assert run_all(experiment, tmp_path) == ([], [])
    _, added = run_all(experiment, tmp_path, (*METHODS_RUN, "MTL2"))
    assert read_rows(tmp_path) == before + added
    assert [row.method for row in added] == ["MTL2"] * 2


def test_a_method_that_fails_is_a_row_and_the_run_goes_on(experiment, tmp_path, monkeypatch):
    def fail(case):
        raise ZeroDivisionError("by design")

    monkeypatch.setattr(runner, "METHODS", {**METHODS, "mean": Method("mean", fail)})
    run_all(experiment, tmp_path)
    failed = [row for row in read_rows(tmp_path) if row.status == "failed"]
    assert [row.reason for row in failed] == ["ZeroDivisionError: by design"] * 2
    assert all(row.accuracy is None for row in failed)
    monkeypatch.setattr(runner, "METHODS", METHODS)
    _, again = run_all(experiment, tmp_path)
    assert [(row.method, row.status) for row in again] == [("mean", "done")] * 2
    rows = read_rows(tmp_path)
    assert len(rows) == len({row.key for row in rows}) == 2 * 3
    assert not [row for row in rows if row.status == "failed"]


@pytest.mark.usefixtures("experiment")
def test_rankers_that_cannot_be_trained_fail_their_trial(tmp_path):
    few = Experiment(
        "attributes", "Attributes", "attributes", Protocol("coupled", training=60, validation=300, region=90)
    )
    run_all(few, tmp_path)
    rows = read_rows(tmp_path)
    assert len(rows) == 2 * 3
    assert all(row.reason.startswith("training of a0: InputError") and "to test on" in row.reason for row in rows)


def test_a_row_alone_gives_its_trial_again(experiment, tmp_path):
    _, rows = run_all(experiment, tmp_path)
    row = next(row for row in rows if row.method == "mean")
    dataset = attributes(np.random.default_rng(0))
    roles = Roles.draw(dataset, experiment.protocol, row.seed)
    rankers = {task: train_rankers(dataset, roles, task, deep=False) for task in dataset.tasks}
    case = Case(Trial(dataset, experiment.protocol, row.seed, roles, rankers), row.task)
    assert case.test_accuracy(METHODS[row.method].run(case).predictions) == pytest.approx(row.accuracy, abs=1e-12)


#: The command line in a process that is killed as soon as it has stored rows of one task.
KILLED = """
import os, signal
import pytest
from manifuse.cli.app import main
from manifuse_study.experiments.store import Store
from study.tests.experiments.test_runner import run_on_attributes

append = Store.append

def append_and_die(store, rows):
    append(store, rows)
    os.kill(os.getpid(), signal.SIGKILL)

Store.append = append_and_die
run_on_attributes(pytest.MonkeyPatch())
main()
"""


@pytest.fixture
def processes_run_on_attributes(experiment):
    """Let the processes of a run see what is patched here."""
    cloudpickle.register_pickle_by_value(runner)
    yield
    cloudpickle.unregister_pickle_by_value(runner)


@pytest.mark.usefixtures("processes_run_on_attributes")
def test_killed_and_resumed_or_in_parallel_the_rows_are_the_same(tmp_path, monkeypatch, capsys):
    def arguments(folder, jobs):
        words = ("reproduce", "digits", "--trials", "1", "--method", "Ind", "--method", "mean")
        return [*words, "--jobs", str(jobs), "--out", str(folder)]

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    command = [sys.executable, "-c", KILLED, *arguments(killed, 1)]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(read_rows(killed)) == 2
    for folder, jobs in ((killed, 2), (whole, 1)):
        monkeypatch.setattr(sys, "argv", ["manifuse", *arguments(folder, jobs)])
        with pytest.raises(SystemExit) as left:
            app.main()
        assert left.value.code == 0, capsys.readouterr().err
    assert len(read_rows(whole)) == 4
    assert without_seconds(killed) == without_seconds(whole)
    assert json.loads((whole / "run.json").read_text())["manifuse"] == mf.__version__


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: experiments_named(["hww"]), "did you mean 'hw'"),
        (lambda: experiments_named(["table"], DRAWN), "did you mean 'tables'"),
        (lambda: methods_named(["stacking ridge"]), "did you mean 'stacking, ridge'"),
        (lambda: methods_named(["nope"]), "There are: Ind, JMD, 'JMD, only tuned'"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(call, says):
    with pytest.raises(mf.InputError, match=says):
        call()


def test_no_name_means_all():
    assert [experiment.name for experiment in experiments_named([])] == list(EXPERIMENTS)
    assert methods_named([]) == list(METHODS)
    assert methods_named(["JMD", "Ind"]) == ["Ind", "JMD"]
