"""Verdict: whether a refinement is taken, and why."""

from __future__ import annotations

from dataclasses import dataclass

from manifuse.diffusion.joint import Path
from manifuse.diffusion.reason import Reason
from manifuse.evidence.agreement import YES, Agreement
from manifuse.evidence.gain import Gain
from manifuse.kernels.arrays import FloatArray

#: Reasons for which the main predictor comes back unchanged.
UNCHANGED = (
    Reason.NO_REFERENCE,
    Reason.NOTHING_BETTER,
    Reason.GAIN_UNCERTAIN,
    Reason.NO_GAIN,
    Reason.FEW_LABELS,
    Reason.DIFFER,
    Reason.UNLIKE,
    Reason.WORSE,
)


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


def judge_learned(agreement: Agreement, gain: Gain | None, *, safeguarded: bool) -> Verdict:
    """Decide whether a refinement is taken that labels or references taught.

    Parameters
    ----------
    agreement : Agreement
        What the references answered.
    gain : Gain or None
        With labels: of the refinement at labels that were held out.
    safeguarded : bool
        Whether a refinement without a gain is refused.

    Notes
    -----
    Without labels the references decide. With labels a gain decides: they were held out, so it need not be certain. If
    there is none, the references' answer counts, unless the labels show a clear loss. If the references could not be
    asked, only labels too few to say anything leave it to them.
    """
    if gain is None:
        reason = agreement.answer
    elif gain.is_seen:
        reason = Reason.TAUGHT
    elif (
        agreement.answer in YES
        and not gain.is_clear_loss
        and (gain.is_of_few or agreement.answer is not Reason.NOT_MEASURED)
    ):
        reason = agreement.answer
    else:
        reason = _refusal(gain, Reason.NO_GAIN) if safeguarded else Reason.UNGUARDED
    return Verdict(reason not in UNCHANGED, reason, gain)


def judge_tuned(path: Path, active: FloatArray, gain: Gain | None, *, safeguarded: bool) -> Verdict:
    """Decide whether a refinement is taken that labels only tuned, or that took references at their word.

    Parameters
    ----------
    path : Path
    active : (m,) array
        1 for references that take part, 0 for the others.
    gain : Gain or None
        With labels: of the refinement on them. They chose its parameters, so it is too good.
    safeguarded : bool
        Whether a gain within its own standard error is refused.
    """
    reason = path.reason if len(path.coefficients) else Reason.NOTHING_BETTER
    if not active.any():
        reason = Reason.NO_REFERENCE
    elif reason is not Reason.NOTHING_BETTER and safeguarded and gain is not None and not gain.is_certain:
        reason = _refusal(gain, Reason.GAIN_UNCERTAIN)
    return Verdict(reason not in UNCHANGED, reason, gain)


def _refusal(gain: Gain, usual: Reason) -> Reason:
    """Why a refinement with this gain is not taken: for the usual reason, unless the labels are too few."""
    return Reason.FEW_LABELS if gain.is_of_few else usual
