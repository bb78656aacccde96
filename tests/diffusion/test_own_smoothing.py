"""Smoothing the main predictor over its own graph, which is one more opinion on its rows."""

import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf
from manifuse.backends.index import Index
from manifuse.backends.neighbours import Query
from manifuse.diffusion.edges import Edges
from manifuse.diffusion.later_rows import LaterRows
from manifuse.diffusion.own_smoothing import Smoothing, SmoothingSetting
from manifuse.evidence.consultation import MOST_WORK
from manifuse.kernels.sphere import standardise


def searched(main, count=20):
    return mf.Host().search(main.table, Query(count, True), np.random.default_rng(0))


def smoothing(main, *, scale=np.inf, rounds=2):
    table = searched(main)
    return Smoothing(main, mf.Host().graph(table, 5), SmoothingSetting(5, True, 10.0, scale, rounds))


def test_every_round_brings_neighbours_together_and_keeps_mean_and_norm(rng):
    main = mf.Observations(rng.uniform(2, 3, 60), rng.standard_normal((60, 2)), ids=range(60))
    chosen = smoothing(main)
    stages = [standardise(main.scores), *(smoothing(main, rounds=rounds).smoothed() for rounds in (1, 2))]
    start, stop = chosen.graph.stored().weights.nonzero()
    roughness = [np.mean((scores[start] - scores[stop]) ** 2) for scores in stages]
    assert roughness[0] > roughness[1] > roughness[2]
    final = chosen.scores()
    assert (final.mean(), final.std()) == pytest.approx((main.scores.mean(), main.scores.std()))
    np.testing.assert_allclose(standardise(final), stages[2], atol=1e-12)


def test_one_round_is_the_solution_of_the_linear_system(rng):
    main = mf.Observations(rng.standard_normal(60), rng.standard_normal((60, 2)), ids=range(60))
    chosen = smoothing(main, rounds=1)
    affinity = chosen.graph.affinity(np.zeros(60), np.inf).matrix().toarray()
    solved = np.linalg.solve(11.0 * np.eye(60) - 10.0 * affinity, np.column_stack([main.scores, np.ones(60)]))
    averages = solved[:, 0] / solved[:, 1]
    np.testing.assert_allclose(chosen.smoothed(), standardise(averages), atol=1e-7)


def test_a_later_row_takes_the_step_that_its_own_row_of_the_system_asks_for(rng):
    """Two rounds by hand, from dense matrices."""
    main = mf.Observations(rng.standard_normal(60), rng.standard_normal((60, 2)), ids=range(60))
    table = searched(main)
    chosen = Smoothing(main, mf.Host().graph(table, 5), SmoothingSetting(5, True, 10.0, 0.3, 2))
    features, score = rng.standard_normal(2), 0.4
    scaled = (features - main.table.mean(axis=0)) / main.table.std(axis=0)
    squares = np.sum(((main.table - main.table.mean(axis=0)) / main.table.std(axis=0) - scaled) ** 2, axis=1)
    near = np.argsort(squares)[:5]
    own = (score - main.scores.mean()) / main.scores.std()
    fitted = standardise(main.scores)
    for _ in range(2):
        affinity = chosen.graph.affinity(fitted, 0.3).matrix().toarray()
        inverse = np.linalg.inv(11.0 * np.eye(60) - 10.0 * affinity)
        smoothed, constant = inverse @ fitted, inverse @ np.ones(60)
        widths = np.sqrt(2 * squares[near].mean() * chosen.graph.scales[near])
        weights = np.exp(-squares[near] / widths) * np.exp(-((own - fitted[near]) ** 2) / 0.3)
        weights /= np.sqrt(weights.sum() * chosen.graph.degrees(fitted, 0.3)[near])
        own = (own + 10.0 * weights @ smoothed[near]) / (1.0 + 10.0 * weights @ constant[near])
        averages = smoothed / constant
        own, fitted = (own - averages.mean()) / averages.std(), standardise(averages)
    new = LaterRows(np.array([score]), features[None], {})
    edges = Edges.of(new, Index.of(main.table, standardised=True, name="main"), chosen.graph)
    start = (new.scores - main.scores.mean()) / main.scores.std()
    assert chosen.extend(start, edges)[0] == pytest.approx(own, abs=1e-6)


def test_evidence_at_the_pairs_is_of_the_scores_as_they_came():
    case = draw(0)
    tuned, taught = (
        mf.refine(case.main, case.references, case.labels(), mf.JointDiffusion(learning=flag), rng=0)
        for flag in (False, True)
    )
    assert taught.refiner.fit.smoothing is not None
    for one, other in zip(taught.relevance, tuned.relevance, strict=True):
        assert one.held_out_alignment == other.held_out_alignment
        assert one.chance_alignment == other.chance_alignment


def test_where_labels_only_tune_nothing_is_smoothed():
    case = draw(0)
    result = mf.refine(case.main, case.references, case.labels(), mf.JointDiffusion(learning=False), rng=0)
    assert result.refiner.fit.smoothing is None


def test_by_default_a_graph_that_only_labels_want_is_searched_exactly():
    assert mf.Host().exact_work >= MOST_WORK


@pytest.mark.parametrize("labelled", [False, True])
def test_features_that_are_all_equal_are_no_reason_to_stop(labelled):
    case = draw(6, features=False)
    labels = case.labels() if labelled else None
    level = remade(case.main, features=np.ones((len(case.main), 2)))
    method = mf.JointDiffusion(same_target=True)
    result, bare = (mf.refine(main, case.references, labels, method, rng=0) for main in (level, case.main))
    assert result.accepted
    np.testing.assert_array_equal(result.predictions, bare.predictions)


@pytest.mark.parametrize("labelled", [False, True])
def test_a_later_row_needs_the_features_that_the_fitted_rows_have(labelled):
    case = draw(3, rows=200, pairs=200)
    labels = case.labels() if labelled else None
    result = mf.refine(case.main, case.references, labels, mf.JointDiffusion(same_target=True), rng=0)
    assert result.accepted
    bare = mf.Observations(case.main.scores[:5], ids=[f"new {row}" for row in range(5)], name="later")
    if labelled:
        with pytest.raises(mf.InputError, match="later came with 0 features"):
            result.apply(bare)
    else:
        assert result.apply(bare).shape == (5,)
