"""Whether a refinement is taken: labels decide if they show a gain; else the references, if no label objects."""

import numpy as np
import pytest

from manifuse.diffusion.reason import Reason
from manifuse.evidence.agreement import Agreement
from manifuse.evidence.gain import Gain
from manifuse.evidence.verdict import judge_learned

CERTAIN, WITHIN, FEW = (
    Gain(0.02, 0.01, 60, "accuracy"),
    Gain(0.005, 0.01, 60, "accuracy"),
    Gain(0.02, 0.01, 9, "accuracy"),
)
SLIGHT, AGAINST = Gain(-0.005, 0.01, 60, "accuracy"), Gain(-0.03, 0.01, 60, "accuracy")


def answering(reason):
    none = np.empty(0)
    return Agreement(reason, 0.0, none.astype(bool), np.full(1, np.nan), np.nan, np.nan, np.nan, none, none, none)


@pytest.mark.parametrize(
    "answer, gain, safeguarded, reason, accepted",
    [
        (Reason.AGREE, None, True, Reason.AGREE, True),
        (Reason.TOLD, None, True, Reason.TOLD, True),
        (Reason.NOT_MEASURED, None, True, Reason.NOT_MEASURED, True),
        (Reason.DIFFER, None, True, Reason.DIFFER, False),
        (Reason.UNLIKE, None, True, Reason.UNLIKE, False),
        (Reason.WORSE, None, False, Reason.WORSE, False),
        (Reason.NO_REFERENCE, None, True, Reason.NO_REFERENCE, False),
        (Reason.DIFFER, CERTAIN, True, Reason.TAUGHT, True),
        (Reason.NO_REFERENCE, CERTAIN, True, Reason.TAUGHT, True),
        (Reason.DIFFER, WITHIN, True, Reason.TAUGHT, True),
        (Reason.NO_REFERENCE, WITHIN, True, Reason.TAUGHT, True),
        (Reason.DIFFER, FEW, True, Reason.FEW_LABELS, False),
        (Reason.AGREE, FEW, True, Reason.AGREE, True),
        (Reason.AGREE, SLIGHT, True, Reason.AGREE, True),
        (Reason.DIFFER, SLIGHT, True, Reason.NO_GAIN, False),
        (Reason.NOT_MEASURED, SLIGHT, True, Reason.NO_GAIN, False),
        (Reason.NOT_MEASURED, FEW, True, Reason.NOT_MEASURED, True),
        (Reason.AGREE, AGAINST, True, Reason.NO_GAIN, False),
        (Reason.TOLD, AGAINST, True, Reason.NO_GAIN, False),
        (Reason.DIFFER, AGAINST, False, Reason.UNGUARDED, True),
    ],
)
def test_who_decides(answer, gain, safeguarded, reason, accepted):
    verdict = judge_learned(answering(answer), gain, safeguarded=safeguarded)
    assert (verdict.reason, verdict.accepted, verdict.gain) == (reason, accepted, gain)
