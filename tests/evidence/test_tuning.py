from dataclasses import replace

import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf
from manifuse.study.datasets.synthetic import toy_tasks
from manifuse.evidence import tuning
from manifuse.diffusion.bridges import Bridges, NeighbourTables
from manifuse.backends.backend import Backend
from manifuse.diffusion.problem import Problem
from manifuse.evidence.relevance import MANY_PAIRS, assign_folds, chance_level, fidelities, weigh_pairs
from manifuse.evidence.tuning import choose_bridges, scalings_to_try
from manifuse.kernels.sphere import unit

CANDIDATES = mf.JointDiffusion(
    neighbours=(4, 8),
    score_scale=(0.05, 1.0),
    bridge=(mf.ImplicitEuler(1.0), mf.ImplicitEuler(10.0)),
    standardised=True,
)


def choose(problem, method, seed):
    place = mf.Host()
    return choose_bridges(problem, method, seed, place, scalings_to_try(problem, method, seed, place))


def searched(problem, method):
    """Every table, standardised."""
    flags = (True,) * (1 + len(problem.references))
    return NeighbourTables.search(problem, method, mf.Host(), standardised=flags, rng=np.random.default_rng(0))


class Counting(Backend):
    """The host, and how many rows it was asked to search."""

    def __init__(self):
        self.host, self.sizes = mf.Host(), []

    def search(self, features, *arguments, **options):
        self.sizes.append(len(features))
        return self.host.search(features, *arguments, **options)

    def graph(self, *arguments):
        return self.host.graph(*arguments)

    def search_bytes(self, features):
        return 0

    def edge_bytes(self, rows):
        return 0

    def free_memory(self):
        return None


def problem_of(seed=0, **options):
    case = draw(seed, **options)
    return Problem.of(case.main, case.references)


@pytest.mark.parametrize("selection", ["held-out", "alignment"])
def test_the_chosen_setting_is_the_best_of_all_tried(selection):
    method = replace(CANDIDATES, selection=selection)
    bridges, _, trials = choose(problem_of(), method, 0)
    assert len(trials) == 8
    best = max(trials, key=lambda trial: trial.criterion)
    assert bridges.setting == best.setting


def test_the_papers_rule_is_the_largest_squared_alignment():
    problem = problem_of()
    method = replace(CANDIDATES, selection="alignment")
    _, _, trials = choose(problem, method, 0)
    tables = searched(problem, method)
    for trial in trials:
        bridges = Bridges.build(problem, [trial.setting], tables, mf.Host())[0]
        arrived = bridges.transport(problem.start).values
        largest = max(np.corrcoef(problem.start, column)[0, 1] ** 2 for column in arrived.T)
        assert trial.criterion == pytest.approx(largest)


def test_the_held_out_rule_is_the_mean_alignment_at_pairs_held_out():
    problem = problem_of()
    _, folds, trials = choose(problem, CANDIDATES, 0)
    tables = searched(problem, CANDIDATES)
    for trial in trials:
        held_out = Bridges.build(problem, [trial.setting], tables, mf.Host())[0].predict_held_out(problem.start, folds)
        aligned = [np.corrcoef(held_out[k], r.paired)[0, 1] for k, r in enumerate(problem.references)]
        assert trial.criterion == pytest.approx(np.mean(aligned))


def test_a_coupled_reference_does_not_hide_the_others_from_the_papers_rule():
    case = draw(0)
    coupled = mf.Observations(case.main.scores + 0.01 * case.truth, ids=case.main.keys, name="coupled")
    problem = Problem.of(case.main, [coupled, *case.references])
    _, _, trials = choose(problem, replace(CANDIDATES, selection="alignment"), 0)
    assert len({trial.criterion for trial in trials}) == len(trials)


def test_alignment_over_the_bridge_is_optimistic_and_the_pairs_are_not():
    # Tasks 9 to 12 of the toy data have nothing to do with each other; a strong prediction weight makes
    # the bridge copy the main predictor, which looks like alignment.
    over, held, fidelity = [], [], []
    for seed in range(4):
        tasks = toy_tasks(np.random.default_rng(seed)).decoupled[8:]
        problem = Problem.of(tasks[0], tasks[1:])
        bridges, folds, _ = choose(problem, mf.JointDiffusion(), 0)
        arrived = bridges.transport(problem.start).values
        over += [abs(np.corrcoef(problem.start, column)[0, 1]) for column in arrived.T]
        evidence = weigh_pairs(bridges, folds, 0)
        held += [seen.alignment for seen in evidence]
        fidelity += [seen.fidelity for seen in evidence]
    assert np.mean(over) > 0.2
    assert abs(np.mean(held)) < 0.12
    assert np.mean(fidelity) < np.mean(over)


def test_the_chance_level_holds_what_it_says():
    above = 0
    for seed in range(60):
        case = draw(seed, rows=60, pairs=30, references=1)
        noise = remade(case.references[0], predictions=np.random.default_rng(seed).standard_normal(60))
        problem = Problem.of(case.main, [noise])
        bridges, folds, _ = choose(problem, mf.JointDiffusion(), seed)
        evidence = weigh_pairs(bridges, folds, seed)[0]
        above += abs(evidence.alignment) > evidence.chance
    assert above <= 8


def test_held_out_predictions_are_those_of_bridges_without_the_pairs():
    problem = problem_of(references=1)
    method = mf.JointDiffusion()
    tables = searched(problem, method)
    bridges = Bridges.build(problem, method.settings(), tables, mf.Host())[0]
    folds = assign_folds(problem, 4, 0)
    held_out = bridges.predict_held_out(problem.start, folds)[0]
    reference = problem.references[0]
    for fold in range(4):
        out = folds[0] == fold
        kept = replace(reference, main_rows=reference.main_rows[~out], reference_rows=reference.reference_rows[~out])
        smaller = Bridges.build(replace(problem, references=(kept,)), method.settings(), tables, mf.Host())[0]
        arrived = smaller.transport(problem.start).values[reference.main_rows[out], 0]
        np.testing.assert_allclose(held_out[out], arrived, atol=1e-9)


def test_folds_are_of_nearly_equal_size():
    problem = problem_of()
    bridges, folds, _ = choose(problem, mf.JointDiffusion(folds=7), 0)
    for fold in folds:
        sizes = np.bincount(fold)
        assert len(sizes) == 7
        assert sizes.max() - sizes.min() <= 1
    assert np.abs(fidelities(bridges, folds)).max() <= 1


def test_with_all_ids_common_there_is_nothing_to_choose():
    bridges, _, trials = choose(problem_of(features=False), CANDIDATES, 0)
    assert trials == ()
    assert bridges.graph is None


def test_every_table_takes_the_scaling_that_its_pairs_speak_for():
    case = draw(3, pairs=80)
    rng = np.random.default_rng(0)
    # Raw, a column of loud noise drowns the others; standardised, a crowd of faint noise does.
    loud = np.column_stack([case.main.table, 1e3 * rng.standard_normal(160)])
    crowd = np.column_stack([10 * case.references[0].table, 0.1 * rng.standard_normal((160, 60))])
    problem = Problem.of(remade(case.main, features=loud), [remade(case.references[0], features=crowd)])
    bridges, _, _ = choose(problem, mf.JointDiffusion(), 0)
    assert bridges.standardised == (True, False)
    fixed, _, _ = choose(problem, mf.JointDiffusion(standardised=True), 0)
    assert fixed.standardised == (True, True)


def test_a_sample_of_large_tables_chooses_their_scaling_and_each_is_searched_once(monkeypatch):
    case = draw(3, pairs=80, rows=400)
    rng = np.random.default_rng(0)
    loud = np.column_stack([case.main.table, 1e3 * rng.standard_normal(400)])
    crowd = np.column_stack([10 * case.references[0].table, 0.1 * rng.standard_normal((400, 60))])
    coupled = mf.Observations(case.truth + rng.standard_normal(400), ids=case.main.keys, name="coupled")
    references = [remade(case.references[0], features=crowd), coupled]
    problem = Problem.of(remade(case.main, features=loud), references)
    every = choose(problem, mf.JointDiffusion(), 0)[0]
    monkeypatch.setattr(tuning, "LARGE", 300)
    monkeypatch.setattr(tuning, "SAMPLED", 200)
    method, place = mf.JointDiffusion(), Counting()
    scalings = scalings_to_try(problem, method, 0, place)
    bridges = choose_bridges(problem, method, 0, place, scalings)[0]
    assert bridges.standardised == every.standardised == (True, False, None)
    assert sorted(place.sizes) == [200] * 4 + [400] * 2


def test_a_sample_keeps_all_pairs_as_they_are():
    case = draw(1, pairs=30)
    coupled = mf.Observations(case.truth, ids=case.main.keys[::-1], name="coupled")
    whole = Problem.of(case.main, [*case.references, coupled])
    part = whole.sample(100, np.random.default_rng(0))
    assert len(part.main) == 100
    for before, after in zip(whole.references[:2], part.references[:2], strict=True):
        np.testing.assert_array_equal(part.main.keys[after.main_rows], whole.main.keys[before.main_rows])
        theirs = before.table.keys[before.reference_rows]
        np.testing.assert_array_equal(after.table.keys[after.reference_rows], theirs)
        assert len(after.scores) == len(after.table) == 100
        assert np.corrcoef(before.paired, after.paired)[0, 1] == pytest.approx(1.0)
    partners = dict(zip(whole.main.keys[whole.references[2].main_rows], whole.references[2].paired, strict=True))
    np.testing.assert_array_equal(part.references[2].paired, [partners[key] for key in part.main.keys])


def test_for_many_pairs_the_chance_level_is_the_limit_of_permutations(rng):
    ours, theirs = unit(rng.standard_normal((MANY_PAIRS + 1, 2))).T
    limit = chance_level(ours, theirs, 0)
    drawn = [abs(ours @ rng.permutation(theirs)) for _ in range(2000)]
    assert limit == pytest.approx(np.quantile(drawn, 0.95), rel=0.06)
    assert chance_level(ours[1:], theirs[1:], 0) == pytest.approx(limit, rel=0.1)
