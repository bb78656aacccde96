"""Column: c numbers for every row, computed from the columns before it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from manifuse.columns.view import LogRatios, View
from manifuse.kernels.arrays import FloatArray
from manifuse.records import Saveable
from manifuse.tables.level import Level


class Column(Saveable, ABC):
    """Something that is known of rows, and how it is computed from the columns before it."""

    @abstractmethod
    def add_to(self, rows: View, name: str) -> View:
        """Add the column (q, c) to any rows by its name, and what else is known with it."""


@dataclass(frozen=True, eq=False)
class Mixed(Column):
    """Two columns in shares.

    Attributes
    ----------
    one, other : str
        Names of the columns. Both are measured by their levels.
    share : float
        Of the other one, in [0, 1].
    level : Level or LogRatios
        Of the mixture.
    """

    one: str
    other: str
    share: float
    level: Level | LogRatios

    def add_to(self, rows: View, name: str) -> View:
        """Add the mixture; see `Column.add_to`."""
        return rows.with_column(name, self.at(rows))

    def at(self, rows: View) -> FloatArray:
        """Mix the columns of any rows (q, c)."""
        return self.level.apply(mixed(rows[self.one], rows[self.other], self.share))


def mixed(one: FloatArray, other: FloatArray, share: FloatArray | float) -> FloatArray:
    """Two columns in shares, as they are; ``share`` is that of the other."""
    return np.asarray((1.0 - share) * one + share * other)


@dataclass(frozen=True, eq=False)
class FittedViews:
    """What is known of the fitted rows during a run, in three ways.

    Attributes
    ----------
    fitted : View
        Everything.
    held_out : View
        What would be known of a row if no reference knew it itself but those that know most rows. Lessons and
        measurements use this, because other rows have only this.
    trials : mapping of str to (r, l, c) arrays
        What would be known of each labelled row without its label and those of its fold, in r trials; by the name of
        the column. What has seen no label is the same in all trials, and is there once, with r = 1. That of the
        variance has the shape (r, l).
    """

    fitted: View
    held_out: View
    trials: Mapping[str, FloatArray] = field(default_factory=dict)

    def add(
        self,
        name: str,
        fitted: FloatArray,
        held_out: FloatArray | None = None,
        trials: FloatArray | None = None,
    ) -> Self:
        """Return the same with one more column; held out it is the same, unless another value is given."""
        return replace(
            self,
            fitted=self.fitted.with_column(name, fitted),
            held_out=self.held_out.with_column(name, fitted if held_out is None else held_out),
            trials=self.trials if trials is None else {**self.trials, name: trials},
        )

    def compute(self, name: str, column: Column) -> Self:
        """Return the same with a column that follows from those before it."""
        return replace(self, fitted=column.add_to(self.fitted, name), held_out=column.add_to(self.held_out, name))

    def mix(
        self,
        name: str,
        one: str,
        other: str,
        share: float,
        shares: FloatArray | None = None,
        level_of: Callable[[FloatArray], Level | LogRatios] = Level.of,
    ) -> tuple[Mixed, Self]:
        """Add a mixture of two columns, measured by its own level.

        Parameters
        ----------
        name, one, other : str
        share : float
            Of the other column.
        shares : (r, l) array, optional
            The same of each labelled row in each trial, without the labels of its fold.
        level_of : callable
            Measures the mixture.
        """
        column = Mixed(one, other, share, level_of(mixed(self.held_out[one], self.held_out[other], share)))
        trials = None
        if one in self.trials and other in self.trials:
            each = share if shares is None else shares[..., None]
            trials = column.level.apply(mixed(self.trials[one], self.trials[other], each))
        return column, self.add(name, column.at(self.fitted), column.at(self.held_out), trials)
