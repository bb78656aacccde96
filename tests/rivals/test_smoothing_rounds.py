"""Smoothing a predictor over its own graph, in rounds."""

import numpy as np

import manifuse as mf
from manifuse.backends.neighbours import Query
from manifuse.kernels.sphere import standardise
from manifuse.rivals.own_graph import _averages, _smooth


def searched(main, count=20):
    return mf.Host().search(main.table, Query(count, True), np.random.default_rng(0))


def in_rounds(main, rounds):
    """The graph of a main table, and its standardised scores smoothed over it."""
    graph, scores = mf.Host().graph(searched(main), 5), standardise(main.scores)
    for _ in range(rounds):
        (smoothed,) = _smooth(graph, scores, np.inf, [10.0])
        scores = _averages(smoothed)
    return graph, scores


def test_every_round_brings_neighbours_together(rng):
    main = mf.Observations(rng.uniform(2, 3, 60), rng.standard_normal((60, 2)), ids=range(60))
    (graph, *_), *_ = found = [in_rounds(main, rounds) for rounds in range(3)]
    stages = [scores for _, scores in found]
    first, second = graph.on_host().weights.nonzero()
    roughness = [np.mean((scores[first] - scores[second]) ** 2) for scores in stages]
    assert roughness[0] > roughness[1] > roughness[2]
    np.testing.assert_allclose(standardise(stages[2]), stages[2], atol=1e-12)


def test_one_round_is_the_solution_of_the_linear_system(rng):
    main = mf.Observations(rng.standard_normal(60), rng.standard_normal((60, 2)), ids=range(60))
    graph, found = in_rounds(main, 1)
    affinity = graph.affinity(np.zeros(60), np.inf).matrix().toarray()
    solved = np.linalg.solve(11.0 * np.eye(60) - 10.0 * affinity, np.column_stack([main.scores, np.ones(60)]))
    averages = solved[:, 0] / solved[:, 1]
    np.testing.assert_allclose(found, standardise(averages), atol=1e-7)
