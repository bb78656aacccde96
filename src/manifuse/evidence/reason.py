"""Reason: why a refinement came out as it did."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a refinement came out as it did, with a remedy if there is one."""

    SCORE_STOPPED_RISING = "The score on the labels stopped rising."
    SETTLED = "The predictions settled: a further round hardly changed them."
    ROUNDS_USED_UP = "All rounds were used; raise 'rounds' to go on."
    NO_REFERENCE = (
        "No reference takes part, so the main predictor comes back unchanged; give references whose scores differ "
        "from each other and from the main predictor's."
    )
    NOTHING_BETTER = (
        "No step of the diffusion raised the score on the labels, so the main predictor comes back unchanged."
    )
    GAIN_UNCERTAIN = (
        "The gain on the labels does not exceed its own standard error, so the main predictor comes back unchanged; "
        "give more labels, or set the method's 'safeguarded' to false (--no-safeguard) to take the refinement all the "
        "same."
    )
    NO_GAIN = (
        "At labels that were held out the refinement is worse than the main predictor, which comes back unchanged; "
        "give more labels, or set the method's 'safeguarded' to false (--no-safeguard) to take the "
        "refinement all the same."
    )
    FEW_LABELS = (
        "Fewer than ten rows are labelled, which is too few to measure a gain, so the main predictor comes back "
        "unchanged; give more labels, or set the method's 'safeguarded' to false (--no-safeguard) to take the "
        "refinement all the same."
    )
    TAUGHT = "The labels taught the refinement, and it is taken as far as labels that were held out say that it gains."
    UNGUARDED = (
        "The labels taught the refinement. No gain was seen at labels that were held out, but the method's "
        "'safeguarded' is false, so it is taken."
    )
    AGREE = (
        "The references share one common factor with the main predictor, so the refinement follows them as far as "
        "their reliability says."
    )
    TOLD = "The method's 'same_target' says that the references predict the same thing as the main predictor."
    ASSUMED = (
        "One or two references cannot show whether they predict the same thing as the main predictor; they were "
        "brought as if they did, so the refinement follows them as far as their reliability says."
    )
    DIFFER = (
        "The main predictor and the references do not predict the same thing, because their scores do not share one "
        "common factor, so the main predictor comes back unchanged; give labels or other references, or set the "
        "method's 'same_target' to true (--same-target) if you know better."
    )
    OPPOSED = (
        "At the pairs the references are clearly high where the main predictor is low, so it comes back unchanged; "
        "change the sign of one side if larger scores mean less there, or give labels."
    )
    NOT_SHOWN = (
        "The method's 'same_target' is false, so the references must show that they predict the same thing as the "
        "main predictor, and fewer than three cannot; it comes back unchanged. Give more references or labels."
    )
    WORSE = (
        "The method's 'same_target' is false, and at held-out pairs the references add nothing certain to what the "
        "main predictor says of them, so it comes back unchanged; give labels or other references."
    )
