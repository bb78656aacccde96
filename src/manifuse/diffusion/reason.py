"""Reason: why a refinement came out as it did."""

from __future__ import annotations

from enum import StrEnum


class Reason(StrEnum):
    """Why a refinement came out as it did, with a remedy if there is one."""

    SCORE_STOPPED_RISING = "The score on the labels stopped rising."
    SETTLED = "The predictions settled: a further round hardly changed them."
    ROUNDS_USED_UP = "All rounds were used; raise 'rounds' to go on."
    NO_REFERENCE = (
        "No reference aligns better than permuted pairs do, so the main predictor comes back unchanged; "
        "give more pairs or other references, or set the method's 'ignore_chance' to false (in a config, under "
        "[method])."
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
        "At labels that were held out the refinement is not better than the main predictor, which comes back "
        "unchanged; give more labels, or set the method's 'safeguarded' to false (--no-safeguard) to take the "
        "refinement all the same."
    )
    FEW_LABELS = (
        "Fewer than ten rows are labelled, which is too few to measure a gain, so the main predictor comes back "
        "unchanged; give more labels, or set the method's 'safeguarded' to false (--no-safeguard) to take the "
        "refinement all the same."
    )
    TAUGHT = "The labels taught the refinement, and at labels that were held out it gains, so it is taken."
    UNGUARDED = (
        "The labels taught the refinement. No gain was seen at labels that were held out, but the method's "
        "'safeguarded' is false, so it is taken."
    )
    AGREE = (
        "The references that are followed predict the same thing as the main predictor, and at held-out pairs they "
        "add to what it predicts of them, so the refinement follows them as far as they add to it."
    )
    TOLD = "The method's 'same_target' says that the references predict the same thing as the main predictor."
    NOT_MEASURED = (
        "Not measured: too few references can be compared to tell whether they predict the same thing as the main "
        "predictor, so the refinement goes at most half of the way; give ten labels or more, more references, or set "
        "the method's 'same_target' to true (--same-target)."
    )
    DIFFER = (
        "The main predictor and most of the references do not predict the same thing, because their scores do not "
        "share one common factor, so the main predictor comes back unchanged; give labels or other references, or set "
        "the method's 'same_target' to true (--same-target) if you know better."
    )
    UNLIKE = (
        "The references agree with each other more than with the main predictor, which is either weak or predicts "
        "something else, so it comes back unchanged; give labels, or set the method's 'same_target' to true "
        "(--same-target) if it is only weak."
    )
    WORSE = (
        "At held-out pairs the references add nothing to what the main predictor predicts of them, so it comes back "
        "unchanged; give labels or other references."
    )
