"""Methods: each applies to a case or says why not, and sees only what it may."""

from dataclasses import replace

import numpy as np
import pytest

from manifuse.evidence.rankings import GradedRanking
from manifuse_study.datasets.dataset import Dataset, Task
from manifuse_study.experiments.methods import COUPLED, DECOUPLED, METHODS, SHARED
from manifuse_study.experiments.protocol import Protocol
from manifuse_study.experiments.trial import Case, Trial

#: Rivals that need references at pairs only, rivals that need no reference, and those that know more.
NEW = ("JMD, no references", "own labels", "forest and average", "retrained", "retrained, then refined")


def views(rows=700, tasks=3):
    """Noisy views of a continuous truth, each a task with its own features."""
    rng = np.random.default_rng(0)
    hidden = rng.uniform(-2, 2, (rows, 3))
    truth = np.sin(2 * hidden[:, 0]) + hidden[:, 1]

    def features():
        return hidden @ rng.standard_normal((3, 5)) + 0.3 * rng.standard_normal((rows, 5))

    return Dataset("views", "Views", {f"v{k}": Task(features(), truth) for k in range(tasks)})


@pytest.fixture(scope="module")
def case():
    return Case(Trial.prepare(views(), Protocol("decoupled", pairs=100, training=40, validation=60), 0), "v0")


def with_other_truth(case, rows):
    """The same case, but the truth of some rows is turned around."""
    dataset = case.trial.dataset
    labels = dataset.tasks["v0"].labels.copy()
    labels[rows] = -labels[rows]
    tasks = {name: Task(task.features, labels) for name, task in dataset.tasks.items()}
    return Case(replace(case.trial, dataset=replace(dataset, tasks=tasks)), case.task)


@pytest.mark.parametrize("kind, skipped", [("decoupled", {COUPLED, SHARED}), ("coupled", {DECOUPLED, SHARED})])
def test_every_method_applies_or_says_why_not(case, kind, skipped):
    here = Case(replace(case.trial, protocol=replace(case.trial.protocol, kind=kind)), case.task)
    for name, method in METHODS.items():
        assert method.name == name
        assert method.reason_to_skip(here) == (method.needs if method.needs in skipped else "")


@pytest.mark.parametrize("name", NEW[1:])
def test_rivals_are_better_than_the_predictor_alone_where_the_truth_is_continuous(case, name):
    outcome = METHODS[name].run(case)
    assert outcome.predictions.shape == (len(case.main),)
    assert case.test_accuracy(outcome.predictions) > case.test_accuracy(case.main.scores)


@pytest.mark.parametrize("name", NEW)
def test_no_rival_sees_the_truth_of_test_rows(case, name):
    other = with_other_truth(case, case.trial.roles.test)
    np.testing.assert_array_equal(METHODS[name].run(case).predictions, METHODS[name].run(other).predictions)


@pytest.mark.parametrize("name", [name for name in METHODS if name in NEW])
def test_only_what_knows_more_sees_the_truth_of_training_rows(case, name):
    other = with_other_truth(case, case.trial.roles.train[case.task])
    before, after = (METHODS[name].run(each).predictions for each in (case, other))
    assert np.array_equal(before, after) != METHODS[name].knows_more


def test_without_references_none_takes_part(case):
    outcome = METHODS["JMD, no references"].run(case)
    assert outcome.refinement.relevance == ()
    assert outcome.hyperparameters["weights"] == {}


def test_the_retrained_ranker_is_refined_without_labels(case):
    retrained, refined = (METHODS[name].run(case) for name in ("retrained", "retrained, then refined"))
    np.testing.assert_array_equal(refined.refinement.main.scores, retrained.predictions)
    assert refined.refinement.accuracy is None
    assert [entry.name for entry in refined.refinement.relevance] == case.others


def test_labels_of_a_case_may_be_continuous(case):
    assert len(np.unique(case.grades)) == len(case.grades)
    score = GradedRanking(case.rows, case.grades)
    assert case.accuracy(case.main.scores) == score.evaluate(case.main.scores[case.rows, None])[0]
