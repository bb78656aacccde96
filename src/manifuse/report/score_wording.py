"""Score wording: what predictors say of rows, in words.

Scores are told as places, those of a regression with their values, and probabilities as the likeliest class.
"""

from collections import Counter
from dataclasses import dataclass

from manifuse.evidence.neighbourhood import percentiles_of
from manifuse.grid import figures, told_apart
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.observations import Observations
from manifuse.words.finding import listed

#: Digits of a score in words.
DIGITS = 4


@dataclass(frozen=True, eq=False)
class PlaceWording:
    """Scores, told as places (n,): 0 for the lowest, 100 for the highest."""

    places: FloatArray

    def at(self, row: int) -> str:
        """What it says of a row, for a table."""
        return f"{self.places[row]:.0f}"

    def among(self, rows: IndexArray) -> str:
        """What rows are, after "are"."""
        average = " of 100 on average" if len(rows) > 1 else ""
        return f"at {self.places[rows].mean():.0f}{average}"

    def puts(self, what: str, rows: IndexArray) -> str:
        """What it says of rows, which ``what`` names, after the subject."""
        return f"puts {what} at {self.places[rows].mean():.0f}"

    def yours(self, what: str, rows: IndexArray) -> str:
        """What the main predictor says of rows, which ``what`` names, in a clause."""
        return f"your scores put {what} at {self.places[rows].mean():.0f}"

    def beside_labels(self, what: str, rows: IndexArray) -> str:
        """What the main predictor says of labelled rows, which ``what`` names, in a clause."""
        return self.yours(what, rows)


@dataclass(frozen=True, eq=False)
class ValueWording(PlaceWording):
    """Scores of a regression, told as values (n,) where they stand beside labels, and with their places in tables."""

    values: FloatArray

    def at(self, row: int) -> str:
        """The value, and its place; see `PlaceWording.at`."""
        return f"{figures(self.values[row], DIGITS)} ({self.places[row]:.0f})"

    def beside_labels(self, what: str, rows: IndexArray) -> str:
        """The mean value, which is compared with labels; see `PlaceWording.beside_labels`."""
        average = " on average" if len(rows) > 1 else ""
        return f"your scores of {what} are {figures(self.values[rows].mean(), DIGITS)}{average}"


@dataclass(frozen=True, eq=False)
class ClassWording:
    """Probabilities (n, k) of classes with these names, told as the most probable class."""

    names: tuple[str, ...]
    probabilities: FloatArray

    def at(self, row: int) -> str:
        """The class and its probability; see `PlaceWording.at`."""
        place = int(self.probabilities[row].argmax())
        return f"{self.names[place]} ({self.probabilities[row, place]:.0%})"

    def among(self, rows: IndexArray) -> str:
        """The classes; see `PlaceWording.among`."""
        if len(rows) == 1:
            return self.at(int(rows[0]))
        counts = Counter(self.probabilities[rows].argmax(axis=1).tolist()).most_common()
        every = "all " if len(counts) == 1 else ""
        return listed([f"{told_apart([self.names[place]])} ({every}{count})" for place, count in counts])

    def puts(self, what: str, rows: IndexArray) -> str:
        """The classes; see `PlaceWording.puts`."""
        return f"says of {what}: {self.among(rows)}"

    def yours(self, what: str, rows: IndexArray) -> str:
        """The classes; see `PlaceWording.yours`."""
        return f"yours says of {what}: {self.among(rows)}"

    def beside_labels(self, what: str, rows: IndexArray) -> str:
        """The classes; see `PlaceWording.beside_labels`."""
        return self.yours(what, rows)


#: What a predictor says of its rows, in words.
ScoreWording = PlaceWording | ClassWording


def told_of(table: Observations, scores: FloatArray | None = None, *, with_values: bool = False) -> ScoreWording:
    """What a table says of its rows, or by other scores in its scale (n,) or (n, k); scores also ``with_values``."""
    given = table.in_scale(table.scores) if scores is None else scores
    if table.classes is not None:
        return ClassWording(table.classes.names, given)
    places = percentiles_of(given)
    return ValueWording(places, given) if with_values else PlaceWording(places)
