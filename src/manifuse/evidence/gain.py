"""Gain: how much better one prediction is than another on the labelled rows, and how certain that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from manifuse.records import Saved

#: What users read of a score.
Measure = Literal["accuracy", "rmse"]

#: With fewer labelled rows than this, no gain is certain, because its standard error may be 0 by chance.
FEWEST_ROWS = 10


@dataclass(frozen=True)
class Gain(Saved):
    """How much better one prediction is than another.

    Attributes
    ----------
    value : float
        The difference of the two scores; positive if the second prediction is better.
    standard_error : float
        Of ``value``, from differences paired over the rows.
    rows : int
        Number of labelled rows.
    """

    value: float
    standard_error: float
    rows: int

    @property
    def is_certain(self) -> bool:
        """Whether the gain exceeds its standard error, on at least `FEWEST_ROWS` rows."""
        return self.rows >= FEWEST_ROWS and self.value > self.standard_error

    @property
    def is_seen(self) -> bool:
        """Whether it is a gain at all, on as many rows."""
        return self.rows >= FEWEST_ROWS and self.value > 0

    @property
    def is_clear_loss(self) -> bool:
        """Whether it is a loss of more than two standard errors, on as many rows."""
        return self.rows >= FEWEST_ROWS and self.value < -2.0 * self.standard_error


@dataclass(frozen=True)
class Accuracy(Saved):
    """A measure of predictions on the labelled rows, before and after the refinement.

    Attributes
    ----------
    measure : {"accuracy", "rmse"}
        Ranking accuracy, or of a regression the root mean squared error.
    before, after : float
    """

    measure: Measure
    before: float
    after: float
