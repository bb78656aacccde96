"""What labels taught, and the share of it that held-out labels confirm."""

import numpy as np
import pytest
from scipy.special import softmax

import manifuse as mf
from manifuse.columns.held_labels import Labels
from manifuse.columns.learned import _confirmed
from manifuse.evidence.holding_out import Held
from manifuse.evidence.rankings import GradedRanking, PairedRanking
from manifuse.evidence.squared_error import SquaredError


def labels_of(score, rng):
    blocks = np.arange(len(score.rows))
    return Labels(score, *score.hold_out(blocks, Held.AT_RANDOM, rng, 3))


@pytest.mark.parametrize("kind", ["grades", "pairs", "targets"])
def test_the_share_for_a_held_out_label_does_not_depend_on_its_fold(rng, kind):
    scores = {
        "grades": GradedRanking(np.arange(40), np.arange(40) % 4),
        "targets": SquaredError(np.arange(40), rng.standard_normal(40)),
        "pairs": PairedRanking.of(np.arange(20), np.arange(20, 40)),
    }
    labels = labels_of(scores[kind], rng)
    contrasts = scores[kind].contrasts()
    expected, change = rng.standard_normal((2, 40, 1))
    trials = np.broadcast_to(expected + change, (len(labels.folds.numbers), 40, 1))
    targets = expected + 0.5 * change
    targets = targets if contrasts is None else contrasts @ targets
    share, shares = _confirmed(labels, expected, trials, targets)
    out = labels.unseen[0][1]
    changed = targets.copy()
    changed[out] += 5.0 * rng.standard_normal((len(out), 1))
    share_then, shares_then = _confirmed(labels, expected, trials, changed)
    rows = labels.folds.rows(0)[1]
    np.testing.assert_array_equal(shares[0, rows], shares_then[0, rows])
    elsewhere = np.setdiff1d(np.arange(40), rows)
    assert np.abs(shares[0, elsewhere] - shares_then[0, elsewhere]).max() > 1e-3
    assert share != share_then


def test_a_share_is_the_slope_of_what_changed_where_labels_are_many(rng):
    labels = labels_of(SquaredError(np.arange(2000), rng.standard_normal(2000)), rng)
    expected, change = rng.standard_normal((2, 2000, 1))
    trials = np.broadcast_to(expected + change, (3, 2000, 1))
    targets = expected + 0.3 * change + 0.01 * rng.standard_normal((2000, 1))
    share, shares = _confirmed(labels, expected, trials, targets)
    assert share == pytest.approx(0.3, abs=0.01)
    np.testing.assert_allclose(shares, 0.3, atol=0.01)


@pytest.mark.parametrize("good", [False, True])
def test_rows_that_noisy_references_know_are_learned_as_well_as_others(good):
    """Features and labels say much more of a class than the references do; or these say nearly all."""
    known_right, others_right, chosen = [], [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((900, 4))
        truth = np.digitize(features[:, 0] + features[:, 1] ** 2 / 2.0, [0.1, 0.9])
        names, ids = np.array(["low", "middle", "high"]), np.arange(900)

        def said(quality, rng=rng, truth=truth):
            return softmax(quality * np.eye(3)[truth] + rng.standard_normal((900, 3)), axis=1)

        main = mf.Observations(said(0.7), features, ids=ids, classes=names, name="ours")
        references = []
        for name in "ab":
            rows = rng.choice(900, 300, replace=False)
            table = said(6.0 if good else 1.0)[rows]
            references.append(mf.Observations(table, ids=rows, classes=names, name=name))
        labelled = rng.choice(900, 150, replace=False)
        result = mf.refine(main, references, mf.ClassLabels(labelled, names[truth[labelled]]), rng=0)
        right = result.predictions.argmax(axis=1) == truth
        known = np.isin(ids, np.concatenate([each.keys for each in references]).astype(int))
        test = ~np.isin(ids, labelled)
        known_right.append(right[known & test].mean())
        others_right.append(right[~known & test].mean())
        chosen.append(result.fitted_model.columns.learned.reads_imputed)
    assert np.mean(known_right) > np.mean(others_right) - 0.03
    assert any(chosen) is not good
