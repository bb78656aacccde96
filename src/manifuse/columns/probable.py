"""Probable: columns of classes as probabilities, which labels can teach and calibrate.

Own scores, references and what is expected of a row are log-ratios. A label is a class with probability 1. So what
labels teach is probabilities, and they are mixed with the expected probabilities. The mixture is brought back to
log-ratios.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.columns.column import Column
from manifuse.columns.view import View
from manifuse.evidence.class_score import LogLoss, temperature_of
from manifuse.kernels.arrays import BoolArray, FloatArray
from manifuse.tables.classes import Classes, replace_classes
from manifuse.tables.level import Level


@dataclass(frozen=True, eq=False)
class Calibrated(Column):
    """Probabilities that were known before labels teach, calibrated by the labels, in coordinates.

    Attributes
    ----------
    source : str
        The column before.
    classes : Classes
    units : Level
        Of the calibrated log-ratios, of rows like the labelled ones.
    """

    source: str
    classes: Classes
    units: Level

    @classmethod
    def of(cls, held_out: View, source: str, score: LogLoss, units: Level) -> Self:
        """Calibrate a column, as it is known of rows that are held out, by the labels."""
        before = units.undo(held_out[source][score.rows])
        return cls(source, score.classes, units.scaled(temperature_of(before, score), score.excess))

    def add_to(self, rows: View, name: str) -> View:
        """Calibrate rows; see `Column.add_to`."""
        return rows.with_column(name, self.calibrate(rows[self.source]))

    def calibrate(self, values: FloatArray) -> FloatArray:
        """Calibrate standardised log-ratios (q, c)."""
        return self.classes.coordinates(np.exp(self.classes.logarithms(self.units.undo(values))))


@dataclass(frozen=True, eq=False)
class ProbabilityMap:
    """How what was learned becomes probabilities, in coordinates.

    Attributes
    ----------
    classes : Classes
    level : Level
        Of the classes of the labels, in coordinates.
    taught : (k,) array of bool
        Whether some label is of the class.
    """

    classes: Classes
    level: Level
    taught: BoolArray

    def apply(self, values: FloatArray) -> FloatArray:
        """Bring values (..., c) of a lesson, whose targets had mean 0 and deviation 1, to probabilities."""
        return self.classes.coordinates(self.classes.probabilities(self.level.undo(values)))

    def keep_untaught(self, values: FloatArray, before: FloatArray) -> FloatArray:
        """Give classes without a label the probability that they had before; both are in coordinates (..., c).

        No label of a class says nothing of it: the labels may be of other rows than the rest. The other classes share
        what is left as the lesson says.
        """
        if self.taught.all():
            return values
        said, had = self.classes.probabilities(values), self.classes.probabilities(before)
        return self.classes.coordinates(replace_classes(had, said, self.taught))
