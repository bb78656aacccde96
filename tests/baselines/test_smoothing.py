import numpy as np
import pytest
from tests.problems import draw, remade

import manifuse as mf
from manifuse.baselines.smoothing import self_smoothing, smooth_scores
from manifuse.diffusion.graph import FeatureGraph, Neighbours
from manifuse.diffusion.problem import Problem


def test_smoothing_averages_and_leaves_a_constant_alone(rng):
    features = rng.standard_normal((60, 2))
    graph = FeatureGraph.of(Neighbours.of(features, 5, name="it", standardised=True, rng=rng), 5)
    scores = rng.uniform(2, 3, 60)
    smoothed = smooth_scores(graph, scores, step=10.0, scale=np.inf)
    assert 2 <= smoothed.min() < smoothed.max() <= 3
    assert smoothed.std() < scores.std()
    np.testing.assert_allclose(smooth_scores(graph, np.full(60, 7.0), step=10.0, scale=np.inf), 7.0)


def test_the_labels_choose_and_never_below_the_start():
    case = draw(0)
    score = Problem.of(case.main, case.references).score(case.labels(), regression=False)
    smoothed = self_smoothing(case.main, score, np.random.default_rng(0))
    before, after = (score.evaluate(s[score.rows, None])[0] for s in (case.main.scores, smoothed))
    assert after > before


def test_without_features_there_is_no_graph():
    case = draw(0)
    score = Problem.of(case.main, case.references).score(case.labels(), regression=False)
    with pytest.raises(mf.InputError, match="without features"):
        self_smoothing(remade(case.main, features=None), score, np.random.default_rng(0))
