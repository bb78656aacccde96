"""Mixture: what was learned and what was diffused, in shares that the references or the labels decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import stdtr, stdtrit

from manifuse.diffusion.units import Units
from manifuse.evidence.gain import Gain
from manifuse.evidence.score import Score, SquaredError
from manifuse.evidence.standard import Standard, mixed
from manifuse.kernels.arrays import FloatArray
from manifuse.records import Saved

#: The largest share of the diffused predictions, and those that labels choose from.
MOST_SHARE = 0.8
SHARES = (0.0, 0.4, MOST_SHARE)

#: Folds of the labelled rows, for each of which the others choose a share.
FOLDS = 5

#: Standard errors within which 90 of 100 truths lie.
NINETY = 1.6449

#: The error of a difference follows Student's t with so many degrees of freedom. Its tails are heavy, because a few
#: rows are far off.
DEGREES = 3.0

#: A standard error in units of the scale of this t: both hold 90 of 100 truths.
ERROR_IN_SCALES = float(stdtrit(DEGREES, 0.95)) / NINETY

#: The largest standard error. An interval of two of them on both sides is in the range of floats, too.
LARGEST_ERROR = float(np.finfo(np.float64).max) / 4.0

#: Ordered pairs of labelled rows that calibrate standard errors.
MOST_ORDERED = 50_000


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of the diffused predictions, each in [0, 1).

    Attributes
    ----------
    chosen : float
    held_out : (l,) array
        For every labelled row, the one that is chosen without its label. Labels that chose a share would measure too
        large a gain of it.
    """

    chosen: float
    held_out: FloatArray

    @property
    def any_diffused(self) -> bool:
        """Whether one of them is above 0."""
        return self.chosen > 0 or bool(self.held_out.any())

    @classmethod
    def choose(cls, held_out: FloatArray, diffused: FloatArray, usual: float, score: Score | None) -> Self:
        """Let labels choose: the ``usual`` share, unless another one is certainly better.

        Parameters
        ----------
        held_out, diffused : (n,) array
            Standardised; see `Mixture.of`.
        usual : float
            If it is 0 there is nothing to choose, because nothing was diffused.
        score : Score or None
        """
        if score is None or usual == 0:
            return cls(usual, np.full(0 if score is None else len(score.rows), usual))
        folds = np.random.default_rng(0).permutation(np.arange(len(score.rows)) % FOLDS)
        each = np.empty(len(folds))
        for fold in range(FOLDS):
            others = score.only(np.flatnonzero(folds != fold))
            each[folds == fold] = usual if others is None else _share(held_out, diffused, usual, others)
        return cls(_share(held_out, diffused, usual, score), each)


@dataclass(frozen=True)
class Mixture(Saved):
    """How the refined score of a row follows from what was learned and diffused.

    Attributes
    ----------
    share : float
        Of the diffused predictions, in [0, 1).
    level : Standard
        Of the mixture over the fitted rows.
    line : tuple of float or None
        For a regression whose labels are certainly met better so: offset and slope from the standardised mixture to
        targets.
    error_scale : float or None
        What a standard deviation of the lesson is multiplied by to be a standard error in the units of the main
        predictor; None without labels.
    """

    share: float
    level: Standard
    line: tuple[float, float] | None
    error_scale: float | None

    def mix(self, learned: FloatArray, diffused: FloatArray) -> FloatArray:
        """Standardised mixture of rows (q)."""
        return self.level.apply(mixed(self.share, learned, diffused))

    def in_units(self, values: FloatArray, units: Units) -> FloatArray:
        """Give standardised mixtures the units of the main predictor or, after a regression, of the targets."""
        if self.line is None:
            return units.from_standardised(values)
        return np.asarray(self.line[0] + self.line[1] * values)

    def errors(self, variances: FloatArray | None) -> FloatArray | None:
        """Standard errors of rows with variances (q,) of the lesson; None without labels.

        Errors end at `LARGEST_ERROR`.
        """
        if variances is None or self.error_scale is None:
            return None
        with np.errstate(over="ignore"):
            return np.minimum(self.error_scale * np.sqrt(variances), LARGEST_ERROR)

    def check(self) -> None:
        """Refuse values out of range."""
        scale = 1.0 if self.error_scale is None else self.error_scale
        line = (0.0, 0.0) if self.line is None else self.line
        if not (0 <= self.share < 1 and 0 <= scale < np.inf and np.isfinite(line).all()):
            raise ValueError("a mixture is out of range")

    @classmethod
    def of(
        cls,
        learned: FloatArray,
        held_out: FloatArray,
        diffused: FloatArray,
        variances: FloatArray | None,
        *,
        shares: Shares,
        score: Score | None,
        units: Units,
    ) -> tuple[Self, FloatArray]:
        """Mix.

        Parameters
        ----------
        learned, held_out, diffused : (n,) array
            Standardised; ``held_out`` is what was learned, without the own label of each labelled row.
        variances : (n,) array or None
            Of the lesson, held out likewise.
        shares : Shares
        score : Score or None
        units : Units
            Of the main predictor.

        Returns
        -------
        mixture : Mixture
        honest : (n,) array
            What the refined scores would be, each labelled row without its own label, in their units.
        """
        share = shares.chosen
        level = Standard.of(mixed(share, learned, diffused))
        unseen = mixed(share, held_out, diffused)
        if score is not None:
            unseen[score.rows] = mixed(shares.held_out, held_out[score.rows], diffused[score.rows])
        unseen = level.apply(unseen)
        if score is None:
            return cls(share, level, None, None), units.from_standardised(unseen)
        line, honest = None, units.from_standardised(unseen)
        if isinstance(score, SquaredError):
            line, honest = _line(unseen, score, units)
        scale = None if variances is None else error_scale_of(honest[score.rows], variances[score.rows], score)
        return cls(share, level, line, scale), honest


def ordered_rightly(
    scores: FloatArray, others: FloatArray, errors: FloatArray, other_errors: FloatArray
) -> FloatArray:
    """Probability that the first of two rows is above the second, from scores and standard errors, each (p,)."""
    # In halves, so that no sum leaves the range of floats.
    spread = np.hypot(errors / 2.0, other_errors / 2.0)
    differences = scores / 2.0 - others / 2.0
    return _probability_of_order(differences / np.where(spread > 0, spread, np.finfo(float).tiny))


def _probability_of_order(differences: FloatArray) -> FloatArray:
    """Probability that the first of two rows is above the second, from the difference of scores in standard errors."""
    with np.errstate(over="ignore"):
        return np.asarray(stdtr(DEGREES, ERROR_IN_SCALES * differences))


def _share(held_out: FloatArray, diffused: FloatArray, usual: float, score: Score) -> float:
    """The usual share, unless another one is better on the labels by more than the standard error of the gain."""
    held_out, diffused = held_out[score.rows], diffused[score.rows]
    before = mixed(usual, held_out, diffused)
    chosen, highest = usual, 0.0
    for share in SHARES:
        if share == usual:
            continue
        gain = _gain(score, before, mixed(share, held_out, diffused))
        if gain.is_certain and gain.value > highest:
            chosen, highest = share, gain.value
    return chosen


def _gain(score: Score, before: FloatArray, after: FloatArray) -> Gain:
    """Compare standardised predictions (l,); for a regression, after a line."""
    if isinstance(score, SquaredError):
        before, after = (_fitted(values, score.targets)[0] for values in (before, after))
    return score.gain(before, after)


def _fitted(values: FloatArray, targets: FloatArray) -> tuple[FloatArray, tuple[float, float]]:
    """Predict targets (l,) by a line over values (l,), each without itself; also the line's offset and slope."""
    centred = values - values.mean()
    squares = float(centred @ centred)
    slope = max(float(centred @ targets) / squares, 0.0) if squares > 0 else 0.0
    offset = float(targets.mean() - slope * values.mean())
    leverage = 1.0 / len(values) + (centred**2 / squares if squares > 0 else 0.0)
    residuals = (targets - offset - slope * values) / (1.0 - np.minimum(leverage, 0.99))
    return np.asarray(targets - residuals), (offset, slope)


def _line(unseen: FloatArray, score: SquaredError, units: Units) -> tuple[tuple[float, float] | None, FloatArray]:
    """The line from the mixture to the targets, and honest predictions of all rows (n,).

    The mixture keeps the units of the main predictor, without a line, unless a line is certainly better.
    """
    plain = units.from_standardised(unseen)
    left_out, (offset, slope) = _fitted(unseen[score.rows], score.targets)
    if not score.gain(plain[score.rows], left_out).is_certain:
        return None, plain
    honest = offset + slope * unseen
    honest[score.rows] = left_out
    return (offset, slope), honest


def error_scale_of(honest: FloatArray, variances: FloatArray, score: Score) -> float:
    """Scale of standard errors with which the labelled rows (l,) come out as often as they should."""
    deviations = np.sqrt(variances)
    if isinstance(score, SquaredError):
        shares = np.abs(honest - score.targets) / np.where(deviations > 0, deviations, np.inf)
        return float(np.quantile(shares, 0.9)) / NINETY
    better, worse = score.ordered_pairs(MOST_ORDERED)
    # In units of a power of two, so that sums of huge scores stay in range.
    largest = float(np.exp2(np.floor(np.log2(np.abs(honest).max() or 1.0))))
    honest = honest / largest
    differences = honest[better] - honest[worse]
    spread = np.sqrt(variances[better] + variances[worse])
    spread = np.where(spread > 0, spread, spread.max(initial=1e-12))
    unit = float(np.abs(differences).mean() / spread.mean()) or 1.0

    def surprise(logarithm: float) -> float:
        right = _probability_of_order(differences / (unit * np.exp(logarithm) * spread))
        return -float(np.mean(np.log(np.maximum(right, np.finfo(float).tiny))))

    found = minimize_scalar(surprise, bounds=(-5.0, 5.0), method="bounded")
    return largest * unit * float(np.exp(found.x))
