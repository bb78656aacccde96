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
        "give more pairs or other references, or set the method's 'ignore_chance' to false."
    )
    NOTHING_BETTER = (
        "No step of the diffusion raised the score on the labels, so the main predictor comes back unchanged."
    )
    SMOOTHED_ONLY = (
        "The main predictor smoothed over its own graph scored best on the labels; no reference raised that score."
    )
    GAIN_UNCERTAIN = (
        "The gain on the labels does not exceed its own standard error, or fewer than ten rows are labelled, so "
        "the main predictor comes back unchanged; give more labels, or set the method's 'safeguarded' to false to "
        "take the refinement all the same."
    )
