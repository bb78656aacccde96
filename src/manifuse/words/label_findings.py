"""What labels say for a refinement and against it."""

from collections.abc import Iterator
from dataclasses import replace

from manifuse.evidence.found import Evidence, Measurement
from manifuse.evidence.gain import FEWEST_ROWS, LOSSES, UNITS, Accuracy, Gain, Measure
from manifuse.evidence.reason import Reason
from manifuse.grid import figures, many
from manifuse.words.finding import Finding, named

#: Labels are rare if fewer than one in so many is not the commonest value. Risks have moved if their odds in the mean
#: are so many times larger or smaller.
RARE, MOVED = 5, 2.0


def change_of(evidence: Evidence) -> str:
    """Say what a refinement with labels changes on them, or would have changed: from, to, and by how much."""
    assert evidence.measured is not None, "there are labels"
    measured, taken = evidence.measured, evidence.verdict.takes_what_was_found
    said = _change(measured.accuracy, measured.gain, taken=taken)
    if measured.in_other_units:
        said = f"with “{evidence.name}” brought into units of the labels by a line, {said}"
    if measured.calibrated and measured.right is not None and not taken:
        said = f"with “{evidence.name}” calibrated by the labels, {said}"
    return said if measured.right is None else f"{_change(*measured.right, taken=taken)}, and {said}"


def _change(accuracy: Accuracy, gain: Gain, *, taken: bool) -> str:
    """Say how one measure changes, or would have changed."""
    name, gained = UNITS[accuracy.measure].what, gain.amount(signed=True)
    start, goes = (accuracy.before, "goes") if taken else (accuracy.after, "would go")
    values = start, gain.reached_from(start)
    before, after = (measured_as(accuracy.measure, each) for each in values)
    way = f"{goes} from {before} to {after}"
    return f"the {name} {way} (gain {gained})" if accuracy.measure in LOSSES else f"{name} {way} ({gained})"


def measured_as(measure: Measure, value: float, *, more: int = 0) -> str:
    """Return a value of a measure as text; with ``more`` digits than sentences have."""
    if measure == "rmse":
        few = figures(value, 3 + more)
        # Both values of a change have as many digits: 4.00, not 4.
        return few if "e" in few or "," in few else f"{value:#.{3 + more}g}".rstrip(".")
    return f"{value:.{3 + more}f}" if measure == "log_loss" else f"{value:.{1 + more}%}"


def of_labels(evidence: Evidence) -> Iterator[Finding]:
    """What labels show of the gain, and what limits that."""
    measured = evidence.measured
    if measured is None:
        better = "the new scores are" if evidence.verdict.accepted else "other scores would be"
        said = f"No labels came, so whether {better} better was not measured."
        yield Finding("no labels", False, said, "labels")
        return
    gain = measured.gain
    if measured.backwards:
        accuracy = measured.accuracy
        share = f" ({accuracy.before:.1%})" if accuracy.measure == "accuracy" else ""
        said = f"The scores of “{evidence.name}” rank the labels backwards{share}."
        yield Finding("backwards", False, f"{said} If larger labels mean less, change their sign.", "labels")
    elif measured.unrelated:
        also = ", and neither do the refined ones" if measured.unpredicted else ""
        said = f"The scores of “{evidence.name}” say no more of the labels than chance could{also}."
        yield Finding(
            "unrelated", False, f"{said} If that surprises you, check the ids of the labels, and their sign.", "labels"
        )
    if gain.is_of_few:
        yield Finding("gain", False, f"{too_few(gain)} are too few to measure a gain.", "labels")
    else:
        yield _of_gain(evidence, measured)
    yield from _of_limits(evidence, measured)
    yield from _of_calibration(evidence.name, measured)
    if measured.at_pairs is not None:
        yield _of_pairs(measured.at_pairs, evidence.agreement.factor_by_labels)
    if evidence.verdict.reason is Reason.UNGUARDED:
        yield Finding("unguarded", False, "It was taken because `safeguarded` is false.", "safeguarded")


def _of_gain(evidence: Evidence, measured: Measurement) -> Finding:
    """By how much labels are better predicted, and how that was measured."""
    gain = measured.gain
    change = f"On {_rows_of(measured)}, {change_of(evidence)}."
    among = " and among those that were held out with it" if measured.accuracy.measure == "accuracy" else ""
    how = f"Each of these rows was judged without its own label{among}; labels were held out {measured.held}."
    if gain.is_certain:
        return Finding("gain", True, f"{change} {how}")
    chance = "" if gain.is_clear_loss else " That could be chance."
    if gain.value == gain.standard_error == 0:
        chance += " They are told apart as before, so they do not show whether other rows gain or lose."
    return Finding("gain", False, f"{change}{chance} {how}", "labels")


def as_judged(measured: Measurement) -> str:
    """Say it if labelled rows were judged as if no reference knew them, though references know some of them."""
    return ", judged as if no reference knew them" if measured.at_pairs is not None and measured.as_if_unknown else ""


def _rows_of(measured: Measurement) -> str:
    """The rows that a gain was measured on; also how many there are of a rare label."""
    gain = measured.gain
    rows = f"the {many(gain.rows, 'row')} whose truth is known"
    if measured.drawn_from is not None:
        rows = f"{gain.rows:,} of the {measured.drawn_from:,} rows whose truth is known, which were drawn at random"
    if gain.others is None or RARE * gain.others >= gain.rows:
        return rows
    return f"{rows} ({gain.others} of them have another label than the rest)"


def _of_calibration(name: str, measured: Measurement) -> Iterator[Finding]:
    """What labels make of probabilities: how far those of 0 and 1 calibrate, and what keeps labels from doing so."""
    if measured.risk is not None:
        said = "The labels are 0 and 1, so they calibrate the probabilities: at labelled rows"
        _, gain = measured.risk
        chance = "" if gain.is_certain or gain.is_clear_loss else " That could be chance."
        yield Finding("risk", gain.is_certain, f"{said} {_change(*measured.risk, taken=True)}.{chance}")
    if measured.mean_risks is not None:
        yield _of_mean_risks(*measured.mean_risks)
    if measured.chosen:
        said = "The labels seem to be chosen by class: classes are not as frequent there as your probabilities say."
        also = "Refined probabilities keep what yours expect. What is measured of them is that of rows like these."
        yield Finding("chosen", False, f"{said} {also}", "labels")
    if measured.uncalibrated == "scale":
        said = f"All scores of “{name}” are in [0, 1]. If they are probabilities, refine with"
        yield Finding(
            "scale", False, f'{said} scale="probability"; the labels of 0 and 1 then calibrate them.', "scale"
        )
    elif measured.uncalibrated == "labels":
        said = "Only labels of 0 and 1 calibrate probabilities, and these are others."
        yield Finding("uncalibrated", False, said, "labels")


def _of_mean_risks(labels: float, before: float, after: float) -> Finding:
    """How large risks are in the mean. Labels that were chosen by their outcome move it, and nothing else tells."""
    said = f"Refined risks are {after:.1%} in the mean, yours were {before:.1%}, and {labels:.1%} of the labels are 1."
    was, now = before / (1.0 - before), after / (1.0 - after)
    moved = max(was, now) > MOVED * min(was, now)
    if moved:
        said += " If the labels were chosen by their outcome, the refined risks are wrong; give labels at random."
    return Finding("mean risk", not moved, said, "labels" if moved else None)


def _of_limits(evidence: Evidence, measured: Measurement) -> Iterator[Finding]:
    """Which rows, classes or units the labels say little of, and whether they decide narrowly."""
    gain = measured.gain
    if gain.is_of_few and gain.measure == "rmse":
        said = (
            f"{too_few(gain)} are too few for a line, so the scores stay in their own units, not those of the labels."
        )
        yield Finding("units", False, f"{said} Errors are differences of the two as they came.", "labels")
    if measured.uneven:
        where = "higher" if measured.uneven > 0 else "lower"
        said = f"The labels are missed by more where refined scores are {where}."
        yield Finding("uneven", False, f"{said} Standard errors do not know that, so they are too small there.")
    if not measured.representative.like_rest:
        said = "The labelled rows are not like the other rows, so the gain is that of rows like them alone."
        also = "What they teach fades elsewhere, where standard errors may be too small."
        yield Finding("unlike", False, f"{said} {also}", "labels")
    if not measured.representative.of_all_times:
        said = "Neighbouring rows are alike, as rows in time are, and the labels are mostly of early or of late rows."
        yield Finding("times", False, f"{said} The gain is that of their time, and may differ in the rest.", "labels")
    if not measured.representative.of_known:
        said = "References know the labelled rows less often than the others. So labels do not show what references do"
        yield Finding("unknown rows", False, f"{said} at the rows that they know; get labels there.", "labels")
    if not measured.representative.of_far:
        said = f"Some scores of “{evidence.name}” are much farther from their median than those of all labelled rows."
        also = "No label shows how wrong refined scores are there, and a few such rows can outweigh all others."
        yield Finding("far rows", False, f"{said} {also}", "labels")
    if measured.representative.apart is not None:
        how = "closer to each other" if measured.representative.apart == "closer" else "farther apart"
        said = f"The own scores of the ordered pairs are {how} than those of two rows usually are."
        yield Finding("apart", False, f"{said} The gain is that of such pairs alone.", "labels")
    if measured.by_class is not None and (missing := measured.by_class.untaught):
        which, them = ("class", "it") if len(missing) == 1 else ("classes", "them")
        said = f"No label is of the {which} {named(missing)}, so labels teach nothing of {them}."
        yield Finding("untaught", False, said, "labels")
    if evidence.verdict.is_close(gain):
        said = "The decision is close: a loss of more than its standard error is refused, and a smaller one is not."
        yield Finding("close", False, f"{said} Another seed could decide otherwise.", "labels")


def of_averaging(evidence: Evidence) -> Iterator[Finding]:
    """What users reach with references in two lines, on the same rows."""
    measured = evidence.measured
    if measured is None or measured.averaged is None or measured.gain.is_of_few:
        return
    gain, ahead = measured.averaged
    taken = evidence.verdict.takes_what_was_found
    who, they, verbs = "What was not taken", "it is", ("gains", "loses")
    if taken:
        who, they, verbs = "The refined scores", "they are", ("gain", "lose")
    how = f"so {they} behind it" if ahead.is_clear_loss else "which could be chance"
    how = f"so {they} ahead of it" if ahead.is_clear else how
    rows = f"all {many(gain.rows, 'labelled row')}" if measured.drawn_from is None else "the rows that were drawn"
    said = f"On {rows}{as_judged(measured)}, imputing the references and averaging all scores"
    said = f"{said} {_gained(gain)}"
    advice = "; measure both with `compare`" if ahead.is_clear_loss else ""
    against = "beyond" if ahead.value >= 0 else "against"
    said = f"{said}. {who} {_gained(ahead, *verbs)} {against} that, {how}{advice}."
    yield Finding("averaging", taken and ahead.is_clear, said)


def _of_pairs(gain: Gain, factor: float) -> Finding:
    """What the references are worth at rows that they know themselves, and how much labels there make them count."""
    said = f"On the {many(gain.rows, 'labelled row')} that are common rows, following the references {_gained(gain)}"
    said += "." if gain.is_certain or gain.is_clear_loss else ", which could be chance."
    if f"{factor:.0%}" != "100%":
        times = f"{factor:.0%} of what" if factor < 1 else f"{figures(factor, 2)} times what"
        said += f" By these labels, the references count {times} they would without them."
    return Finding("pairs", gain.is_certain, said)


def _gained(gain: Gain, gains: str = "gains", loses: str = "loses") -> str:
    """Say a gain as an amount that something gains or loses."""
    verb = gains if gain.value >= 0 else loses
    return f"{verb} {replace(gain, value=abs(gain.value)).amount(signed=False)}"


def too_few(gain: Gain) -> str:
    """The labelled rows that are too few for a gain, and if so, how few of them have another label than the rest."""
    if not gain.rows:
        return "The labels (or the groups in which they differ)"
    rows = many(gain.rows, "labelled row")
    if gain.rows < FEWEST_ROWS or gain.others is None:
        return rows
    return f"{rows}, of which {gain.others} {'has' if gain.others == 1 else 'have'} another label than the rest,"
