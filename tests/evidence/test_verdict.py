"""Whether a refinement is taken, and how far: labels decide; if there are none or few, the references."""

import numpy as np
import pytest

from manifuse.evidence.agreement import Agreement
from manifuse.evidence.gain import Gain
from manifuse.evidence.reason import Reason
from manifuse.evidence.verdict import judge

CERTAIN, WITHIN, FEW = (
    Gain(0.02, 0.01, 60, "accuracy"),
    Gain(0.005, 0.01, 60, "accuracy"),
    Gain(0.02, 0.01, 9, "accuracy"),
)
SLIGHT, AGAINST = Gain(-0.005, 0.01, 60, "accuracy"), Gain(-0.03, 0.01, 60, "accuracy")


def answering(reason):
    none = np.empty(0)
    return Agreement(reason, none, none.astype(bool), np.full(1, np.nan), None, ())


@pytest.mark.parametrize(
    "answer, gain, safeguarded, reason, accepted",
    [
        (Reason.AGREE, None, True, Reason.AGREE, True),
        (Reason.TOLD, None, True, Reason.TOLD, True),
        (Reason.ASSUMED, None, True, Reason.ASSUMED, True),
        (Reason.DIFFER, None, True, Reason.DIFFER, False),
        (Reason.OPPOSED, None, True, Reason.OPPOSED, False),
        (Reason.WORSE, None, False, Reason.WORSE, False),
        (Reason.NO_REFERENCE, None, True, Reason.NO_REFERENCE, False),
        (Reason.DIFFER, CERTAIN, True, Reason.TAUGHT, True),
        (Reason.NO_REFERENCE, CERTAIN, True, Reason.TAUGHT, True),
        (Reason.DIFFER, WITHIN, True, Reason.TAUGHT, True),
        (Reason.NO_REFERENCE, WITHIN, True, Reason.TAUGHT, True),
        (Reason.DIFFER, FEW, True, Reason.FEW_LABELS, False),
        (Reason.AGREE, FEW, True, Reason.AGREE, True),
        (Reason.AGREE, SLIGHT, True, Reason.TAUGHT, True),
        (Reason.DIFFER, SLIGHT, True, Reason.TAUGHT, True),
        (Reason.ASSUMED, FEW, True, Reason.ASSUMED, True),
        (Reason.AGREE, AGAINST, True, Reason.NO_GAIN, False),
        (Reason.TOLD, AGAINST, True, Reason.NO_GAIN, False),
        (Reason.DIFFER, AGAINST, False, Reason.UNGUARDED, True),
    ],
)
def test_who_decides(answer, gain, safeguarded, reason, accepted):
    verdict = judge(answering(answer), gain, safeguarded=safeguarded)
    assert (verdict.reason, verdict.accepted) == (reason, accepted)


@pytest.mark.parametrize(
    "gain, safeguarded, turned, reason",
    [
        (CERTAIN, True, True, Reason.REVERSED),
        (AGAINST, True, True, Reason.REVERSED),
        (CERTAIN, False, True, Reason.TAUGHT),
        (FEW, True, True, Reason.REVERSED),
        (AGAINST, True, False, Reason.PAIRS),
        (WITHIN, True, False, Reason.TAUGHT),
        (AGAINST, False, False, Reason.UNGUARDED),
    ],
)
def test_pairs_follow_where_labels_refuse_but_not_if_these_turn_all_around(gain, safeguarded, turned, reason):
    verdict = judge(answering(Reason.AGREE), gain, safeguarded=safeguarded, turned=turned, pairs_follow=True)
    assert verdict.reason is reason
    assert verdict.takes_what_was_found is (reason not in (Reason.PAIRS, Reason.REVERSED))


def test_scores_in_other_units_are_brought_into_those_of_the_labels_even_if_nothing_else_is_taken():
    verdict = judge(answering(Reason.AGREE), AGAINST, safeguarded=True, fallback=Reason.UNITS)
    assert (verdict.reason, verdict.accepted, verdict.takes_what_was_found) == (Reason.UNITS, True, False)
    assert judge(answering(Reason.AGREE), CERTAIN, safeguarded=True, fallback=Reason.UNITS).reason is Reason.TAUGHT
    turned = judge(answering(Reason.AGREE), CERTAIN, safeguarded=True, turned=True, fallback=Reason.UNITS)
    assert turned.reason is Reason.UNITS


@pytest.mark.parametrize(
    "value, reason, close",
    [
        (0.001, Reason.TAUGHT, False),
        (-0.001, Reason.TAUGHT, True),
        (-0.011, Reason.NO_GAIN, True),
        (-0.019, Reason.NO_GAIN, True),
        (-0.021, Reason.NO_GAIN, False),
    ],
)
def test_a_verdict_near_its_limit_is_close(value, reason, close):
    """The limit is a loss of one standard error."""
    gain = Gain(value, 0.01, 60, "accuracy")
    verdict = judge(answering(Reason.AGREE), gain, safeguarded=True)
    assert (verdict.reason, verdict.is_close(gain)) == (reason, close)
    assert not judge(answering(Reason.AGREE), gain, safeguarded=False).is_close(gain)


def test_scores_go_as_far_as_the_probability_of_a_gain():
    """The probability that a normal variable is above 0, with half a standard error expected beforehand."""
    for gain in (CERTAIN, WITHIN, SLIGHT):
        drawn = np.random.default_rng(0).normal(gain.value + 0.5 * gain.standard_error, gain.standard_error, 200_000)
        verdict = judge(answering(Reason.AGREE), gain, safeguarded=True)
        assert verdict.certainty == pytest.approx((drawn > 0).mean(), abs=0.005)
    assert judge(answering(Reason.AGREE), WITHIN, safeguarded=False).certainty == 1.0
    assert judge(answering(Reason.AGREE), None, safeguarded=True).certainty == 1.0


def test_no_difference_at_all_is_no_loss():
    nothing = Gain(0.0, 0.0, 40, "accuracy")
    assert not nothing.is_loss
    assert judge(answering(Reason.ASSUMED), nothing, safeguarded=True).reason is Reason.TAUGHT
