"""The protocols keep rows apart, and the method keeps on one split what was found with it."""

import numpy as np
import pytest

import manifuse as mf
from manifuse.diffusion.algorithm1 import Algorithm1
from manifuse.evidence.accuracy import ranking_accuracy
from manifuse.report.drawing import as_svg
from manifuse_study.datasets.dataset import Dataset, Task
from manifuse_study.datasets.digits import digits
from manifuse_study.datasets.hw import HW
from manifuse_study.datasets.synthetic import TASKS, toy_tasks
from manifuse_study.experiments.methods import METHODS
from manifuse_study.experiments.protocol import Protocol, Roles
from manifuse_study.experiments.provenance import provenance
from manifuse_study.experiments.result_figures import draw_toy
from manifuse_study.experiments.rows import read_csv, read_frame, rows_csv, write_rows
from manifuse_study.experiments.scripts import run_by_set
from manifuse_study.experiments.toy import Metrics, estimate_metrics, merit, same_group
from manifuse_study.experiments.trial import Case, Trial, train_rankers


def attributes(rows, tasks, rng):
    """Some attributes of the same rows."""
    features = rng.standard_normal((rows, 6))
    labels = [np.round(features @ rng.standard_normal(6)) for _ in range(tasks)]
    return Dataset("attributes", "Attributes", {f"a{k}": Task(features, labels[k]) for k in range(tasks)})


def test_no_row_is_used_twice_where_rows_are_decoupled():
    optical = digits()
    roles = Roles.draw(optical, Protocol("decoupled"), 0)
    pairs = set(roles.main_rows) & set(roles.reference_rows)
    assert len(pairs) == 200
    assert len(set(roles.main_rows) | set(roles.reference_rows)) == 1797
    for task in optical.tasks:
        parts = [roles.train[task], roles.validation, roles.test, np.array(sorted(pairs))]
        assert len(np.unique(np.concatenate(parts))) == sum(map(len, parts)) == len(roles.main_rows)
        theirs = np.concatenate([roles.reference_train[task], roles.reference_validation[task]])
        assert set(theirs) <= set(roles.reference_rows) - pairs
        assert len(set(theirs)) == 400
    assert set(roles.reference_train["pixels"]) != set(roles.reference_train["zernike"])


def test_a_reference_half_that_is_too_small_is_filled_up_with_pairs(rng):
    dataset = attributes(772, 3, rng)
    roles = Roles.draw(dataset, Protocol("decoupled", validation=100, main_half=422), 0)
    assert (len(roles.main_rows), len(roles.reference_rows), len(roles.test)) == (622, 350, 122)
    for task in dataset.tasks:
        theirs = np.concatenate([roles.reference_train[task], roles.reference_validation[task]])
        assert set(theirs) <= set(roles.reference_rows)
        assert not set(theirs) & (set(roles.train[task]) | set(roles.validation) | set(roles.test))


@pytest.mark.parametrize("region, sizes", [(None, (1000, 200)), (300, (300, 500))])
def test_no_ranker_is_trained_on_test_rows_where_all_are_coupled(region, sizes, rng):
    tasks = 5 if region is None else 2
    dataset = attributes(1400 if region is None else 1000, tasks, rng)
    roles = Roles.draw(dataset, Protocol("coupled", region=region), 0)
    trained = {row for rows in roles.train.values() for row in rows}
    assert len(trained) == (sizes[0] if region is None else len(trained))
    assert len(roles.test) == sizes[1]
    assert not trained & (set(roles.test) | set(roles.validation))
    assert not set(roles.test) & set(roles.validation)
    assert all(len(rows) == 200 for rows in roles.train.values())
    np.testing.assert_array_equal(roles.main_rows, np.arange(len(dataset)))


@pytest.mark.parametrize("protocol", [Protocol("coupled"), Protocol("decoupled")])
def test_too_few_rows_to_test_on_are_refused(protocol, rng):
    with pytest.raises(mf.InputError, match="to test on"):
        Roles.draw(attributes(640, 3, rng), protocol, 0)


@pytest.fixture(scope="module")
def trial():
    dataset = attributes(500, 3, np.random.default_rng(0))
    return Trial.prepare(dataset, Protocol("decoupled", pairs=100, training=60, validation=60), 0)


def test_a_method_sees_only_its_tables(trial):
    case = Case(trial, "a1")
    assert set(case.main.keys) == {str(row) for row in trial.roles.main_rows}
    for reference in case.references:
        assert set(reference.keys) == {str(row) for row in trial.roles.reference_rows}
        assert reference.name != "a1"
    tested = {str(row) for row in trial.roles.test}
    assert not tested & set(case.labels.keys)


def test_accuracy_is_of_the_validation_rows_or_the_test_rows(trial):
    case, labels, scores = Case(trial, "a1"), trial.dataset.tasks["a1"].labels, trial.rankers["a1"].main.scores
    test, validation = trial.roles.test, trial.roles.validation
    assert case.test_accuracy(case.main.scores) == ranking_accuracy(labels[test], scores[test])
    assert case.accuracy(case.main.scores) == ranking_accuracy(labels[validation], scores[validation])


def test_an_oracle_knows_the_references_on_the_main_rows(trial):
    for reference in Case(trial, "a1").tables_of_others(coupled=True):
        rows = trial.roles.main_rows
        np.testing.assert_array_equal(reference.scores, trial.rankers[reference.name].reference.scores[rows])
        assert reference.table is None


def test_on_hw_the_papers_claims_hold_on_one_split(data):
    trial = Trial.prepare(HW.load(data), Protocol("decoupled"), 1)
    cases = {task: Case(trial, task) for task in trial.dataset.tasks}
    alone = {task: case.test_accuracy(case.main.scores) for task, case in cases.items()}
    for task in ("fac", "pix"):
        refined = cases[task].test_accuracy(METHODS["JMD"].run(cases[task]).predictions)
        assert refined > max(alone.values())
        assert refined > alone[task] + 0.03


def test_the_same_seed_prepares_the_same_trial(trial):
    again = train_rankers(trial.dataset, Roles.draw(trial.dataset, trial.protocol, 0), "a1", deep=False)
    np.testing.assert_array_equal(again.main.scores, trial.rankers["a1"].main.scores)
    np.testing.assert_array_equal(again.reference.scores, trial.rankers["a1"].reference.scores)


@pytest.fixture(scope="module")
def metrics():
    method = Algorithm1(score_scale=1.0, anchored=False, smoothing=0.0, ignore_chance=False)
    return estimate_metrics(toy_tasks(np.random.default_rng(0)), method, 0)


def test_the_groups_of_the_toy_tasks_are_found(metrics):
    assert merit(metrics.true, metrics.true)["correlation"] == pytest.approx(1.0)
    first = merit(metrics.first, metrics.true)
    assert first["correlation"] > 0.85
    assert first["within"] - first["elsewhere"] > 0.25
    assert merit(metrics.pairs, metrics.true)["correlation"] > 0.9


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
    assert (found["within"], found["elsewhere"]) == (pytest.approx(0.8), pytest.approx(0.2))
    assert Metrics.__dataclass_fields__.keys() == {"true", "first", "final", "pairs", "fidelity"}
    assert same_group().sum() == 2 * 16 + TASKS - 8


def test_rows_carry_their_provenance(tmp_path):
    (tmp_path / "rows.csv").write_bytes(rows_csv([{"task": "fac", **provenance()}]))
    head, line = (tmp_path / "rows.csv").read_text().splitlines()
    assert head.split(",") == ["task", "commit", "manifuse", "python", "numpy", "scipy", "scikit-learn", "torch"]
    assert line.startswith("fac,")


def test_rows_of_other_data_sets_are_kept_in_the_order_of_the_sets(tmp_path, monkeypatch):
    path, run = tmp_path / "rows.csv", []

    def measure(name, folder, seed):
        run.append((name, seed))
        return [{"dataset": name, "seed": seed, "run": len(run)}]

    for words in ([], ["--trials", "1", "cal7"]):
        monkeypatch.setattr("sys.argv", ["script", "--jobs", "1", "--out", str(path), *words])
        run_by_set(measure, path, ["hw", "cal7"], trials=2, first=5, description=None)
    assert run == [("hw", 5), ("hw", 6), ("cal7", 5), ("cal7", 6), ("cal7", 5)]
    found = [(row["dataset"], row["seed"], row["run"]) for row in read_csv(path)]
    assert found == [("hw", "5", "1"), ("hw", "6", "2"), ("cal7", "5", "5")]
    assert all(row.items() >= provenance().items() for row in read_csv(path))


def test_rows_are_whole_after_every_part_and_come_back_as_columns(tmp_path):
    path = tmp_path / "rows.csv"

    def parts():
        yield [{"name": "a", "gain": 0.1}, {"name": "b", "gain": float("nan")}]
        assert len(read_csv(path)) == 2
        yield [{"name": "c", "gain": 1}]

    write_rows(path, parts())
    found = read_frame(path)
    np.testing.assert_array_equal(found["gain"].to_numpy(), [0.1, np.nan, 1.0])
    assert found["python"].to_list() == [provenance()["python"]] * 3
