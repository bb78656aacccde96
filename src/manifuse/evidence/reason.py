"""Reason: why a refinement came out as it did."""

from enum import StrEnum, auto


class Reason(StrEnum):
    """Why a refinement came out as it did; `words.reasons` has a sentence for each.

    NO_REFERENCE: none takes part. TAUGHT, UNGUARDED: labels taught, with or without a gain that was seen. NO_GAIN,
    FEW_LABELS: held-out labels show a loss, or are too few. AGREE, TOLD, ASSUMED, WEAK, UNCLEAR: references are
    followed, because they share one factor, because the user says so, because one or two cannot contradict it, because
    they share one factor that the main predictor has no certain part in, or although it is not certain that they share
    one. DIFFER, OPPOSED, NOT_SHOWN, WORSE: they are not followed. PAIRS: held-out labels show a loss, but rows that
    references know themselves follow them. UNITS: what labels taught is refused, but scores are brought into units of
    the labels. CALIBRATED: the same of classes, whose own probabilities labels calibrate. REVERSED: what labels taught
    turns the main predictor around.
    """

    NO_REFERENCE = auto()
    TAUGHT = auto()
    UNGUARDED = auto()
    NO_GAIN = auto()
    PAIRS = auto()
    UNITS = auto()
    CALIBRATED = auto()
    REVERSED = auto()
    FEW_LABELS = auto()
    AGREE = auto()
    TOLD = auto()
    ASSUMED = auto()
    WEAK = auto()
    UNCLEAR = auto()
    DIFFER = auto()
    OPPOSED = auto()
    NOT_SHOWN = auto()
    WORSE = auto()
