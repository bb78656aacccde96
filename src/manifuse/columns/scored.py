"""Scored: refined scores and their standard errors in the units of the main predictor, or of the targets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from manifuse.columns.held_labels import Labels
from manifuse.evidence.class_score import LogLoss, temperature_of, tempered_without
from manifuse.evidence.gain import Gain
from manifuse.evidence.holding_out import Folds
from manifuse.evidence.score import Score
from manifuse.evidence.squared_error import SquaredError
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray
from manifuse.records import Saveable
from manifuse.tables.level import Level

#: From this slope on, a line from own scores to labels is steep. Scores in the units of labels may vary less than
#: labels do, but hardly ever by such a factor.
STEEP = 3.0

#: A share of squares that is but rounding.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Scoring(Saveable):
    """How scores are computed from the last column.

    Attributes
    ----------
    units : Level
        Of the main predictor.
    line : tuple of float or None
        For a regression whose labels are certainly met better so: offset and slope from the last column to targets.
    certainty : float
        How far refined scores go from what is known without labels to what was found, in [0, 1]. Without labels, own
        scores are known, and at a pair what is expected of it, if pairs follow.
    error_scale : float or None
        What a standard deviation of the lesson is multiplied by to be a standard error; None without labels.
    own_scale : float
        What own scores are multiplied by, if labels calibrate probabilities, or if a regression finds them in other
        units than its labels; else 1.
    own_offset : float
        What is added to them then, if they are risks or values; else 0.
    pairs_follow : bool
        Whether rows that a reference knows itself follow it, whatever labels say of other rows.
    """

    units: Level
    line: tuple[float, float] | None
    certainty: float
    error_scale: float | None
    own_scale: float = 1.0
    own_offset: float = 0.0
    pairs_follow: bool = False

    def found(self, values: FloatArray) -> FloatArray:
        """What was found, in units, from the last column (..., c); scores lose its last axis."""
        if self.line is None:
            return found_of(self.units, values)
        return np.asarray(self.line[0] + self.line[1] * values.reshape(values.shape[:-1]))

    def scores(self, own: FloatArray, expected: FloatArray, last: FloatArray, pairs: BoolArray) -> FloatArray:
        """Refined scores of rows (q, ...), from own scores (q, ...), two columns (q, c), and which rows are pairs."""
        known = self.own_offset + self.own_scale * own
        if self.pairs_follow and pairs.any():
            known = np.where(pairs if own.ndim == 1 else pairs[:, None], self.followed(expected), known)
        return self._between(known, self.found(last))

    def followed(self, expected: FloatArray) -> FloatArray:
        """What is expected of rows without labels (..., q, c), in units."""
        return found_of(self.units, expected)

    def elsewhere(self, own: FloatArray, found: FloatArray) -> FloatArray:
        """Refined scores of rows that are no pairs, from own ones and what was found, in units."""
        return self._between(self.own_offset + self.own_scale * own, found)

    def calibrated(self, offset: float, slope: float) -> Self:
        """Put what labels calibrate on all scores: a line from those of now."""
        return replace(self, units=self.units.scaled(slope, offset), own_scale=slope, own_offset=offset)

    def _between(self, known: FloatArray, found: FloatArray) -> FloatArray:
        return np.asarray((1.0 - self.certainty) * known + self.certainty * found)

    def check(self) -> None:
        """Refuse values out of range."""
        line = (0.0, 0.0) if self.line is None else self.line
        scale = 1.0 if self.error_scale is None else self.error_scale
        if not (0 <= self.certainty <= 1 and 0 <= scale < np.inf and 0 < self.own_scale < np.inf):
            raise ValueError("refined scores are out of range")
        if not np.isfinite([*line, self.own_offset]).all():
            raise ValueError("refined scores are out of range")


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """What was found at labelled rows, in units, each row without the labels of its fold.

    Attributes
    ----------
    scored : Scoring
        As certain as can be.
    values : (r, l) or (r, l, c) array
    own : (l, ...) array
        Own scores, as labels compare them; of a regression in the units of its labels, each without its own label.
    gain : Gain
        Over own scores.
    """

    scored: Scoring
    values: FloatArray
    own: FloatArray
    gain: Gain

    @classmethod
    def of(cls, units: Level, own: FloatArray, trials: FloatArray, labels: Labels) -> Self:
        """Bring a column (r, l, c) of labelled rows, whose own scores are (l, ...), into units.

        The last column keeps the units of the main predictor, without a line, unless a line is certainly better and
        the labels are like the rest. Probabilities of classes are calibrated, and are compared with own ones that are
        calibrated, too, both without the labels of their fold. Own scores of a regression are in other units if they
        are clearly farther from the labels than a line over them, and either farther than the mean of the labels is,
        or if this line is steep. It brings them into the right units.
        """
        score, folds, own_scale, own_offset = labels.score, labels.folds, 1.0, 0.0
        if isinstance(score, LogLoss):
            found, own_scale = found_of(units, trials), temperature_of(own, score)
            units = units.scaled(temperature_of(found, score))
            values, own = (tempered_without(each, score, folds.rows(0)) for each in (found, own))
            plain = Scoring(units, None, 1.0, None, own_scale)
            return cls(plain, values, own, score.gain(own, values, folds))
        if isinstance(score, SquaredError):
            in_units, (offset, slope) = fit_line(own[None], score.truth, folds.blocks)
            is_far = score.measured(own) > score.truth.std() or slope > STEEP
            if is_far and slope > 0 and score.gain(own, in_units[0], folds).is_clear:
                own_scale, own_offset, own = slope, offset, in_units[0]
                units = units.scaled(slope, offset)
        plain = Scoring(units, None, 1.0, None, own_scale, own_offset)
        values = plain.found(trials)
        best = cls(plain, values, own, score.gain(own, values, folds))
        if isinstance(score, SquaredError):
            fitted, line = fit_line(trials.reshape(trials.shape[:-1]), score.truth, folds.blocks)
            better = score.gain(values.mean(axis=0), fitted, folds)
            # A line over labels that are not like the rest would move all rows.
            if (better.is_certain and labels.like_rest) or (own_scale != 1.0 and better.is_seen):
                best = cls(replace(plain, line=line), fitted, own, score.gain(own, fitted, folds))
        return best


def found_of(units: Level, values: FloatArray) -> FloatArray:
    """Bring a column (..., c) into units; scores lose its last axis."""
    return units.undo(values.reshape(*values.shape[:-1], *units.mean.shape))


def comparable(units: Level, values: FloatArray, score: Score, folds: Folds) -> FloatArray:
    """Bring a column (r, l, c) of labelled rows into units in which a score compares it with another column.

    Probabilities of classes are calibrated. Values of a regression are those of a line over them.
    """
    found = found_of(units, values)
    if isinstance(score, LogLoss):
        return np.asarray(temperature_of(found, score) * found)
    return fit_line(found, score.truth, folds.blocks)[0] if isinstance(score, SquaredError) else found


def fit_line(
    values: FloatArray, targets: FloatArray, blocks: IndexArray | None = None
) -> tuple[FloatArray, tuple[float, float]]:
    """Predict targets (l,) by a line over values (r, l), each without its block; also the mean offset and slope.

    Rows of one of the ``blocks`` (l,) are held out together; by default every row is one.
    """
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
    squares, all_squares = left(here**2) - rows * mean**2, np.sum(here**2, axis=1, keepdims=True)
    # What is left of the squares may be but rounding.
    slopes = _slope(
        left(here * there) - rows * mean * target, np.where(squares > ROUNDING * all_squares, squares, 0.0)
    )
    whole = _slope(here @ there, all_squares[:, 0])
    fitted = centre + target + slopes * (here - mean)
    return np.asarray(fitted), (float((centre - whole * middle[:, 0]).mean()), float(whole.mean()))


def _slope(products: FloatArray, squares: FloatArray) -> FloatArray:
    """Slopes of lines, not below 0; 0 where all values are equal."""
    return np.asarray(np.maximum(np.divide(products, squares, out=np.zeros_like(products), where=squares > 0), 0.0))
