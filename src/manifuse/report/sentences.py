"""The result in plain words, for a reader who knows neither diffusion nor bridges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from manifuse.evidence.agreement import YES
from manifuse.evidence.gain import FEWEST_ROWS
from manifuse.evidence.reason import Reason
from manifuse.evidence.relevance import Relevance
from manifuse.report.refinement_statistics import LITTLE, Shift, by_weight
from manifuse.report.wording import change_of, rank_backwards, worth_of
from manifuse.run.refinement import Refinement
from manifuse.run.standing import USED, Standing, standings

#: The most names in a sentence; further ones are counted.
NAMED = 3

#: A reference whose weight is below this share of the largest weight is only counted.
SLIGHT = 0.1

#: With fewer pairs than this a reference is hardly of use.
FEW_PAIRS = 30


@dataclass(frozen=True)
class Arguments:
    """What speaks for a refinement, and what speaks against it: sentences."""

    pro: list[str] = field(default_factory=list)
    contra: list[str] = field(default_factory=list)


def arguments(result: Refinement, shift: Shift) -> Arguments:
    """Say what speaks for a refinement, taken or not, and what speaks against it."""
    found = Arguments()
    _of_labels(result, found)
    _of_answers(result, found)
    _of_worth(result, found)
    _of_references(result, found)
    if result.accepted:
        _of_rows(result, shift, found)
    return found


def lead(result: Refinement, shift: Shift) -> list[str]:
    """Say which references took part, and how the rows moved."""
    if not result.accepted:
        return [str(result.reason)]
    return [*_took_part(result), _moved(shift), *_banded(shift)]


def _of_labels(result: Refinement, found: Arguments) -> None:
    if result.gain is None:
        found.contra.append("No labels came, so whether the new scores are better was not measured.")
        return
    held = "at random" if result.held is None else result.held
    measured = f"On the {result.gain.rows:,} rows whose truth is known, {change_of(result)}."
    backwards = rank_backwards(result)
    if backwards is not None:
        found.contra.append(backwards)
    if not result.gain.is_certain:
        found.contra.append(f"{measured} That could be chance.")
    elif result.method.learning:
        found.pro.append(
            f"{measured} Each of these rows was judged without its own label; labels were held out {held}."
        )
    else:
        found.pro.append(measured)
        found.contra.append("The same labels chose the settings, so the gain on other rows may be somewhat smaller.")
    if result.reason is Reason.UNGUARDED:
        found.contra.append("It was taken because the safeguard was switched off.")


def _of_answers(result: Refinement, found: Arguments) -> None:
    """What the references answered, where it counts: without labels, or where labels cannot decide."""
    asked = result.agreement
    if asked is None or result.reason is Reason.TAUGHT or not result.relevance:
        return
    said = str(result.reason if result.gain is None else asked.answer)
    weak = asked.answer not in YES or asked.answer in (Reason.ASSUMED, Reason.TOLD)
    if result.accepted or result.gain is not None:
        (found.contra if weak else found.pro).append(said)
    if np.isfinite(asked.gain) and np.isfinite(asked.standard_error):
        better = asked.gain > asked.standard_error
        how = "better" if better else "not measurably better"
        (found.pro if better else found.contra).append(
            f"At held-out pairs, “{result.main.name}” and the other references predict a reference {how} than "
            f"“{result.main.name}” alone: by {asked.gain:.3f} ± {asked.standard_error:.3f} in correlation."
        )


def _of_worth(result: Refinement, found: Arguments) -> None:
    """What all references together are worth by the labels."""
    if result.worth is None or result.gain is None:
        return
    if result.worth.is_of_few:
        found.contra.append(f"Fewer than {FEWEST_ROWS} labelled rows cannot tell what the references are worth.")
        return
    (found.pro if result.worth.is_certain else found.contra).append(worth_of(result.worth))


def _of_references(result: Refinement, found: Arguments) -> None:
    """Who agrees with the main predictor, who was ignored, and who has few pairs."""
    entries, name = result.relevance, result.main.name
    if not entries:
        return
    sure = sum(entry.held_out_alignment > entry.chance_alignment for entry in entries)
    agree = f"{'agrees' if sure == 1 else 'agree'} with “{name}” more than by chance"
    where = "On the rows that both know,"
    if sure:
        found.pro.append(f"{where} {sure} of {many(len(entries), 'reference')} {agree}.")
    else:
        found.contra.append(f"{where} no reference agrees with “{name}” more than by chance.")
    reverse = [entry.name for entry in entries if entry.speaks_in_reverse]
    if reverse:
        found.contra.append(f"High where “{name}” is low: {_first_of(reverse)}.")
    parts = list(zip((entry.name for entry in entries), standings(result), strict=True))
    left = [each for each, part in parts if part is Standing.LEFT_OUT]
    ignored = [each for each, part in parts if part is Standing.AT_CHANCE]
    idle = [each for each, part in parts if part is Standing.IDLE]
    # If no reference takes part, the reason says so of all of them.
    if ignored and result.reason is not Reason.NO_REFERENCE:
        found.contra.append(f"Ignored, as they agree no better than chance: {_first_of(ignored)}.")
    if idle:
        found.contra.append(f"Ignored, because their scores are all equal or repeat “{name}”: {_first_of(idle)}.")
    differing = [entry.name for entry in entries if entry.differs]
    if differing:
        found.contra.append(f"Not followed, because they predict something else: {_first_of(differing)}.")
    if left:
        found.contra.append(f"Left out, as the method says: {_first_of(left)}.")
    few = [entry.name for entry in entries if entry.pairs < FEW_PAIRS]
    if few:
        found.contra.append(f"Fewer than {FEW_PAIRS} common rows connect {_first_of(few)} with “{name}”.")


def _of_rows(result: Refinement, shift: Shift, found: Arguments) -> None:
    """How many rows have evidence; without a reference that took part there is none to speak of."""
    if not result.weights.any():
        return
    little = shift.little_support
    if not little:
        found.pro.append("Every row has some evidence from the references behind it.")
        return
    verb, them = ("has", "it") if little == 1 else ("have", "them")
    advice = f"trust {them} no more than before"
    if result.errors is not None:
        advice = f"what the labels taught moved {them}, and the standard errors say how sure that is"
    found.contra.append(
        f"{many(little, 'row')} ({little / len(shift.keys):.1%}) {verb} hardly any evidence from the references "
        f"behind {them} (support below {LITTLE}): {advice}."
    )


def _took_part(result: Refinement) -> list[str]:
    """Name the references that took part, by their worth or else by their weight, and those that speak in reverse."""
    parts = standings(result)
    taken = [result.relevance[index] for index in by_weight(result) if parts[index] in USED]
    if not taken:
        return ["No reference took part: the scores were refined by your own features and labels alone."]
    if result.gain is not None and all(entry.worth is not None for entry in taken):
        how, named = "worth", _by_worth(result, taken)[:NAMED]
    else:
        heavy = [entry for entry in taken if entry.weight >= SLIGHT * taken[0].weight]
        how, named = "weight", [f"“{entry.name}” (weight {entry.weight:.2g})" for entry in heavy[:NAMED]]
    rest = f", and {len(taken) - len(named)} more with less" if len(taken) > len(named) else ""
    listed = f"The references that took part, by {how}: {_listed(named)}{rest}."
    sentences = [f"Only {named[0]} took part." if len(taken) == 1 else listed]
    reverse = [entry.name for entry in taken if entry.speaks_in_reverse]
    if reverse:
        speak = f"{_first_of(reverse)} {'speaks' if len(reverse) == 1 else 'speak'} in reverse"
        sentences.append(f"{speak}, high where “{result.main.name}” is low; change its sign, or leave it out.")
    return sentences


def _by_worth(result: Refinement, taken: Sequence[Relevance]) -> list[str]:
    """Names of references with their worths, the largest first."""
    worths = {entry.name: entry.worth for entry in taken if entry.worth is not None}
    names = sorted(worths, key=lambda name: -worths[name].value)
    return [f"“{name}” ({worths[name].amount(signed=True)})" for name in names]


def _moved(shift: Shift) -> str:
    return (
        f"Half of the {many(len(shift.keys), 'row')} moved by at most {np.ceil(shift.median_rise):,.0f} ranks, and "
        f"{shift.top_kept:.0%} of those in the highest tenth stay there."
    )


def _banded(shift: Shift) -> list[str]:
    """Say why refined scores fall into bands, if they do."""
    bands = shift.bands
    if bands < 2:
        return []
    return [
        f"The refined scores fall into {bands} bands with gaps between them. Rows of a band are alike in their "
        "features, and the refinement gives alike rows alike scores. Trust the order of the bands more than the order "
        "within one."
    ]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _first_of(names: Sequence[str]) -> str:
    """Return the first names in quotation marks, and how many more there are."""
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return _listed([*(f"“{name}”" for name in names[:NAMED]), *more])


def many(count: int, noun: str) -> str:
    """Return a count with its noun: 1 row, 2 rows."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
