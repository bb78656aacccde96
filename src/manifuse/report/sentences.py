"""What a report says in plain words, to someone who knows neither diffusion nor bridges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from manifuse.diffusion.joint import Reason
from manifuse.refinement import Refinement
from manifuse.report.refinement_statistics import LITTLE, Shift, Standing, by_weight, standings

#: References that the summary names, and that it counts beyond.
NAMED = 3

#: Share of the largest weight below which a reference is only counted.
SLIGHT = 0.1


def verdict(result: Refinement) -> str:
    """Return the verdict in one word."""
    return "accepted" if result.accepted else "not accepted"


def headline(result: Refinement) -> str:
    """Say what became of the main predictor."""
    name = result.main.name
    return f"The scores of “{name}” were refined" if result.accepted else f"The scores of “{name}” stay as they were"


def lead(result: Refinement, shift: Shift) -> list[str]:
    """Say why it was accepted or not, what was gained, which references mattered, and what became of the rows."""
    sentences = [*_gained(result), *_mattered(result)]
    if not result.accepted:
        return sentences
    # Where no reference took part, there is no evidence of theirs to speak of.
    return [*sentences, _moved(shift), *([_supported(shift)] if result.weights.any() else [])]


def measure_of(result: Refinement) -> str:
    """Name what the labels measure, as an axis has it: more is better."""
    return "minus root mean squared error" if result.method.is_regression else "ranking accuracy"


def _gained(result: Refinement) -> list[str]:
    if result.gain is None or result.accuracy is None:
        return _gained_unmeasured(result)
    gain, points = result.gain, not result.method.is_regression
    value = f"{100 * gain.value:.1f} points" if points else f"{gain.value:.3g}"
    error = f"{100 * gain.standard_error:.1f}" if points else f"{gain.standard_error:.3g}"
    rows = f"On the {gain.rows:,} rows whose truth is known"
    if not result.accepted:
        if result.reason is Reason.GAIN_UNCERTAIN:
            return [
                f"{rows}, the refinement would have gained {value}, with a standard error of {error}.",
                result.reason,
            ]
        return [str(result.reason)]
    before, after = (result.accuracy[when] for when in ("before", "after"))
    gained = (
        f"{rows}, the share of pairs that stand in the right order goes from {before['accuracy']:.1%} to "
        f"{after['accuracy']:.1%}: a gain of {value}, with a standard error of {error}."
        if points
        else f"{rows}, the root mean squared error goes from {before['rmse']:.4g} to {after['rmse']:.4g}: a gain of "
        f"{value}, with a standard error of {error}."
    )
    remark = (
        "The same labels chose the settings, so that the gain on other rows may be somewhat smaller."
        if gain.is_certain
        else "That could be chance: it was taken all the same, for the safeguard was switched off."
    )
    return [gained, remark]


def _gained_unmeasured(result: Refinement) -> list[str]:
    if not result.accepted:
        return [str(result.reason)]
    sure = sum(abs(entry.held_out_alignment) > entry.chance_alignment for entry in result.relevance)
    name, count = result.main.name, len(result.relevance)
    unmeasured = "No labels came, so whether the new scores are better was not measured."
    if not sure:
        return [
            unmeasured,
            f"Nothing speaks for them: no reference agrees with “{name}” more than chance would have it.",
        ]
    return [
        unmeasured,
        f"What speaks for them: on the rows that both know, {sure} of {_many(count, 'reference')} "
        f"{'agrees' if sure == 1 else 'agree'} with “{name}” more than chance would have it.",
    ]


def _mattered(result: Refinement) -> list[str]:
    entries, parts = result.relevance, standings(result)
    order = by_weight(result)
    taken = [place for place in order if parts[place] is Standing.TOOK_PART]
    sentences = []
    if result.accepted and not taken:
        sentences.append("No reference took part: the main predictor was smoothed by its own features alone.")
    elif taken and result.accepted:
        heavy = [place for place in taken if entries[place].weight >= SLIGHT * entries[taken[0]].weight]
        named = [f"“{entries[place].name}” (weight {entries[place].weight:.2g})" for place in heavy[:NAMED]]
        more = len(taken) - len(named)
        rest = f", and {more} more with less" if more else ""
        sentences.append(
            f"Only {named[0]} had a say."
            if len(taken) == 1
            else f"The references that mattered, the most important first: {_listed(named)}{rest}."
        )
        reverse = [f"“{entries[place].name}”" for place in taken if entries[place].alignment < 0]
        if reverse:
            sentences.append(
                f"{_first_of(reverse)} {'speaks' if len(reverse) == 1 else 'speak'} in reverse, high where ours is "
                "low, and that is how it was read."
            )
    # With no reference better than chance the reason says so of all of them.
    if result.reason is not Reason.NO_REFERENCE:
        ignored = [f"“{entry.name}”" for entry, part in zip(entries, parts, strict=True) if _is_ignored(part)]
        if ignored:
            sentences.append(f"Ignored, for they tell no more than chance or nothing new: {_first_of(ignored)}.")
    left = [f"“{entry.name}”" for entry, part in zip(entries, parts, strict=True) if part is Standing.LEFT_OUT]
    if left:
        sentences.append(f"Left out, as the method says: {_first_of(left)}.")
    return sentences


def _moved(shift: Shift) -> str:
    return (
        f"Half of the {_many(len(shift.keys), 'row')} moved by {np.ceil(shift.median_places):,.0f} places or less in "
        f"the ranking, and {shift.top_kept:.0%} of those in the highest tenth stay there."
    )


def _supported(shift: Shift) -> str:
    rows, little = len(shift.keys), shift.little_support
    if not little:
        return "Every row has some evidence from the references behind it."
    return (
        f"{_many(little, 'row')} ({little / rows:.1%}) {'has' if little == 1 else 'have'} hardly any evidence from "
        f"the references behind {'it' if little == 1 else 'them'} (support below {LITTLE}): do not trust "
        f"{'it' if little == 1 else 'them'} more than before."
    )


def _is_ignored(part: Standing) -> bool:
    return part not in (Standing.TOOK_PART, Standing.UNUSED, Standing.LEFT_OUT)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _first_of(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return _listed([*names[:NAMED], *more])


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
