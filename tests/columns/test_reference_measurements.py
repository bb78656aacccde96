"""What references say themselves corrects what labels teach of a row, as a Kalman filter does."""

import numpy as np
import pytest
from tests.problems import smooth_truth

import manifuse as mf
from manifuse.columns.reference_measurements import Heard, are_heard
from manifuse.columns.view import View


def view(references, imputed):
    nothing = np.empty((len(references), 0))
    columns = {"references": references[:, :, None], "imputed": imputed[:, :, None]}
    return View(nothing, columns, (references != imputed).astype(float))


def test_the_correction_is_the_mean_and_variance_given_the_scores_that_are_known(rng):
    """Of the joint normal distribution of the value and the sum; in every second row the first reference is silent."""
    values, variances = rng.standard_normal((6, 1)), rng.uniform(0.1, 1.0, 6)
    references = rng.standard_normal((6, 2))
    imputed = 0.5 * references
    imputed[1::2, 0] = references[1::2, 0]
    noise = np.array([[0.5, 0.2], [0.2, 0.4]])
    heard = Heard(np.array([2.0, 1.0]), np.array([0.3, -0.1]), np.array([0.6, 0.9]), 2.0 * noise, noise)
    corrected, left = heard.correct(view(references, imputed), values, variances)
    for row in range(6):
        weights = heard.weights * (references[row] != imputed[row])
        slope, error = weights @ heard.slopes, weights @ noise @ weights
        off = weights @ (references[row] - heard.offsets) - slope * values[row, 0]
        gain = slope * variances[row] / (slope**2 * variances[row] + error)
        assert corrected[row, 0] == pytest.approx(values[row, 0] + gain * off)
        assert left[row] == pytest.approx(variances[row] - gain * slope * variances[row])


def test_rows_of_which_nothing_is_heard_stay(rng):
    references, values, variances = rng.standard_normal((5, 2)), rng.standard_normal((5, 1)), np.ones(5)
    heard = Heard(np.ones(2), np.zeros(2), np.ones(2), np.eye(2), 0.1 * np.eye(2))
    corrected, left = heard.correct(view(references, references), values, variances)
    np.testing.assert_array_equal(corrected, values)
    np.testing.assert_array_equal(left, variances)


def test_slope_and_noise_of_what_is_heard_are_found(rng):
    truth = rng.standard_normal(4000)
    variances = np.full(4000, 0.3)
    values = truth * np.sqrt(0.7)  # A posterior mean: what it lacks is not correlated with it.
    missed = np.sqrt(0.3) * rng.standard_normal(4000)
    said = 0.8 * (values + missed) + 0.5 * rng.standard_normal(4000)
    rows = view(said[:, None], np.zeros((4000, 1)))
    assert are_heard(rows).all()
    found = Heard.of(rows, values[:, None], variances)
    assert found.slopes[0] == pytest.approx(0.8, abs=0.05)
    assert found.noise[0, 0] == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("together", [True, False])
def test_the_noise_that_references_share_is_found_where_enough_rows_are_known_to_both(rng, together):
    """It is shared by half. Where few rows are known to both, nothing is known of it."""
    values = rng.standard_normal(4000)
    shared, own = rng.standard_normal((4000, 1)), rng.standard_normal((4000, 2))
    references = values[:, None] + np.sqrt(0.5) * (shared + own)
    imputed = np.zeros((4000, 2))
    if not together:
        imputed[:2000, 0], imputed[2000:, 1] = references[:2000, 0], references[2000:, 1]
    found = Heard.of(view(references, imputed), values[:, None], np.zeros(4000))
    np.testing.assert_allclose(found.noise, [[1.0, 0.5 * together], [0.5 * together, 1.0]], atol=0.08)


def test_no_reference_is_believed_to_be_exact(rng):
    """Variances of a lesson may be larger than what it misses; then nothing seems to be left for noise."""
    values = rng.standard_normal((50, 1))
    rows = view(values + 0.1 * rng.standard_normal((50, 1)), np.zeros((50, 1)))
    _, left = Heard.of(rows, values, np.ones(50)).correct(rows, values, np.ones(50))
    assert left.min() > 1e-4


@pytest.mark.parametrize("few", [3, 9])
def test_few_rows_say_nothing(rng, few):
    references = rng.standard_normal((few, 1))
    rows, values = view(references, np.zeros((few, 1))), rng.standard_normal((few, 1))
    corrected, _ = Heard.of(rows, values, np.ones(few)).correct(rows, values, np.ones(few))
    np.testing.assert_array_equal(corrected, values)


def test_rows_that_a_good_reference_knows_are_nearly_as_good_as_without_it():
    errors, held = [], []
    for seed in range(6):
        noise = np.random.default_rng(seed)
        features, truth = smooth_truth(noise, 400)
        ours = mf.Observations(truth + 0.8 * noise.standard_normal(400), features, ids=range(400), name="ours")
        theirs = mf.Observations((truth + 0.4 * noise.standard_normal(400))[:80], ids=range(80), name="theirs")
        known = np.arange(80, 140)
        labels = mf.RankLabels(known, truth[known])
        with_theirs = mf.refine(ours, [theirs], labels, task="regression", rng=0)
        without = mf.refine(ours, [], labels, task="regression", rng=0)
        errors.append([np.sqrt(np.mean((each.predictions - truth)[:80] ** 2)) for each in (with_theirs, without)])
        held.append(np.mean(np.abs(with_theirs.predictions - truth)[:80] < 1.645 * with_theirs.uncertainty[:80]))
    ours, alone = np.mean(errors, axis=0)
    assert ours < 1.4 * alone
    assert np.mean(held) > 0.78


def test_intervals_hold_where_each_of_many_references_knows_few_rows():
    """What is imputed of the silent ones follows from the features, and is no measurement."""
    held = []
    for seed in range(4):
        noise = np.random.default_rng(seed)
        features, smooth = smooth_truth(noise, 400)
        truth = smooth + 0.3 * noise.standard_normal(400)
        main = mf.Observations(truth + noise.standard_normal(400), features, ids=range(400), name="main")
        others, known = [], np.zeros(400, dtype=bool)
        for number in range(15):
            rows = noise.choice(400, 60, replace=False)
            said, known[rows] = truth[rows] + 1.5 * noise.standard_normal(60), True
            others.append(mf.Observations(said, ids=rows, name=f"reference {number}"))
        labelled = noise.choice(400, 60, replace=False)
        labels, known[labelled] = mf.RankLabels(labelled, truth[labelled]), False
        result = mf.refine(main, others, labels, task="regression", rng=0)
        held.append((np.abs(result.predictions - truth) < 1.645 * result.uncertainty)[known].mean())
    assert 0.88 < np.mean(held) < 0.97
