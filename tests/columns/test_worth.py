"""What references are worth at held-out labels is what they are worth elsewhere."""

import numpy as np
from tests.problems import smooth_truth

import manifuse as mf
from manifuse.columns.covariance import Covariance
from manifuse.columns.view import View
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


def test_rows_are_as_alike_without_a_copy_of_a_reference():
    """Products and distances of scores grow with the number of references, and their units with them."""
    rng = np.random.default_rng(0)
    said, own = rng.standard_normal((60, 1, 1)), {"own": rng.standard_normal((60, 1))}
    rows, few = (
        View(rng.standard_normal((60, 0)), {**own, "references": np.repeat(said, count, axis=1)}, np.ones((60, count)))
        for count in (3, 2)
    )
    covariance = Covariance.of(rows, np.arange(60), "ours")
    whole, less = (
        each.matrices(each.points(some)) for each, some in ((covariance, rows), (covariance.of_some(2 / 3), few))
    )
    np.testing.assert_allclose(less, whole, atol=1e-12)
    assert not np.allclose(covariance.matrices(covariance.points(few)), whole, rtol=1e-2)
