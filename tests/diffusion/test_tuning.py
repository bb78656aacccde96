from dataclasses import replace

import numpy as np
import pytest
from tests.problems import Counting, draw, remade

import manifuse as mf
from manifuse.diffusion.bridges import Bridges, NeighbourTables
from manifuse.diffusion.setup import Setup
from manifuse.diffusion.tuning import MANY_PAIRS, alignments_and_chance, chance_level, choose_bridges, fidelities
from manifuse.kernels.sphere import unit
from manifuse.tables import problem as problem_module
from manifuse.tables.problem import Problem

CANDIDATES = mf.Algorithm1(
    neighbours=(4, 8),
    score_scale=(0.05, 1.0),
    bridge=(mf.ImplicitEuler(1.0), mf.ImplicitEuler(10.0)),
    standardised=True,
)


def choose(problem, method, seed, backend=None):
    setup = Setup(problem, method, seed, backend or mf.Host())
    return choose_bridges(setup)


def build(problem, setting, method):
    """Build bridges over tables that are all standardised."""
    setup = Setup(problem, method, 0, mf.Host())
    flags = (True,) * (1 + len(problem.references))
    tables = NeighbourTables.search(setup, flags, np.random.default_rng(0))
    return Bridges.build(setup, [setting], tables)[0]


def problem_of(seed=0, **options):
    case = draw(seed, **options)
    return Problem.of(case.main, case.references)


@pytest.mark.parametrize("selection", ["held-out", "alignment"])
def test_the_chosen_setting_is_the_best_of_all_tried(selection):
    method = replace(CANDIDATES, selection=selection)
    tuned = choose(problem_of(), method, 0)
    assert len(tuned.tried) == 8
    best = max(tuned.tried, key=lambda trial: trial.criterion)
    assert tuned.bridges.setting == best.setting


def test_the_papers_rule_is_the_largest_squared_alignment():
    problem = problem_of()
    method = replace(CANDIDATES, selection="alignment")
    for trial in choose(problem, method, 0).tried:
        arrived = build(problem, trial.setting, method).arrive(problem.start).references.values
        largest = max(np.corrcoef(problem.start, column)[0, 1] ** 2 for column in arrived.T)
        assert trial.criterion == pytest.approx(largest)


def test_the_held_out_rule_is_the_mean_alignment_at_pairs_held_out():
    problem = problem_of()
    folds = Setup(problem, CANDIDATES, 0, mf.Host()).folds()
    for trial in choose(problem, CANDIDATES, 0).tried:
        bridges = build(problem, trial.setting, CANDIDATES)
        held_out = bridges.predict_held_out(problem.start, folds)
        aligned = [np.corrcoef(held_out[k], r.paired)[0, 1] for k, r in enumerate(problem.references)]
        assert trial.criterion == pytest.approx(np.mean(aligned))


def test_a_coupled_reference_does_not_hide_the_others_from_the_papers_rule():
    case = draw(0)
    coupled = mf.Observations(case.main.scores + 0.1 * case.truth, ids=case.main.keys, name="coupled")
    problem = Problem.of(case.main, [coupled, *case.references])
    trials = choose(problem, replace(CANDIDATES, selection="alignment"), 0).tried
    assert len({trial.criterion for trial in trials}) == len(trials)


def test_references_of_noise_seldom_exceed_the_chance_level():
    above = 0
    for seed in range(60):
        case = draw(seed, rows=60, pairs=30, references=1)
        noise = remade(case.references[0], predictions=np.random.default_rng(seed).standard_normal(60))
        problem = Problem.of(case.main, [noise])
        ((alignment, chance),) = alignments_and_chance(problem, seed)
        above += abs(alignment) > chance
    assert above <= 8


def test_held_out_predictions_are_those_of_bridges_without_the_pairs():
    problem = problem_of(references=1)
    method = mf.Algorithm1(folds=4)
    bridges = build(problem, method.settings()[0], method)
    folds = Setup(problem, method, 0, mf.Host()).folds()
    held_out = bridges.predict_held_out(problem.start, folds)[0]
    reference = problem.references[0]
    for fold in range(4):
        out = folds[0] == fold
        kept = replace(reference, main_rows=reference.main_rows[~out], reference_rows=reference.reference_rows[~out])
        smaller = build(replace(problem, references=(kept,)), method.settings()[0], method)
        arrived = smaller.arrive(problem.start).references.values[reference.main_rows[out], 0]
        np.testing.assert_allclose(held_out[out], arrived, atol=1e-9)


def test_folds_are_of_nearly_equal_size():
    problem = problem_of()
    algorithm = mf.Algorithm1(folds=7)
    tuned, folds = choose(problem, algorithm, 0), Setup(problem, algorithm, 0, mf.Host()).folds()
    for fold in folds:
        sizes = np.bincount(fold)
        assert len(sizes) == 7
        assert sizes.max() - sizes.min() <= 1
    found = fidelities(problem, tuned.bridges, folds)
    assert np.abs(found).max() <= 1
    np.testing.assert_allclose(tuned.fidelity, found, rtol=1e-12)


def test_with_all_ids_common_there_is_nothing_to_choose():
    tuned = choose(problem_of(features=False), CANDIDATES, 0)
    assert tuned.tried == ()
    assert not tuned.bridges.anchors
    assert tuned.bridges.graph.neighbours == 0


def test_every_table_takes_the_scaling_that_its_pairs_support():
    case = draw(3, pairs=80)
    rng = np.random.default_rng(0)
    # Raw, one column of large noise hides the others. Standardised, many columns of small noise do.
    loud = np.column_stack([case.main.table, 1e3 * rng.standard_normal(160)])
    crowd = np.column_stack([10 * case.references[0].table, 0.1 * rng.standard_normal((160, 60))])
    problem = Problem.of(remade(case.main, features=loud), [remade(case.references[0], features=crowd)])
    assert choose(problem, mf.Algorithm1(), 0).tables.standardised() == (True, False)
    fixed = choose(problem, mf.Algorithm1(standardised=True), 0)
    assert fixed.tables.standardised() == (True, True)


def test_a_sample_of_large_tables_chooses_their_scaling_and_each_is_searched_once(monkeypatch):
    case = draw(3, pairs=80, rows=400)
    rng = np.random.default_rng(0)
    loud = np.column_stack([case.main.table, 1e3 * rng.standard_normal(400)])
    crowd = np.column_stack([10 * case.references[0].table, 0.1 * rng.standard_normal((400, 60))])
    coupled = mf.Observations(case.truth + rng.standard_normal(400), ids=case.main.keys, name="coupled")
    references = [remade(case.references[0], features=crowd), coupled]
    problem = Problem.of(remade(case.main, features=loud), references)
    every = choose(problem, mf.Algorithm1(), 0)
    backend = Counting()
    monkeypatch.setattr(problem_module, "LARGE", 300)
    monkeypatch.setattr(problem_module, "SAMPLED", 200)
    tuned = choose(problem, mf.Algorithm1(), 0, backend)
    assert tuned.tables.standardised() == every.tables.standardised() == (True, False, None)
    assert sorted(backend.rows) == [200] * 4 + [400] * 2


def test_a_sample_keeps_all_pairs_as_they_are():
    case = draw(1, pairs=30)
    coupled = mf.Observations(case.truth, ids=case.main.keys[::-1], name="coupled")
    whole = Problem.of(case.main, [*case.references, coupled])
    part = whole.sample(np.random.default_rng(0), 130)
    assert len(part.main) == 130
    for before, after in zip(whole.references[:2], part.references[:2], strict=True):
        np.testing.assert_array_equal(part.main.keys[after.main_rows], whole.main.keys[before.main_rows])
        theirs = before.table.keys[before.reference_rows]
        np.testing.assert_array_equal(after.table.keys[after.reference_rows], theirs)
        assert len(after.scores) == len(after.table) == 130
        assert np.corrcoef(before.paired, after.paired)[0, 1] == pytest.approx(1.0)
    partners = dict(zip(whole.main.keys[whole.references[2].main_rows], whole.references[2].paired, strict=True))
    found = part.references[2].paired
    expected = np.array([partners[key] for key in part.main.keys[part.references[2].main_rows]])
    # The mean and the deviation are those of the rows that are fitted.
    np.testing.assert_allclose(found, (expected - expected.mean()) / expected.std(), rtol=1e-12)


def test_for_many_pairs_the_chance_level_is_the_limit_of_permutations(rng):
    ours, theirs = unit(rng.standard_normal((MANY_PAIRS + 1, 2))).T
    limit = chance_level(ours, theirs, 0)
    drawn = [abs(ours @ rng.permutation(theirs)) for _ in range(2000)]
    assert limit == pytest.approx(np.quantile(drawn, 0.95), rel=0.06)
    assert chance_level(ours[1:], theirs[1:], 0) == pytest.approx(limit, rel=0.1)


def test_a_reference_that_is_ignored_has_no_say():
    """If it is no better than chance and named, the refinement is the one without it."""
    changed = 0
    for seed in range(6):
        case = draw(seed, noise=1.5)
        rng = np.random.default_rng(seed)
        odd = remade(case.references[0], predictions=rng.standard_normal(160), name="odd")
        # Its features tell its scores, unless they are standardised.
        features = rng.standard_normal((160, 30))
        features[:, 0] = 40.0 * odd.scores
        odd = remade(odd, features=features)
        method = mf.JointDiffusion(same_target=True, ignored=("odd",))
        tables = [*case.references, odd]
        found = mf.refine(case.main, tables, method=method, rng=0)
        if abs(found.relevance[2].held_out_alignment) > found.relevance[2].chance_alignment:
            continue
        plain = mf.refine(case.main, case.references, method=replace(method, ignored=()), rng=0)
        np.testing.assert_allclose(found.scores, plain.scores, rtol=1e-9, atol=1e-12)
        assert found.course.standardised[:3] == plain.course.standardised
        changed += 1
    assert changed >= 3


@pytest.mark.filterwarnings("ignore::manifuse.ManifuseWarning")
def test_an_alignment_that_a_permutation_has_too_is_not_beyond_chance_by_a_last_digit():
    """Three pairs have few permutations, and that which changes nothing is one of them."""
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        ours, theirs = np.array([0.1, 0.2, 0.4])[order], np.array([0.1, 0.21, 0.45])[order]
        main = mf.Observations(np.append(ours, 0.7), np.arange(4.0)[:, None], ids=range(4), name="main")
        problem = Problem.of(main, [mf.Observations(theirs, ids=range(3), name="theirs")])
        ((alignment, chance),) = alignments_and_chance(problem, 0)
        assert alignment == chance
