import numpy as np
import pytest
from tests.problems import draw, remade

from manifuse.evidence.labelled import score_of
from manifuse.rivals.own_graph import self_smoothing


def test_the_labels_choose_and_never_below_the_start():
    case = draw(0)
    score = score_of(case.labels(), case.main, regression=False)
    smoothed, chosen = self_smoothing(case.main, score, np.random.default_rng(0))
    before, after = (score.evaluate(s[score.rows, None])[0] for s in (case.main.scores, smoothed))
    assert after > before
    assert chosen["rounds"] in (1, 2, 3)
    kept = (smoothed.mean(), smoothed.std())
    assert kept == pytest.approx((case.main.scores.mean(), case.main.scores.std()))


def test_scores_that_are_right_already_stay_as_they_are():
    case = draw(0)
    score = score_of(case.labels(), case.main, regression=False)
    perfect = remade(case.main, predictions=case.truth)
    smoothed, chosen = self_smoothing(perfect, score, np.random.default_rng(0))
    np.testing.assert_array_equal(smoothed, case.truth)
    assert chosen == {}
