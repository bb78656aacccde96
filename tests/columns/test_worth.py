"""What references are worth at held-out labels is what they are worth elsewhere."""

import numpy as np
from tests.problems import smooth_truth

import manifuse as mf
from manifuse.columns import worth
from manifuse.evidence.accuracy import ranking_accuracy


def test_the_worth_of_all_references_is_what_labels_miss_without_them():
    """Where few labels teach nearly as well alone, references are worth little, and that is what is said."""
    reported, true = [], []
    for seed in range(8):
        noise = np.random.default_rng(seed)
        features, truth = smooth_truth(noise, 500)
        ours = mf.Observations(truth + 0.8 * noise.standard_normal(500), features, ids=range(500), name="ours")
        said = truth[:80, None] + 0.5 * noise.standard_normal((80, 3))
        theirs = [mf.Observations(each, ids=range(80), name=f"theirs {k}") for k, each in enumerate(said.T)]
        known, rest = np.arange(80, 140), np.arange(140, 500)
        labels = mf.RankLabels(known, truth[known])
        result, alone = (mf.refine(ours, each, labels, rng=0) for each in (theirs, []))
        after, before = (ranking_accuracy(truth[rest], each.predictions[rest]) for each in (result, alone))
        reported.append(100 * result.worth.value)
        true.append(100 * (after - before))
    # With variances that were found with the references, it is 1.7 points more.
    assert abs(np.mean(reported) - np.mean(true)) < 1.3


def test_rows_are_as_alike_without_a_copy_of_a_reference(monkeypatch):
    """Products and distances of scores grow with the number of references, and their units with them."""
    made = []

    class Recorded(worth._Anew):
        def __init__(self, *given):
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(worth, "_Anew", Recorded)
    rng = np.random.default_rng(0)
    features, truth = smooth_truth(rng, 200)
    ours = mf.Observations(truth + rng.standard_normal(200), features, ids=range(200), name="ours")
    said = truth[:80] + 0.5 * rng.standard_normal(80)
    copies = [
        mf.Observations(said + 1e-8 * rng.standard_normal(80), ids=range(80), name=f"copy {number}")
        for number in range(3)
    ]
    mf.refine(ours, copies, mf.RankLabels(np.arange(80, 140), truth[80:140]), rng=0)
    (anew,) = made
    rows, lesson = anew._rows, anew.learned.lesson
    points = lesson.covariance.points(rows)
    expected = lesson.covariance.between(points, points, lesson.variances[:-1])
    np.testing.assert_allclose(anew._covariance((0, 1, 2)), expected, rtol=1e-12)
    np.testing.assert_allclose(anew._covariance((0, 2)), expected, atol=1e-6)
    assert not np.allclose(anew._covariance(()), expected, rtol=1e-2)
