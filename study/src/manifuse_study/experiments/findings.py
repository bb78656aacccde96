"""Findings: what conditions make of a claim.

A claim is *reproduced* if all its conditions hold (*as far as tested* if others have no rows), *partly* if some hold,
*not reproduced* if none holds, and *not tested* if none has rows. Every claim is judged twice: for the method as
published and for the method as it ships.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: The possible verdicts on a claim.
VERDICTS = ("reproduced", "reproduced as far as tested", "partly", "not reproduced", "not tested")


@dataclass(frozen=True)
class Condition:
    """One condition of a claim.

    Attributes
    ----------
    sentence : str
        With its numbers.
    holds : bool or None
        None if there are no rows to tell.
    """

    sentence: str
    holds: bool | None

    @property
    def mark(self) -> str:
        """How a page marks it."""
        return {True: "holds", False: "fails", None: "not tested"}[self.holds]


@dataclass(frozen=True)
class Finding:
    """A claim of the paper with its conditions.

    Attributes
    ----------
    letter : str
    statement : str
        What the paper says.
    criterion : str
        How it was judged.
    conditions : tuple of Condition
        For the method as published.
    shipped : tuple of Condition
        For the method as it ships.
    remark : str
        A note on the numbers; it may be empty.
    """

    letter: str
    statement: str
    criterion: str
    conditions: tuple[Condition, ...]
    shipped: tuple[Condition, ...]
    remark: str


def verdict_of(conditions: Sequence[Condition]) -> str:
    """Summarise conditions as one of `VERDICTS`."""
    tested = [condition.holds for condition in conditions if condition.holds is not None]
    if not tested:
        return "not tested"
    if all(tested):
        return "reproduced" if len(tested) == len(conditions) else "reproduced as far as tested"
    return "partly" if any(tested) else "not reproduced"
