"""When references pay: cells differ in labels and pairs alone, and their rows are written once."""

import csv
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from study.tests.experiments.test_methods import views

from manifuse.grid import ABSENT
from manifuse.report.drawing import as_svg
from manifuse_study.experiments import payoff
from manifuse_study.experiments.payoff import METHODS, Payoff, measure_cell, payoff_grid, payoffs, with_fewer
from manifuse_study.experiments.protocol import Protocol
from manifuse_study.experiments.result_figures import draw_payoffs
from manifuse_study.experiments.trial import Case


@pytest.fixture(scope="module", params=["accuracy", "rmse"])
def measured(request):
    """A measure, and a split of a small data set with it."""
    patch = pytest.MonkeyPatch()
    patch.setattr(payoff, "PROTOCOL", Protocol("decoupled", pairs=100, training=40, validation=60))
    yield request.param, payoff.prepare_trial(views(tasks=2), request.param, 0)
    patch.undo()


def test_fewer_labels_and_pairs_change_nothing_else(measured):
    _, trial = measured
    fewer = with_fewer(trial, 20, 30)
    assert fewer.rankers is trial.rankers
    for name in ("main_rows", "test"):
        np.testing.assert_array_equal(getattr(fewer.roles, name), getattr(trial.roles, name))
    np.testing.assert_array_equal(fewer.roles.validation, trial.roles.validation[:20])
    common = set(fewer.roles.main_rows) & set(fewer.roles.reference_rows)
    assert common == set(trial.roles.main_rows[:30])
    assert len(trial.roles.reference_rows) - len(fewer.roles.reference_rows) == 70
    case = Case(fewer, "v0")
    assert {len(set(each.keys) & set(case.main.keys)) for each in case.references} == {30}


def test_a_cell_measures_every_method_and_without_labels_only_some(measured):
    measure, trial = measured
    found = measure_cell(with_fewer(trial, 60, 100), measure)
    assert set(found) == {*METHODS, "worst", "accepted"}
    assert all(np.isfinite(value) for value in found.values())
    alone = [
        case.test_error(case.main.scores) if measure == "rmse" else case.test_accuracy(case.main.scores)
        for case in (Case(trial, task) for task in trial.dataset.tasks)
    ]
    assert found["alone"] == np.mean(alone)
    none = measure_cell(with_fewer(trial, 0, 100), measure)
    assert none["alone"] == none["JMD, no references"] == found["alone"]
    assert {name for name in METHODS if np.isnan(none[name])} == {"own labels", "self-smoothing"}


def test_a_regressor_predicts_in_the_units_of_the_truth(measured):
    measure, trial = measured
    truth, scores = trial.dataset.tasks["v0"].labels[trial.roles.test], trial.rankers["v0"].main.scores
    error = np.mean((scores[trial.roles.test] - truth) ** 2)
    if measure == "rmse":
        assert error < truth.var()
        assert Case(trial, "v0").test_error(scores[trial.roles.main_rows]) == pytest.approx(np.sqrt(error))


def row(measure, labels, pairs, **values):
    known = {"alone": 0.8, "JMD": 0.85, "JMD, no references": 0.84, "own labels": 0.83, "self-smoothing": 0.81}
    return {"dataset": "hw", "measure": measure, "labels": labels, "pairs": pairs, **known, **values}


def test_gains_are_points_over_the_rival_that_is_best_in_the_mean():
    other = {"own labels": 0.75, "self-smoothing": 0.87}
    rows = pl.DataFrame([row("accuracy", 20, 30), row("accuracy", 20, 30, **other), row("rmse", 20, 30)])
    (found,) = payoffs(rows, "hw", "accuracy").values()
    assert found == Payoff(*(pytest.approx(value) for value in (5.0, 1.0, 1.0)), "self-smoothing", 2)
    # An error is better if it is smaller.
    (found,) = payoffs(rows, "hw", "rmse").values()
    assert found == Payoff(*(pytest.approx(value) for value in (-5.0, -4.0, -1.0)), "self-smoothing", 1)
    assert payoffs(rows, "cal7", "accuracy") == {}


def test_a_table_and_a_picture_show_every_cell():
    nan = {"own labels": np.nan, "self-smoothing": None}
    rows = [row("accuracy", 0, 30, **nan), row("accuracy", 20, 30), row("accuracy", 20, 100)]
    found = payoffs(pl.DataFrame(rows), "hw", "accuracy")
    grid = payoff_grid(found)
    assert grid.head == ("labels", "30 pairs", "100 pairs", "best rival")
    assert grid.body == (
        ("0", f"+5.0 / {ABSENT} / +1.0", ABSENT, ABSENT),
        ("20", "+5.0 / +2.0 / +1.0", "+5.0 / +2.0 / +1.0", "own labels"),
    )
    figure = draw_payoffs({"HW": found, "again": found})
    panels = figure.axes[:6]
    assert [axes.get_title(loc="left") for axes in panels[:2]] == ["HW\nover alone", "again\nover alone"]
    values = np.ma.filled(panels[2].images[0].get_array(), np.nan)
    np.testing.assert_allclose(values, [[np.nan, np.nan], [2.0, 2.0]])
    assert [text.get_text() for text in panels[2].texts] == ["+2.0", "+2.0"]
    assert as_svg(figure).startswith("<svg")


def test_the_script_computes_only_the_rows_that_are_missing(tmp_path, monkeypatch, capsys):
    spec = spec_from_file_location("map_script", Path(__file__).parents[2] / "experiments" / "map.py")
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    seen = []

    def measure(folder, *cell):
        seen.append(cell)
        return {**dict(zip(payoff.KEY, cell, strict=True)), "JMD": 0.5, "seconds": 1.0}

    monkeypatch.setattr(script, "measure_row", measure)
    out = tmp_path / "map.csv"
    words = ["--only", "hw", "--labels", "0", "20", "--pairs", "30", "--out", str(out)]
    script.main([*words, "--trials", "1"])
    assert seen == [("hw", "accuracy", 100, 0, 30), ("hw", "accuracy", 100, 20, 30)]
    before = out.read_text()
    script.main([*words, "--trials", "2"])
    assert seen[2:] == [("hw", "accuracy", 101, 0, 30), ("hw", "accuracy", 101, 20, 30)]
    assert out.read_text().startswith(before)
    with out.open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 4
    assert "4: hw, accuracy, 101, 20, 30" in capsys.readouterr().out
