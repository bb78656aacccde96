"""Smoothing the main predictor over its own graph before the references speak."""

import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf
from manifuse.diffusion.graph import FeatureGraph, Neighbours
from manifuse.diffusion.presmoothing import Presmoothing, choose_presmoothing
from manifuse.diffusion.problem import Problem
from manifuse.kernels.sphere import standardise
from manifuse.ranking.accuracy import ranking_accuracy


def searched(main, count=20):
    return Neighbours.of(main.table, count, name=main.name, standardised=True, rng=np.random.default_rng(0))


def presmoothing(main, *, scale=np.inf, rounds=2):
    table = searched(main)
    return Presmoothing(main, FeatureGraph.of(table, 5), 10.0, scale, rounds)


def graded(case):
    return Problem.of(case.main, case.references).score(case.labels(), regression=False)


def test_every_round_brings_neighbours_together_and_keeps_mean_and_spread(rng):
    main = mf.Observations(rng.uniform(2, 3, 60), rng.standard_normal((60, 2)), ids=range(60))
    chosen = presmoothing(main)
    stages = chosen.stages()
    start, stop = chosen.graph.pattern.nonzero()
    roughness = [np.mean((scores[start] - scores[stop]) ** 2) for scores in stages]
    assert roughness[0] > roughness[1] > roughness[2]
    np.testing.assert_allclose([scores.mean() for scores in stages], main.scores.mean())
    np.testing.assert_allclose([scores.std() for scores in stages], main.scores.std())


def test_one_round_is_the_solution_of_the_linear_system(rng):
    main = mf.Observations(rng.standard_normal(60), rng.standard_normal((60, 2)), ids=range(60))
    chosen = presmoothing(main, rounds=1)
    affinity = chosen.graph.affinity(np.zeros(60), np.inf).toarray()
    solved = np.linalg.solve(11.0 * np.eye(60) - 10.0 * affinity, np.column_stack([main.scores, np.ones(60)]))
    averages = solved[:, 0] / solved[:, 1]
    np.testing.assert_allclose(standardise(chosen.stages()[1]), standardise(averages), atol=1e-7)


def test_the_labels_choose_the_best_of_all_and_it_is_what_comes_out():
    case = draw(0)
    score = graded(case)
    table = searched(case.main)
    chosen = choose_presmoothing(case.main, [table], score)
    reached = score.evaluate(chosen.stages()[-1][score.rows, None])[0]
    assert reached > score.evaluate(case.main.scores[score.rows, None])[0]
    for count, step, scale in ((5, 1.0, 0.1), (10, 10.0, 0.3), (20, 30.0, np.inf)):
        other = Presmoothing(case.main, FeatureGraph.of(table, count), step, scale, 3)
        assert all(reached >= score.evaluate(scores[score.rows, None])[0] for scores in other.stages())


def test_scores_that_no_smoothing_betters_are_left_alone():
    case = draw(0)
    perfect = remade(case.main, predictions=case.truth)
    assert choose_presmoothing(perfect, [searched(perfect)], graded(case)) is None


def test_rows_that_were_there_come_out_nearly_as_they_did():
    case = draw(1, rows=300)
    chosen = presmoothing(case.main, scale=0.3)
    new = remade(case.main, ids=[f"new {row}" for row in range(300)])
    assert np.corrcoef(chosen.extend(new), chosen.stages()[-1])[0, 1] > 0.99


def test_without_labels_nothing_is_presmoothed():
    case = draw(2)
    plain = mf.refine(case.main, case.references, method=mf.JointDiffusion(presmoothed=False), rng=0)
    again = mf.refine(case.main, case.references, rng=0)
    np.testing.assert_array_equal(again.predictions, plain.predictions)
    assert again.choice.presmoothing is None


def test_it_helps_coupled_predictors_that_have_features():
    gains = []
    for seed in range(4):
        case = draw(seed, rows=300, pairs=300)
        unseen = np.setdiff1d(np.arange(300), case.labelled)
        before, after = (
            ranking_accuracy(
                case.truth[unseen],
                mf.refine(
                    case.main, case.references, case.labels(), mf.JointDiffusion(presmoothed=flag), rng=0
                ).predictions[unseen],
            )
            for flag in (False, True)
        )
        gains.append(after - before)
    assert np.mean(gains) > 0.005


def test_features_that_are_all_equal_are_no_reason_to_stop():
    case = draw(6, features=False)
    level = remade(case.main, features=np.ones((len(case.main), 2)))
    result = mf.refine(level, case.references, case.labels(), rng=0)
    np.testing.assert_array_equal(
        result.predictions, mf.refine(case.main, case.references, case.labels(), rng=0).predictions
    )


@pytest.mark.parametrize("labelled", [False, True])
def test_later_rows_need_features_only_where_there_is_a_graph(labelled):
    case = draw(3, rows=200, pairs=200)
    result = mf.refine(case.main, case.references, case.labels() if labelled else None, rng=0)
    bare = mf.Observations(case.main.scores[:5], ids=[f"new {row}" for row in range(5)], name="later")
    if labelled:
        assert result.choice.presmoothing is not None
        with pytest.raises(mf.InputError, match="later came with 0 features"):
            result.apply(bare)
    else:
        assert result.apply(bare).shape == (5,)
