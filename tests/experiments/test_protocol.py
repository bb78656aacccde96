"""The protocols keep their promises, and the method what was found with it."""

import numpy as np
import pytest

from manifuse.datasets.digits import digits
from manifuse.datasets.hw import hw
from manifuse.datasets.synthetic import TASKS, toy_tasks
from manifuse.diffusion.method import JointDiffusion
from manifuse.experiments.decoupled import METHODS, PAIRS, Split, Trial, run_task
from manifuse.experiments.figures import as_svg, draw_toy
from manifuse.experiments.provenance import provenance, write_rows
from manifuse.experiments.toy import Metrics, estimate_metrics, merit, same_group
from manifuse.ranking.accuracy import ranking_accuracy


def test_no_row_is_used_twice():
    split = Split.draw(1797, np.random.default_rng(0))
    parts = [split.pairs, split.train, split.validation, split.test, split.reference_half]
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together) == 1797
    assert set(split.main_rows) & set(split.reference_rows) == set(split.pairs)
    assert len(split.pairs) == PAIRS


@pytest.fixture(scope="module")
def trial():
    return Trial.prepare(digits(), 0)


def test_a_method_sees_only_its_tables(trial):
    main = trial.main("zernike")
    assert set(main.keys) == {str(row) for row in trial.split.main_rows}
    for reference in trial.references("zernike"):
        assert set(reference.keys) == {str(row) for row in trial.split.reference_rows}
        assert reference.name != "zernike"
    tested = {str(row) for row in trial.split.test}
    assert not tested & set(trial.labels().keys)


def test_accuracy_is_of_the_test_rows(trial):
    main = trial.main("zernike")
    expected = ranking_accuracy(trial.dataset.labels[trial.split.test], trial.main_scores["zernike"][trial.split.test])
    assert trial.test_accuracy(main.scores) == expected


def test_references_on_other_rows_make_every_digit_ranker_better(trial):
    accuracies = {}
    for view in trial.dataset.views:
        for result, _ in run_task(trial, view, JointDiffusion(), 0):
            accuracies.setdefault(result.method, {})[view] = result.accuracy
    assert tuple(accuracies) == METHODS
    means = {method: np.mean(list(by_view.values())) for method, by_view in accuracies.items()}
    assert all(accuracies["JMD"][view] > accuracies["Ind"][view] for view in trial.dataset.views)
    assert means["JMD"] > means["self-smoothing"] > means["Ind"]
    assert means["JMD without labels"] > means["Ind"] + 0.03


def test_on_hw_the_papers_claims_hold_on_one_split(data):
    trial = Trial.prepare(hw(data), 1)
    best_single = max(trial.test_accuracy(trial.main(view).scores) for view in trial.dataset.views)
    for view in ("fac", "pix"):
        results = {result.method: result.accuracy for result, _ in run_task(trial, view, JointDiffusion(), 1)}
        assert results["JMD"] > best_single
        assert results["JMD"] > results["Ind"] + 0.03


def test_the_same_seed_prepares_the_same_trial(trial):
    again = Trial.prepare(digits(), 0)
    for view in trial.dataset.views:
        np.testing.assert_array_equal(again.main_scores[view], trial.main_scores[view])
        np.testing.assert_array_equal(again.reference_scores[view], trial.reference_scores[view])


@pytest.fixture(scope="module")
def metrics():
    method = JointDiffusion(score_scale=(0.3, 1.0), anchored=False, smoothing=0.0, ignore_chance=False)
    return estimate_metrics(toy_tasks(np.random.default_rng(0)), method, 0)


def test_the_groups_of_the_toy_tasks_are_found(metrics):
    assert merit(metrics.true, metrics.true).correlation == pytest.approx(1.0)
    first = merit(metrics.first, metrics.true)
    assert first.correlation > 0.85
    assert first.separation > 0.25
    assert merit(metrics.pairs, metrics.true).correlation > 0.9


def test_the_toy_figure_shows_three_panels(metrics):
    figure = draw_toy(metrics)
    assert [axes.get_title() for axes in figure.axes[:3]] == [
        "true metric (coupled)",
        "over the first bridges",
        "after joint diffusion",
    ]
    assert as_svg(figure).startswith("<svg")
    assert as_svg(draw_toy(metrics)) == as_svg(draw_toy(metrics))


def test_merit_by_hand():
    flat = np.where(same_group(), 0.8, 0.2)
    np.fill_diagonal(flat, 1.0)
    found = merit(flat, flat)
    assert (found.within, found.elsewhere) == (pytest.approx(0.8), pytest.approx(0.2))
    assert found.separation == pytest.approx(0.6)
    assert Metrics.__dataclass_fields__.keys() == {"true", "first", "final", "pairs", "fidelity"}
    assert same_group().sum() == 2 * 16 + TASKS - 8


def test_rows_carry_their_provenance(tmp_path):
    write_rows(tmp_path / "rows.csv", [{"task": "fac", **provenance()}])
    head, line = (tmp_path / "rows.csv").read_text().splitlines()
    assert head.split(",") == ["task", "commit", "python", "manifuse", "numpy", "scipy", "scikit-learn"]
    assert line.startswith("fac,")
