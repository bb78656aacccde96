"""Gain: how much better one prediction is than another on the labelled rows, and how certain that is."""

from dataclasses import dataclass
from math import floor, log10
from typing import Literal, NamedTuple

from scipy.special import ndtr

#: What users read of a score on labels, or of the correlation at held-out pairs.
Measure = Literal["accuracy", "rmse", "log_loss", "class_accuracy", "correlation"]

#: Of these, less is better.
LOSSES: tuple[Measure, ...] = ("rmse", "log_loss")

#: What a gain is taken to be before any label is seen, in its own standard errors.
EXPECTED_GAIN = 0.5

#: With fewer labelled rows than this, no gain is certain, because its standard error may be 0 by chance.
FEWEST_ROWS = 10

#: Nor is a gain of a ranking or a regression, if fewer labels than this are not the commonest one: they alone tell
#: better from worse.
FEWEST_OTHERS = 5


class Unit(NamedTuple):
    """The unit in which people read a gain.

    Attributes
    ----------
    factor : float
        Units in a gain of 1.
    digits : int or None
        After the point; None for as many as give the standard error two digits that count.
    suffix : str
        What follows the numbers.
    words : str
        Its name in a sentence.
    what : str
        What is measured, in words.
    """

    factor: float
    digits: int | None
    suffix: str
    words: str
    what: str


#: Standard errors of a regression from the first number to the second are printed without a power of ten.
SIZES = 1e-3, 1e5

#: What people read of a gain.
UNITS: dict[Measure, Unit] = {
    "accuracy": Unit(100.0, 1, " points", "in points of ranking accuracy", "ranking accuracy"),
    "rmse": Unit(1.0, None, "", "in units of the labels", "root mean squared error"),
    "log_loss": Unit(1.0, 3, " in log loss", "in log loss", "log loss"),
    "class_accuracy": Unit(100.0, 1, " points", "in points of accuracy", "accuracy"),
    "correlation": Unit(100.0, 1, " points", "in points of correlation at held-out pairs", "correlation"),
}


def are_few(rows: int, others: int | None) -> bool:
    """Whether labelled rows, or ``others`` of them whose label is not the commonest, are too few for a sure gain."""
    return rows < FEWEST_ROWS or (others is not None and others < FEWEST_OTHERS)


@dataclass(frozen=True)
class Gain:
    """How much better one prediction is than another.

    Attributes
    ----------
    value : float
        The difference of the two scores; positive if the second prediction is better.
    standard_error : float
        Of ``value``, from differences paired over the rows.
    rows : int
        Number of rows that it was measured on: labelled rows, or pairs.
    measure : {"accuracy", "rmse", "log_loss", "class_accuracy", "correlation"}
        What is gained: a share of ranking accuracy, less root mean squared error, less log loss, a share of rows whose
        class is right, or correlation at held-out pairs.
    others : int or None
        Of graded labels and of targets, how many are not the commonest one.
    """

    value: float
    standard_error: float
    rows: int
    measure: Measure
    others: int | None = None

    @property
    def unit(self) -> Unit:
        """What it is told in."""
        return UNITS[self.measure]

    @property
    def is_of_few(self) -> bool:
        """Whether it was measured on fewer rows than `FEWEST_ROWS`, or of nearly one label."""
        return are_few(self.rows, self.others)

    @property
    def is_certain(self) -> bool:
        """Whether the gain exceeds its standard error, and is not of few rows."""
        return not self.is_of_few and self.value > self.standard_error

    @property
    def is_seen(self) -> bool:
        """Whether it is a gain at all, and not of few rows."""
        return not self.is_of_few and self.value > 0

    @property
    def is_clear(self) -> bool:
        """Whether it is a gain of more than two standard errors, and not of few rows."""
        return not self.is_of_few and self.value > 2.0 * self.standard_error

    @property
    def is_loss(self) -> bool:
        """Whether it is a loss of at least one standard error, and not of few rows."""
        return not self.is_of_few and self.value < 0 and self.value <= -self.standard_error

    @property
    def is_clear_loss(self) -> bool:
        """Whether it is a loss of more than two standard errors, and not of few rows."""
        return not self.is_of_few and self.value < -2.0 * self.standard_error

    @property
    def probability(self) -> float:
        """How probable a gain at other rows is, in [0, 1]; what is refined goes so far."""
        if self.standard_error == 0:
            return 1.0 if self.value > 0 else float(ndtr(EXPECTED_GAIN))
        return float(ndtr(self.value / self.standard_error + EXPECTED_GAIN))

    def reached_from(self, before: float) -> float:
        """Return the measure after the gain: errors fall, accuracies rise."""
        return before - self.value if self.measure in LOSSES else before + self.value

    def text(self, *, signed: bool) -> str:
        """Return it and its standard error as text, without the unit."""
        unit = self.unit
        value, error = unit.factor * self.value, unit.factor * self.standard_error
        size = error or abs(value)
        if unit.digits is not None:
            form = f".{unit.digits}f"
        elif SIZES[0] <= size < SIZES[1]:
            form = f",.{max(0, 1 - floor(log10(size)))}f"
        else:
            form = ".2g"
        # Adding 0 turns a rounded -0.0 into 0.0.
        rounded = float(format(value, form).replace(",", "")) + 0.0
        return f"{rounded:{'+' if signed else ''}{form}} ± {error:{form}}"

    def amount(self, *, signed: bool) -> str:
        """Return it and its standard error as text, with the unit."""
        return f"{self.text(signed=signed)}{self.unit.suffix}"


@dataclass(frozen=True)
class Accuracy:
    """A measure of predictions on the labelled rows, before and after the refinement.

    Attributes
    ----------
    measure : {"accuracy", "rmse", "log_loss", "class_accuracy"}
        Ranking accuracy, of a regression the root mean squared error, of classes the log loss or the share of rows
        whose class is right.
    before, after : float
    """

    measure: Measure
    before: float
    after: float
