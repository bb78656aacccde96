"""Wording: what a refinement says for people, in a few lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.reason import Reason
from manifuse.evidence.agreement import MOST_RESIDUAL, Agreement
from manifuse.evidence.relevance import Relevance
from manifuse.evidence.score import Gain


class Told(Protocol):
    """What is told of a refinement; see `Refinement`."""

    @property
    def accepted(self) -> bool:
        """Whether it was taken."""

    @property
    def reason(self) -> Reason:
        """Why."""

    @property
    def relevance(self) -> Sequence[Relevance]:
        """What was found out about each reference."""

    @property
    def accuracy(self) -> Mapping[str, Mapping[str, float]] | None:
        """Before and after, on the labels."""

    @property
    def gain(self) -> Gain | None:
        """On the labels."""

    @property
    def worth(self) -> Gain | None:
        """Of all references together."""

    @property
    def agreement(self) -> Agreement | None:
        """What the references answered."""

    @property
    def method(self) -> JointDiffusion:
        """Its hyperparameters."""


def summary_of(result: Told) -> list[str]:
    """Say the verdict, the accuracy on the labels, what the references answered, and what each is worth."""
    lines = [f"{'accepted' if result.accepted else 'unchanged'}: {result.reason}"]
    if result.accuracy is not None and result.gain is not None:
        where = "on labels that were held out" if result.method.learning else "on the labels"
        before, after = result.accuracy["before"], result.accuracy["after"]
        lines += [f"{name} {where}: {before[name]:.4f} before, {after[name]:.4f} after" for name in before]
        lines.append(f"gain of the refinement {where}: {amount(result, result.gain, signed=True)}")
    if result.gain is None and result.agreement is not None:
        lines += _of_agreement(result.agreement)
    lines += [_of_reference(result, entry) for entry in result.relevance]
    if result.gain is not None and result.worth is not None:
        lines.append(_of_all(result, result.worth))
    return lines


def amount(result: Told, gain: Gain, *, signed: bool = False) -> str:
    """Return a gain and its standard error as text: in points, in the units of the labels, or as a correlation."""
    sign = "+" if signed else ""
    if result.gain is None:
        return f"{gain.value:{sign}.3f} ± {gain.standard_error:.3f} in correlation"
    if result.method.is_regression:
        return f"{gain.value:{sign}.3g} ± {gain.standard_error:.3g}"
    return f"{100 * gain.value:{sign}.1f} ± {100 * gain.standard_error:.1f} points"


def _of_reference(result: Told, entry: Relevance) -> str:
    worth = "" if entry.worth is None else f", worth {amount(result, entry.worth)}"
    return (
        f"{entry.name}: weight {entry.weight:.2f}, alignment {entry.held_out_alignment:.2f} on {entry.pairs} pairs "
        f"(chance {entry.chance_alignment:.2f}), fidelity {entry.fidelity:.2f}, {entry.reached:.0%} of the rows "
        f"reached{worth}"
    )


def _of_all(result: Told, worth: Gain) -> str:
    measured = amount(result, worth)
    if worth.is_certain:
        return f"your references are worth {measured} beyond your own features and labels"
    if worth.is_clear_loss:
        return f"your references are worth less than nothing ({measured}); leave them out"
    return f"your references added nothing that can be measured ({measured})"


def _of_agreement(asked: Agreement) -> list[str]:
    """The two questions that are put to the references, and their answers."""
    if not np.isfinite(asked.residual):
        return []
    own, *others = (f"{loading:.2f}" for loading in asked.loadings)
    lines = [
        f"do all predict the same thing? loadings {own} (main), {', '.join(others)}; one factor leaves "
        f"{asked.residual:.3f} (at most {MOST_RESIDUAL})"
    ]
    if np.isfinite(asked.gain):
        error = "" if not np.isfinite(asked.standard_error) else f" ± {asked.standard_error:.3f}"
        lines.append(f"would they have helped? gain at held-out pairs {asked.gain:+.3f}{error} in correlation")
    return lines
