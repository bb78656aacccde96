from dataclasses import replace

import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf
from manifuse.datasets.synthetic import toy_tasks
from manifuse.diffusion.bridges import Bridges, NeighbourTables
from manifuse.diffusion.problem import Problem
from manifuse.diffusion.relevance import MANY_PAIRS, assign_folds, chance_level, fidelities, weigh_pairs
from manifuse.diffusion.tuning import choose_bridges
from manifuse.kernels.sphere import unit

CANDIDATES = mf.JointDiffusion(
    neighbours=(4, 8),
    score_scale=(0.05, 1.0),
    bridge=(mf.ImplicitEuler(1.0), mf.ImplicitEuler(10.0)),
    standardised=True,
)


def problem_of(seed=0, **options):
    case = draw(seed, **options)
    return Problem.of(case.main, case.references)


@pytest.mark.parametrize("selection", ["held-out", "alignment"])
def test_the_chosen_setting_is_the_best_of_all_tried(selection):
    method = replace(CANDIDATES, selection=selection)
    bridges, _, trials = choose_bridges(problem_of(), method, 0, mf.Host())
    assert len(trials) == 8
    best = max(trials, key=lambda trial: trial.criterion)
    assert bridges.setting == best.setting


def test_the_papers_rule_is_the_largest_squared_alignment():
    problem = problem_of()
    method = replace(CANDIDATES, selection="alignment")
    _, _, trials = choose_bridges(problem, method, 0, mf.Host())
    tables = NeighbourTables.search(problem, method, mf.Host(), standardised=True, rng=np.random.default_rng(0))
    for trial in trials:
        arrived = Bridges.build(problem, [trial.setting], tables, mf.Host())[0].transport(problem.start).values
        largest = max(np.corrcoef(problem.start, column)[0, 1] ** 2 for column in arrived.T)
        assert trial.criterion == pytest.approx(largest)


def test_the_held_out_rule_is_the_mean_alignment_at_pairs_held_out():
    problem = problem_of()
    _, folds, trials = choose_bridges(problem, CANDIDATES, 0, mf.Host())
    tables = NeighbourTables.search(problem, CANDIDATES, mf.Host(), standardised=True, rng=np.random.default_rng(0))
    for trial in trials:
        held_out = Bridges.build(problem, [trial.setting], tables, mf.Host())[0].predict_held_out(problem.start, folds)
        aligned = [np.corrcoef(held_out[k], r.paired_scores())[0, 1] for k, r in enumerate(problem.references)]
        assert trial.criterion == pytest.approx(np.mean(aligned))


def test_a_coupled_reference_does_not_hide_the_others_from_the_papers_rule():
    case = draw(0)
    coupled = mf.Observations(case.main.scores + 0.01 * case.truth, ids=case.main.keys, name="coupled")
    problem = Problem.of(case.main, [coupled, *case.references])
    _, _, trials = choose_bridges(problem, replace(CANDIDATES, selection="alignment"), 0, mf.Host())
    assert len({trial.criterion for trial in trials}) == len(trials)


def test_alignment_over_the_bridge_is_optimistic_and_the_pairs_are_not():
    # Tasks 9 to 12 of the toy data have nothing to do with each other; a strong prediction weight makes
    # the bridge copy the main predictor, which looks like alignment.
    over, held, fidelity = [], [], []
    for seed in range(4):
        tasks = toy_tasks(np.random.default_rng(seed)).decoupled[8:]
        problem = Problem.of(tasks[0], tasks[1:])
        bridges, folds, _ = choose_bridges(problem, mf.JointDiffusion(), 0, mf.Host())
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
        bridges, folds, _ = choose_bridges(problem, mf.JointDiffusion(), seed, mf.Host())
        evidence = weigh_pairs(bridges, folds, seed)[0]
        above += abs(evidence.alignment) > evidence.chance
    assert above <= 8


def test_held_out_predictions_are_those_of_bridges_without_the_pairs():
    problem = problem_of(references=1)
    method = mf.JointDiffusion()
    tables = NeighbourTables.search(problem, method, mf.Host(), standardised=True, rng=np.random.default_rng(0))
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
    bridges, folds, _ = choose_bridges(problem, mf.JointDiffusion(folds=7), 0, mf.Host())
    for fold in folds:
        sizes = np.bincount(fold)
        assert len(sizes) == 7
        assert sizes.max() - sizes.min() <= 1
    assert np.abs(fidelities(bridges, folds)).max() <= 1


def test_with_all_ids_common_there_is_nothing_to_choose():
    bridges, _, trials = choose_bridges(problem_of(features=False), CANDIDATES, 0, mf.Host())
    assert trials == ()
    assert bridges.graph is None


def test_every_table_takes_the_scaling_that_its_pairs_speak_for():
    case = draw(3, pairs=80)
    rng = np.random.default_rng(0)
    # Raw, a column of loud noise drowns the others; standardised, a crowd of faint noise does.
    loud = np.column_stack([case.main.table, 1e3 * rng.standard_normal(160)])
    crowd = np.column_stack([10 * case.references[0].table, 0.1 * rng.standard_normal((160, 60))])
    problem = Problem.of(remade(case.main, features=loud), [remade(case.references[0], features=crowd)])
    bridges, _, _ = choose_bridges(problem, mf.JointDiffusion(), 0, mf.Host())
    assert bridges.tables.standardised() == (True, False)
    fixed, _, _ = choose_bridges(problem, mf.JointDiffusion(standardised=True), 0, mf.Host())
    assert fixed.tables.standardised() == (True, True)


def test_for_many_pairs_the_chance_level_is_the_limit_of_permutations(rng):
    ours, theirs = unit(rng.standard_normal((MANY_PAIRS + 1, 2))).T
    limit = chance_level(ours, theirs, 0)
    drawn = [abs(ours @ rng.permutation(theirs)) for _ in range(2000)]
    assert limit == pytest.approx(np.quantile(drawn, 0.95), rel=0.06)
    assert chance_level(ours[1:], theirs[1:], 0) == pytest.approx(limit, rel=0.1)
