"""Reasons in sentences. Each says what to do, if there is something to do; parameters stand in backticks."""

import re
from collections.abc import Mapping

from manifuse.evidence.reason import Reason
from manifuse.evidence.relevance import Standing

#: Why a refinement came out as it did.
REASONS: Mapping[Reason, str] = {
    Reason.NO_REFERENCE: "No reference takes part: each is left out, or says the same of all rows or what the main "
    "predictor says. So the main predictor comes back unchanged; give other references.",
    Reason.NO_GAIN: "At labels that were held out the refinement is worse than the main predictor, which comes back "
    "unchanged; give more labels, or set `safeguarded` to false to take the refinement all the same.",
    Reason.REVERSED: "What the labels taught turns the main predictor around, or leaves nothing of its order, so it "
    "comes back unchanged; check that the labels have the right ids and name the classes that the predictor means, "
    "change the sign of labels or scores if larger numbers mean less in one of them, or set `safeguarded` to false if "
    "it is meant.",
    Reason.PAIRS: "At labels that were held out the refinement is worse than the main predictor, so only the "
    "common rows follow the references; give more labels, or set `safeguarded` to false to take the "
    "refinement at all rows.",
    Reason.UNITS: "At labels that were held out the refinement is worse than the main predictor in units of the "
    "labels, or it turns the main predictor around, so its scores are only brought into these units, by a line; give "
    "more labels, or set `safeguarded` to false to take the refinement all the same.",
    Reason.CALIBRATED: "At labels that were held out the refinement is worse than the calibrated main predictor, so "
    "the labels only calibrate its probabilities; give more labels, or set `safeguarded` to false to take the "
    "refinement all the same.",
    Reason.FEW_LABELS: "Fewer than ten rows are labelled, fewer than five differ from the others in their label, or "
    "labels differ in at most one of the groups that are held out together. These are too few to measure a gain, so "
    "the main predictor comes back unchanged; give more labels, or set `safeguarded` to false to take the refinement "
    "all the same.",
    Reason.TAUGHT: "The refinement learned from the labels. It goes further where held-out labels show "
    "the gain more surely.",
    Reason.UNGUARDED: "The refinement learned from the labels. Labels that were held out show no gain, or are too few "
    "to measure one, but `safeguarded` is false, so it is taken.",
    Reason.AGREE: "The references agree with each other, and the main predictor with them, beyond chance. So the "
    "refinement follows the references, the more reliable ones further.",
    Reason.TOLD: "`same_target` says that the references predict the same thing as the main predictor.",
    Reason.ASSUMED: "One or two references cannot show whether they predict the same thing as the main predictor. It "
    "is assumed, because they were brought as references, so the refinement follows them, the more reliable ones "
    "further.",
    Reason.WEAK: "The references agree with each other, but it is not certain that the main predictor agrees with "
    "them all: it is weak, or they predict something else, and scores alone do not tell which. The first is assumed, "
    "because they were brought as references, so the refinement follows them; give labels, or set `same_target` to "
    "false if they may predict something else.",
    Reason.UNCLEAR: "Nothing shows that the references agree with each other beyond chance: the common rows are too "
    "few to show it, or the references are weak, or they predict different things. It is assumed that they predict "
    "the same thing as the main predictor, because they were brought as references, so the refinement follows them; "
    "give labels or more pairs, or set `same_target` to false if they may predict something else.",
    Reason.DIFFER: "The main predictor and the references do not predict the same thing: either too few of them "
    "have something in common, or some are clearly high where others are low. So the main predictor comes back "
    "unchanged; give labels or other references, change the sign of scores that mean less where they are "
    "larger, check which class each column is, or set `same_target` to true if you know better.",
    Reason.OPPOSED: "At the pairs the references are high where the main predictor is low, so it comes back "
    "unchanged; change the sign of one side if larger scores mean less there, check which class each column is, or "
    "give labels.",
    Reason.NOT_SHOWN: "`same_target` is false, so three references or more must agree with each other, and the main "
    "predictor with them beyond chance; this is not shown, so it comes back unchanged. Give labels, or more "
    "references or pairs.",
    Reason.WORSE: "`same_target` is false, and at held-out pairs the references add nothing certain to what the main "
    "predictor says of them, so it comes back unchanged; give labels or other references.",
}

#: The parameter that a reason names first, as its remedy.
REMEDIES: Mapping[Reason, str] = {
    reason: named[1] for reason, said in REASONS.items() if (named := re.search(r"`(\w+)`", said))
}

#: Whether a reference took part, and why not.
STANDINGS: Mapping[Standing, str] = {
    Standing.TOOK_PART: "took part",
    Standing.TAUGHT: "took part in what the labels taught, and is not followed beyond that",
    Standing.DIFFERS: "not followed: predicts something else than the main predictor and most references do",
    Standing.NOT_FOLLOWED: "not followed: the findings about all references say why",
    Standing.LEFT_OUT: "left out, as `ignored` says",
    Standing.IDLE: "ignored: its scores are all equal, or repeat the main predictor's",
}

#: Why references are not followed, where labels taught.
NOT_FOLLOWED: Mapping[Reason, str] = {
    Reason.DIFFER: "too few of them have something in common with your scores, or some are high where others are low",
    Reason.OPPOSED: "they are high where your scores are low",
    Reason.NOT_SHOWN: "it is not shown that three or more agree with each other, and your scores with them",
    Reason.WORSE: "at held-out pairs they add nothing certain to your scores",
}


def plain(sentence: str) -> str:
    """Return a sentence for readers of a page: parameters stand without backticks."""
    return sentence.replace("`", "")
