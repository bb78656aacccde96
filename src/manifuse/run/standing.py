"""Standing: whether a reference took part in a refinement, and why not."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from manifuse.diffusion.joint import Step
from manifuse.diffusion.method import JointDiffusion
from manifuse.evidence.agreement import Agreement
from manifuse.evidence.relevance import RelevanceTable
from manifuse.run.refiner import Refiner


class Standing(StrEnum):
    """Whether a reference took part, and why not."""

    TOOK_PART = "took part"
    TAUGHT = "took part in what the labels taught, and is not followed beyond that"
    DIFFERS = "not followed: predicts something else than the main predictor and most references do"
    NOT_FOLLOWED = "not followed: the answers of the references say why"
    AT_CHANCE = "ignored: agrees with the main predictor no better than permuted pairs do"
    LEFT_OUT = "left out, as the method says"
    UNUSED = "not used: no step with the references raised the score on the labels"
    IDLE = "ignored: its scores are all equal, or repeat the main predictor's"


#: Of references that took part in the result.
USED = (Standing.TOOK_PART, Standing.TAUGHT)


class Ran(Protocol):
    """What standings are read from; see `Refinement`."""

    @property
    def relevance(self) -> RelevanceTable:
        """What was found out about each reference."""

    @property
    def agreement(self) -> Agreement | None:
        """What the references answered."""

    @property
    def history(self) -> Sequence[Step]:
        """All steps."""

    @property
    def refiner(self) -> Refiner:
        """What was learned and diffused."""

    @property
    def method(self) -> JointDiffusion:
        """Its hyperparameters."""


def standings(result: Ran) -> tuple[Standing, ...]:
    """Say of every reference whether it took part, and why not."""
    return tuple(_standing(result, index) for index in range(len(result.relevance)))


def is_coupled(result: Ran, index: int | None = None) -> bool:
    """Whether this reference, or every one that there is, is known on all main rows."""
    rows = len(result.refiner.main)
    known = [entry.pairs >= rows for entry in result.relevance]
    return all(known) if index is None else known[index]


def _standing(result: Ran, index: int) -> Standing:
    entry, columns = result.relevance[index], result.refiner.columns
    if entry.weight > 0:
        return Standing.TOOK_PART
    if entry.name in result.method.ignored:
        return Standing.LEFT_OUT
    if result.agreement is not None and index in columns.references.numbers:
        if columns.learned is not None:
            return Standing.TAUGHT
        return Standing.DIFFERS if entry.differs else Standing.NOT_FOLLOWED
    if result.agreement is not None:
        return Standing.IDLE
    return Standing.UNUSED if result.history[0].weights[index] > 0 else Standing.AT_CHANCE
