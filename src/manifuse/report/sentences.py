"""The result in plain words, for a reader who knows neither diffusion nor bridges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manifuse.diffusion.reason import Reason
from manifuse.evidence.agreement import YES
from manifuse.evidence.score import FEWEST_ROWS, Gain
from manifuse.refinement import Refinement
from manifuse.report.refinement_statistics import LITTLE, Shift, Standing, by_weight, standings
from manifuse.wording import amount

#: The most names in a sentence; further ones are counted.
NAMED = 3

#: A reference whose weight is below this share of the largest weight is only counted.
SLIGHT = 0.1


def lead(result: Refinement, shift: Shift) -> list[str]:
    """Say why it was accepted or not, what was gained, what references are worth, and how the rows moved."""
    sentences = [*_gained(result), *_worth(result), *_mattered(result), *_kept_out(result)]
    if result.accepted:
        sentences.append(_moved(shift))
    # Without a reference that took part, there is no evidence from references to speak of.
    if result.accepted and result.weights.any():
        sentences.append(_supported(shift, taught=result.errors is not None))
    return sentences


def _gained(result: Refinement) -> list[str]:
    if result.gain is None or result.accuracy is None:
        return _gained_unmeasured(result)
    gain, points = result.gain, not result.method.is_regression
    value = f"{100 * gain.value:.1f} points" if points else f"{gain.value:.3g}"
    error = f"{100 * gain.standard_error:.1f}" if points else f"{gain.standard_error:.3g}"
    rows, reason = f"On the {gain.rows:,} rows whose truth is known", str(result.reason)
    if result.reason is Reason.GAIN_UNCERTAIN:
        return [f"{rows}, the refinement would have gained {value}, with a standard error of {error}.", reason]
    if not result.accepted:
        return [reason]
    before, after = (result.accuracy[when] for when in ("before", "after"))
    change = (
        f"the share of pairs in the right order goes from {before['accuracy']:.1%} to {after['accuracy']:.1%}"
        if points
        else f"the root mean squared error goes from {before['rmse']:.4g} to {after['rmse']:.4g}"
    )
    return [f"{rows}, {change}: a gain of {value}, with a standard error of {error}.", _remark(result, gain)]


def _remark(result: Refinement, gain: Gain) -> str:
    """Say how far the gain on the labels can be trusted."""
    if not gain.is_certain and result.reason in YES:
        return f"That could be chance. The refinement was accepted because of the references. {result.reason}"
    if not gain.is_certain:
        return "That could be chance. The refinement was accepted because the safeguard was switched off."
    if result.method.learning:
        return "Each of these rows was judged by what the refinement would be without its own label."
    return "The same labels chose the settings, so the gain on other rows may be somewhat smaller."


def _gained_unmeasured(result: Refinement) -> list[str]:
    if not result.accepted:
        return [str(result.reason)]
    sure = sum(abs(entry.held_out_alignment) > entry.chance_alignment for entry in result.relevance)
    name, count = result.main.name, len(result.relevance)
    unmeasured = "No labels came, so whether the new scores are better was not measured."
    asked = [] if result.agreement is None else [str(result.reason)]
    if not sure:
        return [unmeasured, *asked, f"Nothing speaks for them: no reference agrees with “{name}” more than by chance."]
    return [
        unmeasured,
        *asked,
        f"What speaks for them: on the rows that both know, {sure} of {_many(count, 'reference')} "
        f"{'agrees' if sure == 1 else 'agree'} with “{name}” more than by chance.",
    ]


def _worth(result: Refinement) -> list[str]:
    """Say what all references together are worth, if that was measured."""
    worth = result.worth
    if worth is None or not result.accepted:
        return []
    if result.gain is None:
        better = "better" if worth.is_certain else "not measurably better"
        return [
            f"At held-out pairs the references predict each other {better} than “{result.main.name}” predicts them: "
            f"by {amount(result, worth)}."
        ]
    if worth.rows < FEWEST_ROWS:
        return [f"Fewer than {FEWEST_ROWS} labelled rows cannot tell what the references are worth."]
    beyond = f"beyond your own features and labels ({amount(result, worth)})"
    if worth.is_clear_loss:
        return [f"Leave the references out: they are worth less than nothing {beyond}."]
    if not worth.is_certain:
        return [f"The references added nothing that can be measured {beyond}."]
    return [f"All references together are worth {amount(result, worth)} beyond your own features and labels."]


def _mattered(result: Refinement) -> list[str]:
    """Name the references that took part, with their weights, and those that speak in reverse."""
    parts = standings(result)
    taken = [result.relevance[index] for index in by_weight(result) if parts[index] is Standing.TOOK_PART]
    if not result.accepted:
        return []
    if not taken:
        return ["No reference took part: the scores were refined by your own features and labels alone."]
    heavy = [entry for entry in taken if entry.weight >= SLIGHT * taken[0].weight]
    named = [f"“{entry.name}” (weight {entry.weight:.2g})" for entry in heavy[:NAMED]]
    rest = f", and {len(taken) - len(named)} more with less" if len(taken) > len(named) else ""
    weights = f"The references that mattered, the most important first: {_listed(named)}{rest}."
    sentences = [f"Only {named[0]} had an influence." if len(taken) == 1 else weights]
    reverse = [entry.name for entry in taken if entry.alignment < 0]
    if reverse:
        speak = f"{_first_of(reverse)} {'speaks' if len(reverse) == 1 else 'speak'} in reverse"
        sentences.append(f"{speak}, high where “{result.main.name}” is low; the refinement takes this into account.")
    return sentences


def _kept_out(result: Refinement) -> list[str]:
    """Name the references that were ignored or left out."""
    parts = list(zip((entry.name for entry in result.relevance), standings(result), strict=True))
    left = [name for name, part in parts if part is Standing.LEFT_OUT]
    took_part_or_not = (Standing.TOOK_PART, Standing.UNUSED, Standing.LEFT_OUT)
    ignored = [name for name, part in parts if part not in took_part_or_not]
    sentences = []
    # If no reference is better than chance, the reason says so of all of them.
    if ignored and result.reason is not Reason.NO_REFERENCE:
        sentences.append(f"Ignored, because they say no more than chance or nothing new: {_first_of(ignored)}.")
    if left:
        sentences.append(f"Left out, as the method says: {_first_of(left)}.")
    return sentences


def _moved(shift: Shift) -> str:
    return (
        f"Half of the {_many(len(shift.keys), 'row')} moved by at most {np.ceil(shift.median_rise):,.0f} ranks, and "
        f"{shift.top_kept:.0%} of those in the highest tenth stay there."
    )


def _supported(shift: Shift, *, taught: bool) -> str:
    little = shift.little_support
    if not little:
        return "Every row has some evidence from the references behind it."
    verb, them = ("has", "it") if little == 1 else ("have", "them")
    advice = f"trust {them} no more than before"
    if taught:
        advice = f"what the labels taught moved {them}, and the standard errors say how sure that is"
    return (
        f"{_many(little, 'row')} ({little / len(shift.keys):.1%}) {verb} hardly any evidence from the references "
        f"behind {them} (support below {LITTLE}): {advice}."
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _first_of(names: Sequence[str]) -> str:
    """Return the first names in quotation marks, and how many more there are."""
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return _listed([*(f"“{name}”" for name in names[:NAMED]), *more])


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
