"""Rows that references know themselves: they follow the references, whatever labels say of other rows."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import manifuse as mf
from manifuse.evidence import agreement
from manifuse.evidence.reason import Reason
from manifuse.words.findings import findings_of
from manifuse.words.wording import headline_of

ROWS, PAIRS, LABELS = 240, 50, 60


def problem(seed, *, pairs_deny=False):
    """Features that say nothing, references that are good and know the first rows, labels at the rows after them.

    If pairs deny, the references repeat errors of the main predictor, and labels at pairs show it.
    """
    rng = np.random.default_rng(seed)
    truth, ids = rng.normal(size=ROWS), np.arange(ROWS)
    errors = 0.7 * rng.normal(size=ROWS)
    ours = mf.Observations(truth + errors, rng.normal(size=(ROWS, 4)), ids=ids, name="ours")
    repeated, own = (2.0, 0.5) if pairs_deny else (0.0, 0.2)
    references = [
        mf.Observations(
            truth[:PAIRS] + repeated * errors[:PAIRS] + own * rng.normal(size=PAIRS),
            ids=ids[:PAIRS],
            name=f"partner {number}",
        )
        for number in range(2)
    ]
    labelled = ids[20 if pairs_deny else PAIRS : PAIRS + LABELS]
    return truth, ours, references, mf.RankLabels(labelled, truth[labelled])


def correlation(one, other):
    return np.corrcoef(one, other)[0, 1]


@pytest.mark.parametrize("seed", [7, 10, 21])
def test_where_labels_refuse_pairs_still_follow_and_other_rows_stay(seed):
    truth, ours, references, labels = problem(seed)
    result = mf.refine(ours, references, labels, rng=0)
    assert (result.reason, result.accepted) == (Reason.PAIRS, True)
    assert headline_of(result.evidence) == f"The scores of “{ours.name}” were refined at common rows"
    assert result.gain.value < 0, "what was refused is reported"
    assert result.accuracy.after == result.accuracy.before
    np.testing.assert_array_equal(result.scores[PAIRS:], ours.scores[PAIRS:])
    before, after = (correlation(each[:PAIRS], truth[:PAIRS]) for each in (ours.scores, result.scores))
    assert after > before + 0.05
    said = " ".join(result.summary().split())
    assert "follow the references at the common rows" in said
    assert ("The decision is close" in said) is (result.gain.value > -2 * result.gain.standard_error)


def test_pairs_have_what_is_expected_of_them_without_labels():
    """The closed form: own scores plus the references' as far as they are followed, in units of the main predictor."""
    _, ours, references, labels = problem(7)
    result = mf.refine(ours, references, labels, rng=0)
    own = (ours.scores - ours.scores.mean()) / ours.scores.std()
    said = sum(
        pull * (each.scores - each.scores.mean()) / each.scores.std()
        for pull, each in zip(result.evidence.agreement.pulls, references, strict=True)
    )
    assert correlation(result.scores[:PAIRS], own[:PAIRS] + said) == pytest.approx(1.0, abs=1e-9)


def test_a_row_that_comes_later_follows_if_a_reference_knows_it():
    _, ours, references, labels = problem(7)
    result = mf.refine(ours.take(np.arange(5, ROWS)), references, labels, rng=0)
    assert result.reason is Reason.PAIRS
    later = result.apply(ours.take(np.arange(5)))
    alone = result.apply(mf.Observations(ours.scores[:5], ours.table[:5], ids=[f"new {row}" for row in range(5)]))
    np.testing.assert_array_equal(alone, ours.scores[:5])
    assert np.abs(later - ours.scores[:5]).max() > 0.2


def test_no_later_row_moves_that_no_reference_knows_and_it_is_said_why():
    _, ours, references, labels = problem(7)
    result = mf.refine(ours, references, labels, rng=0)
    far = mf.Observations([9.0, -9.0], ours.table[:2] + 40.0, ids=["far", "farther"])
    with pytest.warns(mf.ManifuseWarning):
        np.testing.assert_array_equal(result.apply(far), far.scores)
    alone = replace(result.refined, support=np.zeros(ROWS))
    support = next(each for each in findings_of(result.evidence, alone) if each.code == "support")
    assert "labels refused what would move" in support.sentence
    assert "taught" not in support.sentence


@pytest.mark.parametrize("seed", [8, 18, 34])
def test_labels_at_pairs_that_show_a_loss_keep_them(seed):
    _, ours, references, labels = problem(seed, pairs_deny=True)
    result = mf.refine(ours, references, labels, rng=0)
    at_pairs = result.evidence.measured.at_pairs
    assert at_pairs.value < -at_pairs.standard_error
    assert "By these labels, the references count 0% of what they would" in " ".join(result.summary().split())
    assert (result.reason, result.accepted) == (Reason.NO_GAIN, False)
    np.testing.assert_array_equal(result.scores, ours.scores)


def test_the_gain_at_pairs_is_that_of_what_references_say_there(monkeypatch):
    """A second opinion: with two grades, ranking accuracy is the area under the curve of scikit-learn."""
    rng = np.random.default_rng(3)
    truth, ours, references, _ = problem(3)
    labelled = rng.choice(ROWS, 120, replace=False)
    labels = mf.RankLabels(labelled, (truth[labelled] > 0).astype(int))
    result = mf.refine(ours, references, labels, rng=0)
    # With labels, references count more.
    monkeypatch.setattr(agreement, "PRESUMED", agreement.PRESUMED_WITH_LABELS)
    followed = mf.refine(ours, references, rng=0).scores
    both = labelled[labelled < PAIRS]
    areas = [roc_auc_score(truth[both] > 0, each[both]) for each in (ours.scores, followed)]
    gain = result.evidence.measured.at_pairs
    assert gain.rows == len(both)
    assert gain.value == pytest.approx(areas[1] - areas[0], abs=1e-9)


def test_references_that_know_all_rows_are_no_pairs():
    truth, ours, _, labels = problem(7)
    rng = np.random.default_rng(0)
    everywhere = [mf.Observations(truth + 2 * rng.normal(size=ROWS), ids=ours.keys, name="all")]
    result = mf.refine(ours, everywhere, labels, rng=0)
    assert result.reason is not Reason.PAIRS
    assert result.evidence.measured.at_pairs is None


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_rows_are_said_to_be_judged_as_unknown_unless_a_reference_that_knows_most_rows_knows_them(share):
    truth, ours, _, _ = problem(7)
    known = np.random.default_rng(0).permutation(ROWS)[: int(share * ROWS)]
    theirs = mf.Observations(truth[known] + np.random.default_rng(1).normal(size=len(known)), ids=known, name="theirs")
    result = mf.refine(ours, [theirs], mf.RankLabels(known[:60], truth[known[:60]]), rng=0)
    assert result.evidence.measured.at_pairs is not None
    assert result.evidence.measured.as_if_unknown is (share < 0.5)
    assert ("as if no reference knew them" in result.summary().replace("\n", " ")) is (share < 0.5)
