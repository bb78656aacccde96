"""Standing: whether a reference took part in a refinement, and why not."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from manifuse.diffusion.joint import Step
from manifuse.diffusion.method import JointDiffusion
from manifuse.diffusion.problem import REPEATED
from manifuse.evidence.relevance import RelevanceTable
from manifuse.refiner import Refiner


class Standing(StrEnum):
    """Whether a reference took part, and why not."""

    TOOK_PART = "took part"
    TAUGHT = "took part in what the labels taught, not in the diffusion"
    DIFFERS = "not followed: predicts something else than the main predictor and most references do"
    NOT_FOLLOWED = "not followed: the answers of the references say why"
    AT_CHANCE = "ignored: agrees with the main predictor no better than permuted pairs do"
    UNFAITHFUL = "ignored: at held-out pairs its bridge predicts it no better than permuted pairs do"
    LEFT_OUT = "left out, as the method says"
    REPEATS = "ignored: repeats the main predictor"
    UNUSED = "not used: no step with the references raised the score on the labels"


#: Of references that took part in the result.
USED = (Standing.TOOK_PART, Standing.TAUGHT)


class Ran(Protocol):
    """What standings are read from; see `Refinement`."""

    @property
    def relevance(self) -> RelevanceTable:
        """What was found out about each reference."""

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
    """Whether this reference, or every one that there is, is known on all main rows, so that it needs no bridge."""
    bridges = result.refiner.fit.bridges
    return not bridges.anchors if index is None else index in bridges.lookups


def _standing(result: Ran, index: int) -> Standing:
    entry = result.relevance[index]
    # A reference that takes part has some weight from the start; an ignored one has none.
    if result.history[0].weights[index] > 0:
        return Standing.TOOK_PART if result.refiner.weights.any() else Standing.UNUSED
    teaching = result.refiner.teaching
    if teaching is not None and index in teaching.imputation.numbers:
        if teaching.lesson is not None:
            return Standing.TAUGHT
        return Standing.DIFFERS if entry.differs else Standing.NOT_FOLLOWED
    if entry.name in result.method.ignored:
        return Standing.LEFT_OUT
    if is_coupled(result, index) and abs(entry.held_out_alignment) > 1.0 - REPEATED:
        return Standing.REPEATS
    if abs(entry.held_out_alignment) > entry.chance_alignment >= entry.fidelity:
        return Standing.UNFAITHFUL
    return Standing.AT_CHANCE
