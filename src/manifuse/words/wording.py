"""What a refinement says in a few lines: what became of the scores, why, and what each reference is worth."""

from collections.abc import Iterable
from functools import partial
from textwrap import fill as fill_lines

from manifuse.evidence.agreement import FEWEST_REFERENCES, LEAST_LOADING
from manifuse.evidence.found import Evidence, Measurement
from manifuse.evidence.holding_out import Held
from manifuse.evidence.reason import Reason
from manifuse.evidence.relevance import Standing
from manifuse.grid import WIDTH, as_text, many
from manifuse.words.finding import Finding, named
from manifuse.words.label_findings import as_judged, change_of, too_few
from manifuse.words.reasons import REASONS

#: Wraps a line, but not within an option such as --same-target.
fill = partial(fill_lines, width=WIDTH, break_on_hyphens=False)

#: What the columns of the printed table of references say.
COLUMNS = (
    "weight: how much its scores count where yours count 1; held_out_alignment:",
    "correlation with yours at the pairs; chance_alignment: of permuted pairs;",
    "fidelity: how well its scores are predicted at held-out pairs; reached: how",
    "much is known of them at your rows.",
)

#: Where a refinement is taken in part: what limits it, what a headline says of it, and what else became of the scores.
LIMITS = {
    Reason.PAIRS: "at common rows alone",
    Reason.UNITS: "in other units alone",
    Reason.CALIBRATED: "calibrated alone",
}
BECAME = {
    Reason.PAIRS: "were refined at common rows",
    Reason.UNITS: "are in units of the labels",
    Reason.CALIBRATED: "were calibrated",
}
ONLY = {
    Reason.UNITS: "are only brought into units of the labels",
    Reason.CALIBRATED: "are only calibrated",
}

#: Where a gain holds that was measured at rows which are not like the rest.
ON_THEM = "on rows like the labelled ones"

#: What the ends of the support of a row mean.
SUPPORT = "0: the references say nothing of it; 1: they know it"

#: Findings that the first lines of the summary say already.
SAID = ("no labels", "gain", "answer")


def summary_of(evidence: Evidence, findings: Iterable[Finding]) -> str:
    """Say the verdict, why, what the references answered, what each is worth, and what speaks for and against it."""
    lines = [verdict_of(evidence), f"Why: {REASONS[evidence.verdict.reason]}"]
    if evidence.measured is None:
        lines += _of_agreement(evidence)
    elif evidence.measured.held is not Held.AT_RANDOM:
        lines.append(f"Labels were held out {evidence.measured.held}.")
    if evidence.relevance:
        lines += ["", as_text(evidence.relevance.grid), f"{evidence.relevance.said_of_worth()};", *COLUMNS]
        left_out = named(entry.name for entry in evidence.relevance if entry.standing is Standing.LEFT_OUT)
        lines += [f"Left out, as `ignored` says: {left_out}."] if left_out else []
    found = [finding for finding in findings if finding.code not in SAID]
    for heading, speaks_for in (("What speaks for the refinement:", True), ("What speaks against it:", False)):
        said = [f"- {finding.sentence}" for finding in found if finding.speaks_for is speaks_for]
        lines += ["", heading, *said] if said else []
    return "\n".join(line if "\n" in line else fill(line) for line in lines)


def is_unmeasured(evidence: Evidence) -> bool:
    """Whether the refinement was taken, although neither labels nor references could speak for it."""
    reason = evidence.verdict.reason
    return reason in (Reason.ASSUMED, Reason.WEAK, Reason.UNCLEAR) or (
        evidence.measured is None and reason is Reason.TOLD
    )


def doubt_of(evidence: Evidence) -> str:
    """What limits a refinement that was taken, in a few words; empty if labels or references surely speak for it."""
    if evidence.verdict.reason in LIMITS:
        return LIMITS[evidence.verdict.reason]
    if is_unmeasured(evidence):
        return "not measured"
    if evidence.measured is None:
        return ""
    if evidence.measured.unpredicted or not evidence.measured.gain.is_certain:
        return "not certainly better"
    return "" if evidence.measured.is_of_rest else f"better {ON_THEM}"


def headline_of(evidence: Evidence) -> str:
    """Say in a few words what became of the scores."""
    became = BECAME.get(evidence.verdict.reason, "were refined") if evidence.verdict.accepted else "stay as they were"
    return f"The scores of “{evidence.name}” {became}"


def verdict_of(evidence: Evidence) -> str:
    """Say in a sentence what became of the scores, and how good they are on the labels."""
    name, accepted = f"The scores of “{evidence.name}”", evidence.verdict.accepted
    if evidence.measured is None:
        if not accepted:
            return f"{name} stay as they were."
        said = f"{name} were refined. No labels came, so whether that is better was not measured"
        asked = [evidence.relevance[number] for number in evidence.asked]
        which = "the" if all(entry.agrees for entry in asked) else "most"
        agree = "" if is_unmeasured(evidence) else f"; {which} references agree with them and with each other"
        return f"{said}{agree}."
    gain = evidence.measured.gain
    rows = f"{many(gain.rows, 'labelled row')}{as_judged(evidence.measured)}"
    if accepted and gain.is_of_few:
        said = f"{name} were refined. {too_few(gain)} taught a little at most"
        return f"{said}, and are too few to measure whether that is better."
    if evidence.verdict.reason is Reason.PAIRS:
        rest = "stay as they were"
        if evidence.measured.in_other_units:
            rest = ONLY[Reason.UNITS]
        elif evidence.measured.calibrated:
            rest = ONLY[Reason.CALIBRATED]
        said = f"{name} follow the references at the common rows; the others {rest}"
        return f"{said}: on {rows}, {change_of(evidence)}."
    if evidence.verdict.reason in ONLY:
        return f"{name} {ONLY[evidence.verdict.reason]}: on {rows}, {change_of(evidence)}."
    if not gain.rows:
        return f"{name} stay as they were. {too_few(gain)} are too few to measure a gain."
    if not accepted:
        return f"{name} stay as they were: on {rows}, {change_of(evidence)}."
    return f"{name} were refined, {_how_certain(evidence.measured)}: on {rows}, {change_of(evidence)}."


def _how_certain(measured: Measurement) -> str:
    if not measured.gain.is_certain:
        return "but are not certainly better"
    if measured.unpredicted:
        return "but say no more of the labels than chance could"
    better = "and are better" if measured.gain.is_clear else "and are probably better"
    return better if measured.is_of_rest else f"{better} {ON_THEM}"


def _of_agreement(evidence: Evidence) -> list[str]:
    """What was asked of the references, and their answers."""
    asked = evidence.agreement
    if len(asked.pulls) < FEWEST_REFERENCES:
        return []
    # A reference may have the name of the main predictor.
    loadings = zip(evidence.names_of_asked, asked.loadings.tolist(), strict=True)
    some_do_not = asked.differing.any() or (asked.loadings < LEAST_LOADING).any()
    followed = "no" if not asked.is_followed else "most do" if some_do_not else "yes"
    unsure = {
        Reason.TOLD: "yes, as `same_target` says",
        Reason.WEAK: "the references do",
        **dict.fromkeys((Reason.UNCLEAR, Reason.NOT_SHOWN, Reason.WORSE), "not shown"),
    }
    said = unsure.get(asked.answer, followed)
    listed = ", ".join(f"{name} {loading:.2f}" for name, loading in loadings)
    return [
        f"Do all predict the same thing? {said}. Their loadings are their correlations with what all have in common "
        f"(none may be clearly below {LEAST_LOADING}): {listed}."
    ]
