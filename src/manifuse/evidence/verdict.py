"""Verdict: whether a refinement is taken, and why."""

from __future__ import annotations

from dataclasses import dataclass

from manifuse.diffusion.joint import Path
from manifuse.diffusion.reason import Reason
from manifuse.evidence.score import Gain
from manifuse.kernels.arrays import FloatArray

#: Reasons for which the main predictor comes back unchanged.
UNCHANGED = (Reason.NO_REFERENCE, Reason.NOTHING_BETTER, Reason.GAIN_UNCERTAIN)


@dataclass(frozen=True, eq=False)
class Verdict:
    """What becomes of the main predictor.

    Attributes
    ----------
    accepted : bool
        Whether the refinement is taken; if not, the main predictions come back unchanged.
    reason : Reason
    gain : Gain or None
        With labels: the gain of the refinement on them, accepted or not.
    """

    accepted: bool
    reason: Reason
    gain: Gain | None


def judge(path: Path, active: FloatArray, gain: Gain | None, *, presmoothed: bool, safeguarded: bool) -> Verdict:
    """Decide whether the refinement is taken.

    Parameters
    ----------
    path : Path
    active : (m,) array
        1 for references that take part, 0 for the others.
    gain : Gain or None
        With labels: of the refinement on them.
    presmoothed : bool
        Whether the labels chose to smooth the main predictor first.
    safeguarded : bool
        Whether a gain within its own standard error is refused.
    """
    reason = path.reason
    if not len(path.coefficients):
        reason = Reason.SMOOTHED_ONLY if presmoothed else Reason.NOTHING_BETTER
    if not active.any():
        reason = Reason.NO_REFERENCE
    elif reason is not Reason.NOTHING_BETTER and safeguarded and gain is not None and not gain.is_certain:
        reason = Reason.GAIN_UNCERTAIN
    return Verdict(reason not in UNCHANGED, reason, gain)
