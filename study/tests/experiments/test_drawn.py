"""Problems that are drawn: every method has a row, and a run that was stopped goes on."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, log_loss

from manifuse_study.datasets.classifiers import classifiers_of_halves
from manifuse_study.experiments.classes import METHODS, calibration_error, facts_of, measures_of
from manifuse_study.experiments.drawn import DRAWN, LACKING, missing_draws, run_draws
from manifuse_study.experiments.store import open_store, read_rows
from manifuse_study.experiments.workers import workers


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run three methods on classes, in an empty data folder, which leaves the digits."""
    few = {name: METHODS[name] for name in ("alone", "own labels", "coupled oracle")}
    monkeypatch.setitem(DRAWN, "classes", replace(DRAWN["classes"], methods=few))

    def run_trials(trials, methods=tuple(few)):
        with workers("processes", 1) as each, open_store(tmp_path / "rows", version="1") as store:
            draws = missing_draws(tmp_path, ["classes"], methods, trials, store.keys)
            return [row for _, rows in run_draws(draws, store, each) for row in rows]

    return run_trials


def test_every_method_of_every_problem_has_a_row_and_a_run_goes_on(run, tmp_path):
    first, more = run(1), run(2)
    assert {row.trial for row in first} == {0}
    assert {row.trial for row in more} == {1}
    assert read_rows(tmp_path / "rows") == first + more
    assert run(2) == []
    tasks = ["digits", "digit halves, 0 labels", "digit halves, 100 labels"]
    assert [(row.task, row.method) for row in first] == [
        (task, method) for task in tasks for method in ("alone", "own labels", "coupled oracle")
    ]
    skipped = {(row.task, row.method): row.reason for row in first if row.status == "skipped"}
    assert skipped["digit halves, 0 labels", "own labels"] == LACKING["labels"]
    assert skipped["digit halves, 100 labels", "coupled oracle"] == LACKING["everywhere"]
    assert all(row.status in ("done", "skipped") for row in first)
    assert next(row.seed for row in first if row.task == "digits") == 100_000


def test_only_the_methods_that_are_wanted_run(run):
    assert {row.method for row in run(1, ["alone"])} == {"alone"}
    assert {row.method for row in run(1)} == {"own labels", "coupled oracle"}


def test_measures_are_those_of_a_second_opinion():
    problem = classifiers_of_halves(0, 50)
    accuracy, others = measures_of(problem, problem.main.came)
    truth, found = problem.truth[problem.test], problem.main.came[problem.test]
    assert accuracy == accuracy_score(truth, problem.main.classes.most_probable(found))
    expected = log_loss(truth, found, labels=list(problem.main.classes.names))
    assert others["log_loss"] == pytest.approx(expected, rel=0.01)
    assert facts_of(problem) == {"references": 1, "pairs": 150, "labels": 50, "coarse": False}


def test_what_is_said_as_often_as_it_is_right_has_no_calibration_error(rng):
    said = rng.uniform(size=200_000)
    right = (rng.uniform(size=200_000) < said).astype(float)
    assert calibration_error(said, right) < 0.01
    assert calibration_error(np.minimum(said + 0.2, 1.0), right) == pytest.approx(0.18, abs=0.01)


def test_truth_at_pairs_is_told_without_references():
    problem = classifiers_of_halves(0, 0)
    method, needed = METHODS["truth told at the pairs"]
    assert needed == ""
    found = method(problem)
    right = problem.main.classes.most_probable(found) == problem.truth
    alone = problem.main.classes.most_probable(problem.main.came) == problem.truth
    assert right[problem.pairs].mean() > 0.9
    assert right[problem.test].mean() > alone[problem.test].mean() + 0.05
