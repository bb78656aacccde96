"""Scored: refined scores and their standard errors in the units of the main predictor, or of the targets."""

from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from manifuse.columns.column import Mixed, mixed
from manifuse.columns.held_labels import Labels
from manifuse.columns.view import LogRatios
from manifuse.evidence.class_score import LogLoss, calibrated_without, temperature_of
from manifuse.evidence.gain import Gain
from manifuse.evidence.holding_out import Folds
from manifuse.evidence.intervals import LARGEST_ERROR, standard_errors
from manifuse.evidence.one_factor import NOTHING
from manifuse.evidence.score import Score
from manifuse.evidence.squared_error import SquaredError
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray, without_rounding
from manifuse.tables.level import Level

#: From this slope on, a line from own scores to labels is steep. Scores in the units of labels may vary less than
#: labels do, but hardly ever by such a factor.
STEEP = 3.0


class OwnScores(Enum):
    """What labels made of own scores."""

    AS_THEY_CAME = auto()
    IN_UNITS_OF_LABELS = auto()
    CALIBRATED = auto()


@dataclass(frozen=True, eq=False)
class Scoring:
    """How scores are computed from the last column.

    Attributes
    ----------
    last : Level
        Of the last column: the units of the main predictor or, for a regression whose labels are certainly met better
        so, a line to the targets.
    expected : Level
        Of the column "expected".
    own : Level
        What own scores as they came are multiplied by, and what is then added.
    own_became : OwnScores
        Labels calibrate probabilities, and bring values into their units if a regression finds them in other ones.
    certainty : float
        How far refined scores go, in [0, 1]: 1 is the last column, and 0 what is known without labels. That is the own
        score or, at a pair, the column "expected" if pairs follow.
    error_scale : float or None
        What the root of the column "variance" is multiplied by to be a standard error; None without labels.
    pairs_follow : bool
        Whether rows that a reference knows itself follow it, whatever labels say of other rows.
    error_if_unknown : float
        Standard error that is added at rows that no usual reference knows itself; see `Imputed.usual`.
    """

    last: Level
    expected: Level
    own: Level = Level(np.asarray(0.0), 1.0)
    own_became: OwnScores = OwnScores.AS_THEY_CAME
    certainty: float = 1.0
    error_scale: float | None = None
    pairs_follow: bool = False
    error_if_unknown: float = 0.0

    @classmethod
    def of(cls, units: Level) -> Self:
        """Bring both columns into the same units, and leave own scores as they came."""
        return cls(units, units)

    def scores(self, own: FloatArray, expected: FloatArray, last: FloatArray, pairs: BoolArray) -> FloatArray:
        """Refined scores of rows (q, ...), from own scores (q, ...), two columns (q, c), and which rows are pairs."""
        known = self.own.undo(own)
        if self.pairs_follow and pairs.any():
            known = np.where(of_rows(pairs, own), in_units(self.expected, expected), known)
        return mixed(known, in_units(self.last, last), self.certainty)

    def errors(self, variances: FloatArray, unknown: FloatArray) -> FloatArray:
        """Standard errors of rows (q,), by the column "variance" and the shares of usual references that lack them.

        The scale of errors is measured where usual references know rows. If they lack a row, its refined score differs
        from the one that they would give. If both scores are best guesses, the squares of this difference and of the
        error that is left add up.
        """
        assert self.error_scale is not None, "labels taught"
        lacking = np.sqrt(unknown) * self.error_if_unknown
        return np.minimum(np.hypot(standard_errors(variances, self.error_scale), lacking), LARGEST_ERROR)

    def calibrated(self, offset: float, slope: float) -> Self:
        """Put what labels calibrate on all scores: a line from those of now."""
        last, expected, own = (each.scaled(slope, offset) for each in (self.last, self.expected, self.own))
        return replace(self, last=last, expected=expected, own=own, own_became=OwnScores.CALIBRATED)


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """What was found at labelled rows, in units, each row without the labels of its fold.

    Attributes
    ----------
    scored : Scoring
        As certain as can be.
    values : (r, l) or (r, l, c) array
    labels : Labels
    own : (l, ...) array
        Own scores, as labels compare them; of a regression in the units of its labels, each without its own label.
    gain : Gain
        Over own scores.
    """

    scored: Scoring
    values: FloatArray
    labels: Labels
    own: FloatArray
    gain: Gain

    @classmethod
    def of(
        cls, units: Level, own: FloatArray, trials: FloatArray, labels: Labels, taught: Mixed | None = None
    ) -> Self:
        """Bring a column (r, l, c) of labelled rows, whose own scores are (l, ...), into units.

        Of classes, what labels ``taught`` knows the units of the column; else they are ``units``.

        Whatever labels calibrate, each row is judged without the labels of its fold or block.
        """
        score = labels.score
        if taught is not None and isinstance(taught.level, LogRatios):
            units = taught.level.level
        if isinstance(score, LogLoss):
            # What labels taught is of rows like theirs.
            units = units if taught is None else units.scaled(1.0, -score.excess)
            scored, values, own = _of_classes(units, own, in_units(units, trials), labels.folds, score)
        elif isinstance(score, SquaredError):
            scored, values, own = _of_regression(units, own, trials, labels, score)
        else:
            scored, values = Scoring.of(units), in_units(units, without_rounding(trials))
        return cls(scored, values, labels, own, score.gain(own, values, labels.folds))


def _of_classes(
    units: Level, own: FloatArray, found: FloatArray, folds: Folds, score: LogLoss
) -> tuple[Scoring, FloatArray, FloatArray]:
    """Calibrate what was ``found`` (r, l, c), and own log-ratios, if that certainly makes them better."""
    values, calibrated = (
        calibrated_without(each, score, folds.rows(0), lambda seen, others: (0.0, temperature_of(seen, others)))
        for each in (found, own)
    )
    scored = Scoring.of(units.scaled(temperature_of(found, score)))
    if score.gain(own, calibrated, folds).is_certain:
        level = scored.own.scaled(temperature_of(own, score))
        scored, own = replace(scored, own=level, own_became=OwnScores.CALIBRATED), calibrated
    return scored, values, own


def _of_regression(
    units: Level, own: FloatArray, trials: FloatArray, labels: Labels, score: SquaredError
) -> tuple[Scoring, FloatArray, FloatArray]:
    """Bring own scores and a column (r, l, 1) into the units of the labels, if they came in other ones.

    Own scores came in other units if they are clearly farther from the labels than a line over them, and either
    farther than the mean of the labels is, or if this line is steep. The column keeps the units of the main predictor,
    unless a line is certainly better and the labels are like the rest.
    """
    # A line is fitted to all other blocks, so that the overlap of folds does not count.
    folds, blocks = labels.folds, labels.folds.together()
    scored, values = Scoring.of(units), in_units(units, trials)
    own_line = Line.of(own[None], score.truth, folds.blocks)
    is_far = score.measured(own) > score.truth.std() or own_line.slope > STEEP
    on_line = own_line.held_out(own[None])[0]
    if is_far and own_line.slope > 0 and _is_clearly_better(own, on_line, score, blocks):
        units = units.scaled(own_line.slope, own_line.offset)
        scored = Scoring(units, units, own_line.level, OwnScores.IN_UNITS_OF_LABELS)
        values, own = own_line.held_out(values), on_line
    last = trials.reshape(trials.shape[:-1])
    line = Line.of(last, score.truth, folds.blocks)
    fitted = line.held_out(last)
    better = score.gain(values.mean(axis=0), fitted, blocks)
    # A line over labels that are not like the rest would move all rows.
    in_other_units = scored.own_became is OwnScores.IN_UNITS_OF_LABELS
    if (better.is_certain and labels.representative.like_rest) or (in_other_units and better.is_seen):
        scored, values = replace(scored, last=line.level), fitted
    return scored, values, own


def _is_clearly_better(before: FloatArray, after: FloatArray, score: SquaredError, blocks: Folds) -> bool:
    """Whether predictions (l,) are clearly better than others: by the errors of blocks, or in each block and by rows.

    Two blocks have so large errors that nothing is clear by these.
    """
    _, block = np.unique(blocks.blocks, return_inverse=True)
    gained = np.bincount(block, (before - score.truth) ** 2 - (after - score.truth) ** 2)
    in_each = bool((gained > 0).all()) and score.gain(before, after).is_clear
    return in_each or score.gain(before, after, blocks).is_clear


def of_rows(values: NDArray[Any], scores: FloatArray) -> NDArray[Any]:
    """Values of rows (q,) in a shape that goes with scores (q,), or with the columns of log-ratios (q, c)."""
    return values if scores.ndim == 1 else values[:, None]


def in_units(units: Level, values: FloatArray) -> FloatArray:
    """Bring a column (..., c) into units; scores lose its last axis."""
    return units.undo(values.reshape(*values.shape[:-1], *units.mean.shape))


def comparable(units: Level, values: FloatArray, score: Score, folds: Folds | None = None) -> FloatArray:
    """Bring a column (r, l, c) of labelled rows into units in which a score compares it with another column.

    Probabilities of classes are calibrated. Values of a regression are those of a line over them.
    """
    found, blocks = in_units(units, without_rounding(values)), None if folds is None else folds.blocks
    if isinstance(score, LogLoss):
        return np.asarray(temperature_of(found, score) * found)
    return Line.of(found, score.truth, blocks).held_out(found) if isinstance(score, SquaredError) else found


@dataclass(frozen=True, eq=False)
class Line:
    """A line from values to targets that does not fall.

    Attributes
    ----------
    offset, slope : float
        Of all rows, mean over the trials.
    offsets, slopes : (r, l) arrays
        For every row in every trial, of the rows of other blocks.
    """

    offset: float
    slope: float
    offsets: FloatArray
    slopes: FloatArray

    @classmethod
    def of(cls, values: FloatArray, targets: FloatArray, blocks: IndexArray | None = None) -> Self:
        """Fit targets (l,) by values (r, l). Rows of one of the ``blocks`` (l,) are held out together, or each row."""
        count = len(targets)
        block = np.arange(count) if blocks is None else np.unique(blocks, return_inverse=True)[1]
        middle, centre = values.mean(axis=1, keepdims=True), float(targets.mean())
        here, there = values - middle, targets - centre

        def left(terms: FloatArray) -> FloatArray:
            """Sums of terms (r, l) over the rows of other blocks."""
            sums = np.array([np.bincount(block, row) for row in terms])
            return np.asarray(terms.sum(axis=1, keepdims=True) - sums[:, block])

        rows = np.maximum(count - np.bincount(block)[block], 1)
        mean, target = left(here) / rows, left(np.broadcast_to(there, here.shape)) / rows
        squares, all_squares = left(here**2) - rows * mean**2, np.sum(here**2, axis=1)
        # What is left of the squares may be but rounding.
        squares = np.where(squares > NOTHING * all_squares[:, None], squares, 0.0)
        slopes = _slope(left(here * there) - rows * mean * target, squares)
        slope = _slope(here @ there, all_squares)
        offsets = centre + target - slopes * (middle + mean)
        return cls(float((centre - slope * middle[:, 0]).mean()), float(slope.mean()), offsets, slopes)

    @property
    def level(self) -> Level:
        """The line of all rows, which undoes this level."""
        return Level(np.asarray(self.offset), self.slope)

    def held_out(self, values: FloatArray) -> FloatArray:
        """What the line says of values (r, l), each without its block."""
        return np.asarray(self.offsets + self.slopes * values)


def _slope(products: FloatArray, squares: FloatArray) -> FloatArray:
    """Slopes of lines, not below 0; 0 where all values are equal."""
    return np.asarray(np.maximum(np.divide(products, squares, out=np.zeros_like(products), where=squares > 0), 0.0))
