"""Findings: what speaks for a refinement and against it. They are made here, for summary, pages and JSON alike."""

from collections.abc import Iterator, Sequence

from manifuse.columns.refined_scores import LITTLE, RefinedScores
from manifuse.evidence.found import Evidence
from manifuse.evidence.gain import Gain
from manifuse.evidence.reason import Reason
from manifuse.evidence.relevance import Relevance, Standing
from manifuse.grid import many
from manifuse.words.finding import Finding, named
from manifuse.words.label_findings import of_averaging, of_labels, too_few
from manifuse.words.reasons import NOT_FOLLOWED, REASONS, REMEDIES

#: A loss below half a point is no reason to leave a reference out, however clear.
LEAST_HARM = 0.005

#: What to do about references that run against the main predictor.
OF_REVERSED = (
    "If larger scores mean less there, change their sign; if they are probabilities of classes, check which column is "
    "which."
)

#: With fewer pairs than this a reference is hardly of use.
FEW_COMMON_ROWS = 30


def findings_of(evidence: Evidence, refined: RefinedScores, *, is_sample: bool = False) -> tuple[Finding, ...]:
    """Say what speaks for a refinement, then what speaks against it.

    Parameters
    ----------
    evidence : Evidence
    refined : RefinedScores
        The scores that came of it.
    is_sample : bool
        Whether they are of a sample of the main rows.
    """
    found = [
        *of_labels(evidence),
        *of_averaging(evidence),
        *_of_answers(evidence),
        *_of_worth(evidence),
        *_of_references(evidence),
    ]
    found += _of_rows(evidence, refined, "fitted row" if is_sample else "row") if evidence.verdict.accepted else []
    return tuple(sorted(found, key=lambda finding: not finding.speaks_for))


def _of_answers(evidence: Evidence) -> Iterator[Finding]:
    """What the references answered, where it counts: without labels, or where labels cannot decide."""
    asked, reason = evidence.agreement, evidence.verdict.reason
    why, remedy = None, None
    if evidence.measured is not None and asked.answer in NOT_FOLLOWED:
        why, remedy = NOT_FOLLOWED[asked.answer], REMEDIES.get(asked.answer)
    elif asked.pulls_without_labels.any() and not asked.is_followed:
        why, remedy = "labels of rows that they know are not higher where they are high", "references"
    if why:
        said = f"The references are not followed: {why}. What labels teach may use them all the same."
        yield Finding("not followed", False, said, remedy)
    if reason is Reason.TAUGHT or not evidence.relevance:
        return
    # Where only units or calibration of own scores are taken, no row follows a reference.
    if evidence.verdict.accepted and reason not in (Reason.UNITS, Reason.CALIBRATED):
        answer = reason if evidence.measured is None else asked.answer
        yield Finding("answer", asked.answer is Reason.AGREE, REASONS[answer], REMEDIES.get(answer))
    if asked.gain is not None:
        better = asked.gain.value > asked.gain.standard_error
        how = "better" if better else "no better"
        said = f"At held-out pairs, “{evidence.name}” and the other references together predict each reference {how}"
        by = f"{asked.gain.amount(signed=True)} of correlation"
        yield Finding("held-out pairs", better, f"{said} than “{evidence.name}” alone ({by}).")


def _of_worth(evidence: Evidence) -> Iterator[Finding]:
    """What all references together are worth by the labels."""
    worth = evidence.worth
    if worth is None or evidence.measured is None:
        return
    if worth.is_of_few:
        said = f"{too_few(worth)} are too few to tell what the references are worth."
        yield Finding("worth", False, said, "labels")
        return
    helps = _helps_at_pairs(evidence)
    remedy = None if worth.is_certain or (worth.is_clear_loss and helps) else "references"
    measured_on = evidence.measured.drawn_from or evidence.measured.gain.rows
    rows = many(worth.rows, "labelled row")
    if worth.rows < measured_on:
        rows = f"{worth.rows:,} of the {measured_on:,} labelled rows"
    yield Finding("worth", worth.is_certain, _said_of_worth(worth, rows, helps=helps), remedy)


def _helps_at_pairs(evidence: Evidence) -> bool:
    """Whether the references certainly help at rows that they know, where worths are judged as if they did not."""
    measured = evidence.measured
    if measured is None or measured.at_pairs is None:
        return False
    return measured.as_if_unknown and measured.at_pairs.is_certain


def _said_of_worth(worth: Gain, rows: str, *, helps: bool) -> str:
    measured = worth.amount(signed=False)
    if worth.is_certain:
        are = "are" if worth.is_clear else "are probably"
        return f"Your references {are} worth {measured} beyond your own features and labels."
    where = " at rows that they do not know" if helps else ""
    if worth.is_clear_loss:
        so = "at rows that they know they help" if helps else "try without them"
        return f"Your references are probably worth less than nothing{where} ({measured}); {so}."
    return f"{rows} cannot tell whether your references add anything{where} ({measured})."


def _of_references(evidence: Evidence) -> Iterator[Finding]:
    """Who agrees with the main predictor, who took no part, and who has few pairs."""
    unused = (Standing.LEFT_OUT, Standing.IDLE)
    entries, name = [entry for entry in evidence.relevance if entry.standing not in unused], evidence.name
    idle = named(entry.name for entry in evidence.relevance if entry.standing is Standing.IDLE)
    if idle:
        said = f"Ignored, because their scores are all equal or repeat “{name}”: {idle}."
        yield Finding("idle", False, said, "references")
    if not entries:
        return
    others = [entry.name for entry in entries if not entry.agrees]
    if sure := len(entries) - len(others):
        which = "the reference" if len(entries) == 1 else f"{sure} of {len(entries)} references"
        agree = "agrees" if sure == 1 else "agree"
        said = f"On the common rows, {which} {agree} with “{name}” more than by chance"
        but = f"; {named(others)} {'does' if len(others) == 1 else 'do'} not" if others else ""
        yield Finding("agrees", True, f"{said}{but}.")
    else:
        yield Finding("agrees", False, f"On the common rows, no reference agrees with “{name}” beyond chance.")
    yield from _of_differing(evidence, [entry.name for entry in entries if entry.speaks_in_reverse])
    harmful = [entry for entry in entries if entry.worth is not None and _is_harm(entry.worth)]
    if harmful:
        listed = ", ".join(f"“{each.name}” ({each.worth.amount(signed=True)})" for each in harmful if each.worth)
        but = ", but for the rows that they know" if _helps_at_pairs(evidence) else ""
        yield Finding("harmful", False, f"Perhaps better left out{but}: {listed}.", "ignored")
    yield from _of_coverage(evidence)
    yield from _of_common_rows(evidence, entries)


def _of_differing(evidence: Evidence, reverse: Sequence[str]) -> Iterator[Finding]:
    """Who says the reverse, of the main predictor or of the others, and who predicts something else."""
    if reverse:
        said = f"High where “{evidence.name}” is low: {named(reverse)}. {OF_REVERSED}"
        yield Finding("reverse", False, said, "references")
    different, opposed = (
        [evidence.relevance[number].name for number, holds in zip(evidence.asked, which, strict=True) if holds]
        for which in (evidence.agreement.differing, evidence.agreement.opposed)
    )
    opposed = [each for each in opposed if each not in reverse]
    if opposed:
        said = f"High where the other predictors are low: {named(opposed)}. {OF_REVERSED}"
        yield Finding("reverse", False, said, "references")
    if different:
        who, predict, are = ("it", "predicts", "is") if len(different) == 1 else ("they", "predict", "are")
        why = f"{who} {predict} something else"
        if evidence.agreement.answer is Reason.TOLD or {*different} <= {*reverse}:
            why = f"at the pairs {who} {are} high where “{evidence.name}” is low"
            why += ", whatever `same_target` says" if evidence.agreement.answer is Reason.TOLD else ""
        elif {*different} <= {*reverse, *opposed}:
            why = f"at the pairs {who} {are} high where the others are low"
        yield Finding("differs", False, f"Not followed: {named(different)}; {why}.", "same_target")


def _of_common_rows(evidence: Evidence, entries: Sequence[Relevance]) -> Iterator[Finding]:
    """Which references share no row with another one, and which have few pairs."""
    if evidence.disjoint:
        said = f"These share no common row: {named(evidence.disjoint)}. Each counts as a reference of its own"
        yield Finding("disjoint", False, f"{said}; if they are parts of one table, join them.", "references")
    few = named(entry.name for entry in entries if entry.pairs < FEW_COMMON_ROWS)
    if few:
        said = f"Fewer than {FEW_COMMON_ROWS} common rows connect {few} with “{evidence.name}”."
        yield Finding("few pairs", False, said, "references")


def _of_coverage(evidence: Evidence) -> Iterator[Finding]:
    """What the common rows do not show: classes that they lack, and rows that they are not like."""
    if evidence.uncovered:
        keep = "it keeps its" if len(evidence.uncovered) == 1 else "they keep their"
        said = (
            f"No reference can speak of {named(evidence.uncovered)}: it knows neither the class nor parts of it, or "
            f"has hardly any common row of it. {'Without what labels teach' if evidence.measured else 'So'} {keep} "
            "probability."
        )
        yield Finding("uncovered classes", False, said, "references")
    if evidence.vanished:
        are = "is" if len(evidence.vanished) == 1 else "are"
        said = f"{named(evidence.vanished)} {are} no longer the most probable class of any row."
        yield Finding("vanished classes", False, f"{said} Their probabilities still tell which rows come closest.")
    if not evidence.pairs_like_rest:
        said = (
            f"The common rows are not like all rows of “{evidence.name}”: scores or features have other means there. "
            "Whether the references agree elsewhere is not known; ask for rows drawn from all."
        )
        yield Finding("pairs differ", False, said, "references")


def _is_harm(worth: Gain) -> bool:
    """Whether a loss is clear, and large enough to act on; errors in units of the labels have no such size."""
    return worth.is_clear_loss and (worth.measure == "rmse" or worth.value <= -LEAST_HARM)


def _of_rows(evidence: Evidence, refined: RefinedScores, row: str) -> Iterator[Finding]:
    """Which rows moved without an explanation; how many have evidence, if a reference took part.

    A sentence calls one of them a ``row``.
    """
    if evidence.unexplained:
        count = len(evidence.unexplained)
        rows, names = many(count, "common row"), named(evidence.unexplained)
        said = f"{rows} moved far only because a reference says so of {'it' if count == 1 else 'them'}"
        advice = "Neither features nor other rows explain that; look at what each reference says there"
        yield Finding("unexplained", False, f"{said}: {names}. {advice}.", "labels")
    if not evidence.relevance.weights.any():
        return
    little = refined.little_support
    if not little:
        yield Finding("support", True, f"Every {row} has some evidence from the references behind it.")
        return
    verb, them = ("has", "it") if little == 1 else ("have", "them")
    advice = f"trust {them} less than the others"
    if not evidence.verdict.takes_what_was_found:
        whose = "its own score" if little == 1 else "their own scores"
        advice = f"labels refused what would move {them}, so {'it keeps' if little == 1 else 'they keep'} {whose}"
    elif refined.uncertainty is not None:
        advice = f"what the labels taught moved {them}, and the standard errors say how sure that is"
    said = (
        f"{many(little, row)} ({little / len(refined.scores):.1%}) {verb} hardly any evidence from the references "
        f"behind {them} (support below {LITTLE}): {advice}."
    )
    yield Finding("support", False, said)
