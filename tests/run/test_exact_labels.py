"""Labels without noise, of a truth that features tell exactly, and labels and scores in any unit."""

import numpy as np
import pytest
from tests.problems import draw

import manifuse as mf
from manifuse.evidence.accuracy import ranking_accuracy

#: Rows, of which so many have labels.
ROWS, LABELS = 400, 100


def drawn(seed, *, noise=30.0):
    """A truth that is linear in the features, and scores with noise; labels have none."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((ROWS, 4))
    truth = 50.0 * features @ np.array([1.0, 0.5, -0.7, 0.2])
    labelled = rng.permutation(ROWS)[:LABELS]
    return features, truth, truth + noise * rng.standard_normal(ROWS), labelled


def refined(features, scores, labelled, truth, **given):
    main = mf.Observations(scores, features, ids=np.arange(ROWS), name="ours")
    return mf.refine(main, [], mf.RankLabels(labelled, truth[labelled]), rng=0, **given)


def test_where_labels_deny_a_diffusion_nothing_diffuses_and_errors_are_true():
    held = []
    for seed in range(4):
        features, truth, scores, labelled = drawn(seed)
        result = refined(features, scores, labelled, truth, task="regression")
        rest = np.setdiff1d(np.arange(ROWS), labelled)
        errors = np.abs(result.predictions - truth)[rest]
        assert result.course.share == 0.0
        assert result.course.ending is None
        # A diffusion would blur what is learned: without the rule, these errors are 8 in the mean.
        assert np.sqrt(np.mean(errors**2)) < 3.0
        assert (result.uncertainty > 0).all()
        held.append(np.mean(errors < 1.645 * result.uncertainty[rest]))
    assert 0.75 < np.mean(held) < 0.97


@pytest.mark.filterwarnings("ignore:.*are negative, and no label is:manifuse.ManifuseWarning")
@pytest.mark.parametrize("seed", range(4))
def test_the_offset_of_labels_and_the_unit_of_scores_decide_nothing(seed):
    """Whether to diffuse is a near thing in these problems, and labels have the mean 0, which small scores meet."""
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((ROWS, 3))
    truth = features @ [1.0, 2.0, -1.0] + 0.7 * np.sin(3 * features[:, 0]) + 0.3 * rng.standard_normal(ROWS)
    scores, labelled = truth + 1.5 * rng.standard_normal(ROWS), rng.permutation(ROWS)[:LABELS]
    truth = truth - truth[labelled].mean()
    plain = refined(features, scores, labelled, truth, task="regression")
    found = []
    for scale, offset in ((1.0, 5.0), (100.0, 0.0), (100.0, 50.0), (0.1, 0.0), (0.01, 0.0)):
        result = refined(features, scale * scores, labelled, truth + offset, task="regression")
        # The search for the variances ends within some millionths, which rounding decides.
        np.testing.assert_allclose(result.predictions - offset, plain.predictions, atol=1e-5)
        assert result.course.share == plain.course.share
        assert result.evidence.measured.in_other_units
        found.append((result.gain.value, result.accuracy.before))
    np.testing.assert_allclose(found, [found[0]] * len(found), atol=1e-6)


@pytest.mark.parametrize("task", ["ranking", "regression"])
def test_labels_that_are_nearly_all_equal_teach_little(task):
    """A rare event: of 150 labels, one to four are 1."""
    changes, without = [], []
    for seed in range(60):
        case = draw(seed, rows=350, pairs=100, references=1 + seed % 3, noise=0.4)
        rng = np.random.default_rng(seed)
        events = (rng.random(350) < 1.0 / (1.0 + np.exp(4.5 - case.truth))).astype(float)
        labelled = rng.choice(350, 150, replace=False)
        if not 1 <= events[labelled].sum() <= 4:
            continue
        labels = mf.RankLabels(case.main.keys[labelled], events[labelled])
        rest = np.setdiff1d(np.arange(350), labelled)
        alone, *both = (
            ranking_accuracy(case.truth[rest], scores[rest])
            for scores in (
                case.main.scores,
                mf.refine(case.main, case.references, labels, rng=0, task=task).scores,
                mf.refine(case.main, case.references, rng=0).scores,
            )
        )
        changes.append(both[0] - alone)
        without.append(both[1] - alone)
        if len(changes) == 8:
            break
    assert len(changes) == 8
    # If all labels counted alike, the mean gain would be a third of this.
    assert np.mean(changes) > 0.8 * np.mean(without)
    assert np.mean(np.array(changes) < -0.01) < 0.1
