"""Wording: what a refinement says for people, in a few lines."""

from __future__ import annotations

from functools import partial
from textwrap import fill as fill_lines
from typing import Protocol

import numpy as np

from manifuse.evidence.agreement import FEWEST_REFERENCES, LEAST_LOADING, Agreement
from manifuse.evidence.gain import Accuracy, Gain
from manifuse.evidence.holding_out import Held
from manifuse.evidence.reason import Reason
from manifuse.grid import WIDTH, as_text
from manifuse.run.standing import Ran, Standing, standings

#: Wraps a line, but not within an option such as --no-safeguard.
fill = partial(fill_lines, width=WIDTH, break_on_hyphens=False)

#: What the columns of the printed table of references say.
COLUMNS = (
    "weight: how much its scores count where yours count 1; agrees: correlation",
    "at the pairs; chance: of permuted pairs; imputed: how well its scores are",
    "predicted at held-out pairs; known: how much is known of them at your rows.",
)


#: Why references are not followed, where labels taught.
WEIGHTLESS = {
    Reason.DIFFER: "they and your scores do not share one common factor",
    Reason.OPPOSED: "they are high where your scores are low",
    Reason.NOT_SHOWN: "fewer than three cannot show that they predict the same thing",
    Reason.WORSE: "at held-out pairs they add nothing certain to your scores",
}

#: By chance, ranking accuracy is within this number, divided by the root of the labels, of one half.
BACKWARDS = 1.2


class Named(Protocol):
    """The main table; see `Observations`."""

    @property
    def name(self) -> str:
        """Its name."""


class Told(Ran, Protocol):
    """What is told of a refinement; see `Refinement`."""

    @property
    def main(self) -> Named:
        """The main table."""

    @property
    def accepted(self) -> bool:
        """Whether it was taken."""

    @property
    def reason(self) -> Reason:
        """Why."""

    @property
    def accuracy(self) -> Accuracy | None:
        """Before and after, on the labels."""

    @property
    def gain(self) -> Gain | None:
        """On the labels."""

    @property
    def worth(self) -> Gain | None:
        """Of all references together."""

    @property
    def held(self) -> Held | None:
        """How labels were held out."""


def summary_of(result: Told) -> str:
    """Say the verdict, why, what the references answered, and what each is worth."""
    lines = [verdict_of(result), f"Why: {result.reason}"]
    if result.gain is None and result.agreement is not None:
        lines += _of_agreement(result.agreement, names_of_asked(result))
    backwards = rank_backwards(result)
    lines += [] if backwards is None else [backwards]
    if result.relevance:
        lines += [
            "",
            as_text(result.relevance.grid),
            f"{result.relevance.said_of_worth()};",
            *COLUMNS,
        ]
    lines += ["", *remarks] if (remarks := remarks_of(result)) else []
    return "\n".join(line if "\n" in line else fill(line) for line in lines)


def meaning_of_support(*, learning: bool) -> str:
    """Say what the ends of the support of a row mean."""
    one = "they know it" if learning else "as much as of a typical pair"
    return f"0: the references say nothing of it; 1: {one}"


def remarks_of(result: Told) -> list[str]:
    """Name references that are left out or seem to harm; say how labels were held out, what references are worth."""
    stands = list(zip((entry.name for entry in result.relevance), standings(result), strict=True))
    chance = [name for name, standing in stands if standing is Standing.AT_CHANCE]
    lines = [f"Ignored, as they agree no better than chance: {', '.join(chance)}."] if chance else []
    if result.held is not None and result.held is not Held.AT_RANDOM:
        lines.append(f"Labels were held out {result.held}.")
    differing = [entry.name for entry in result.relevance if entry.differs]
    lines += [f"Not followed, as they predict something else: {', '.join(differing)}."] if differing else []
    harmful = [
        f"{entry.name} ({entry.worth.amount(signed=True)})"
        for entry in result.relevance
        if entry.worth is not None and entry.worth.is_clear_loss
    ]
    lines += [f"Perhaps better left out: {', '.join(harmful)}."] if harmful else []
    reverse = [entry.name for entry in result.relevance if entry.speaks_in_reverse]
    if reverse:
        lines += [
            f"High where your scores are low: {', '.join(reverse)}. If larger scores mean less there, "
            "change their sign."
        ]
    if result.gain is not None and result.agreement is not None and result.agreement.answer in WEIGHTLESS:
        why = WEIGHTLESS[result.agreement.answer]
        lines += [f"The references are not followed: {why}. What labels teach may use them all the same."]
    if result.gain is not None and result.worth is not None:
        lines.append(worth_of(result.worth))
    return lines


def rank_backwards(result: Told) -> str | None:
    """Say so if the main predictor ranks the labels backwards, by more than two standard errors of chance."""
    before = result.accuracy
    if before is None or result.gain is None or before.measure != "accuracy" or result.gain.is_of_few:
        return None
    if before.before >= 0.5 - BACKWARDS / np.sqrt(result.gain.rows):
        return None
    return (
        f"The scores of “{result.main.name}” rank the labels backwards ({before.before:.1%}). If larger labels mean "
        "less, change their sign."
    )


def is_unmeasured(result: Told) -> bool:
    """Whether the refinement was taken, although neither labels nor references could speak for it."""
    unasked = result.agreement is None or result.reason is Reason.TOLD
    return result.accepted and (result.reason is Reason.ASSUMED or (result.gain is None and unasked))


def verdict_of(result: Told) -> str:
    """Say in a sentence what became of the scores, and how good they are on the labels."""
    name = f"The scores of “{result.main.name}”"
    if result.gain is None:
        if not result.accepted:
            return f"{name} stay as they were."
        if is_unmeasured(result):
            return f"{name} were refined. No labels came, so whether that is better was not measured."
        return f"{name} were refined. No labels came; the references agree with them and with each other."
    rows = f"{result.gain.rows:,} labelled rows"
    if result.accepted and result.gain.is_of_few:
        return f"{name} were refined. {rows} are too few to measure whether that is better."
    if not result.accepted:
        return f"{name} stay as they were: on {rows}, {change_of(result)}."
    certain = "and are better" if result.gain.is_clear else "and are probably better"
    better = certain if result.gain.is_certain else "but are not certainly better"
    return f"{name} were refined, {better}: on {rows}, {change_of(result)}."


def change_of(result: Told) -> str:
    """Say what a refinement with labels changes on them, or would have changed: from, to, and by how much."""
    assert result.accuracy is not None, "there are labels"
    assert result.gain is not None, "there are labels"
    goes, gained = "goes" if result.accepted else "would go", result.gain.amount(signed=True)
    before = result.accuracy.before
    if result.accuracy.measure == "rmse":
        reached = before - result.gain.value
        return f"the root mean squared error {goes} from {before:.3g} to {reached:.3g} (gain {gained})"
    return f"ranking accuracy {goes} from {before:.1%} to {min(before + result.gain.value, 1.0):.1%} ({gained})"


def worth_of(worth: Gain) -> str:
    """Say what all references together are worth, with labels."""
    measured = worth.amount(signed=False)
    if worth.is_certain:
        are = "are" if worth.is_clear else "are probably"
        return f"Your references {are} worth {measured} beyond your own features and labels."
    if worth.is_clear_loss:
        return f"Your references are probably worth less than nothing ({measured}); try without them."
    return f"{worth.rows:,} labels cannot tell whether your references add anything ({measured})."


def names_of_asked(result: Told) -> list[str]:
    """Names of the main predictor and of the references that were asked, in the order of their loadings."""
    numbers = result.refiner.columns.references.numbers
    return [result.main.name, *(result.relevance[number].name for number in numbers)]


def _of_agreement(asked: Agreement, names: list[str]) -> list[str]:
    """What was asked of the references, and their answers."""
    if len(asked.pulls) < FEWEST_REFERENCES or not np.isfinite(asked.residual):
        return []
    # A reference may have the name of the main predictor.
    loadings = zip(names, asked.loadings.tolist(), strict=True)
    said = "most do" if asked.differing.any() else "yes" if asked.is_followed else "no"
    listed = ", ".join(f"{name} {loading:.2f}" for name, loading in loadings)
    lines = [
        f"Do all predict the same thing? {said}. One common factor leaves {asked.residual:.3f} of the correlations "
        f"(at most {asked.most_residual:.2f}, and no loading clearly below {LEAST_LOADING}). Loadings on it: {listed}."
    ]
    if np.isfinite(asked.gain):
        error = "" if not np.isfinite(asked.standard_error) else f" ± {asked.standard_error:.3f}"
        lines.append(
            f"What would the others have told of each reference? At held-out pairs they gain {asked.gain:+.3f}{error} "
            "in correlation."
        )
    return lines
