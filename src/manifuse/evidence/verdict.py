"""Verdict: whether a refinement is taken, how far, and why."""

from __future__ import annotations

from dataclasses import dataclass

from manifuse.evidence.agreement import YES, Agreement
from manifuse.evidence.gain import Gain
from manifuse.evidence.reason import Reason

#: Reasons to take a refinement; for all others the main predictor comes back unchanged.
TAKEN = (*YES, Reason.TAUGHT, Reason.UNGUARDED, Reason.PAIRS, Reason.UNITS, Reason.CALIBRATED)


@dataclass(frozen=True)
class Verdict:
    """The decision about a refinement.

    Attributes
    ----------
    accepted : bool
        Whether the refinement is taken; if not, the main predictions come back unchanged.
    reason : Reason
    certainty : float
        How far the refined scores go from what is known without labels to what was found, in [0, 1].
    """

    accepted: bool
    reason: Reason
    certainty: float

    @property
    def takes_what_was_found(self) -> bool:
        """Whether what was found is taken, at least in part; else no row or only pairs move."""
        return self.accepted and self.certainty > 0

    def is_close(self, gain: Gain) -> bool:
        """Whether it hangs on the draw of folds: the gain is within one standard error of what is refused."""
        limited = self.reason in (Reason.TAUGHT, Reason.NO_GAIN, Reason.PAIRS, Reason.UNITS, Reason.CALIBRATED)
        refused = -gain.standard_error  # The largest gain that is refused.
        return limited and abs(gain.value - refused) < gain.standard_error

    @classmethod
    def of(cls, reason: Reason, certainty: float = 1.0) -> Verdict:
        """Decide by the reason."""
        return cls(reason in TAKEN, reason, certainty)


def judge(
    agreement: Agreement,
    gain: Gain | None,
    *,
    safeguarded: bool,
    turned: bool = False,
    pairs_follow: bool = False,
    fallback: Reason | None = None,
) -> Verdict:
    """Decide whether a refinement is taken.

    Parameters
    ----------
    agreement : Agreement
        What the references answered.
    gain : Gain or None
        With labels: of what was found, at labels that were held out.
    safeguarded : bool
        Whether a refinement with a loss, or one that turns the main predictor around, is refused.
    turned : bool
        Whether what labels taught turns the main predictor around.
    pairs_follow : bool
        Whether there are rows that references know themselves, and that follow them whatever labels say of others.
    fallback : Reason or None
        What labels do with own scores if what was found is refused: UNITS or CALIBRATED. None if nothing.

    Notes
    -----
    Without labels, or with too few of them, the references decide. With labels, the refined scores go as far as the
    probability that there is a gain. Labels measure rows that no reference knows itself, so a loss there does not keep
    other rows from following the references.
    """
    # Also few labels, which do not decide, can teach what turns the scores around.
    if safeguarded and turned:
        return Verdict.of(fallback, 0.0) if fallback else Verdict.of(Reason.REVERSED)
    if gain is None or (gain.is_of_few and agreement.answer in YES):
        return Verdict.of(agreement.answer)
    if not safeguarded:
        return Verdict.of(Reason.TAUGHT if gain.is_seen else Reason.UNGUARDED)
    if gain.is_of_few:
        return Verdict.of(Reason.FEW_LABELS)
    if gain.is_loss:
        if pairs_follow:
            return Verdict.of(Reason.PAIRS, 0.0)
        return Verdict.of(fallback, 0.0) if fallback else Verdict.of(Reason.NO_GAIN)
    return Verdict.of(Reason.TAUGHT, gain.probability)
