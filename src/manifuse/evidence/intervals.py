"""Intervals: standard errors of refined scores, by how far held-out labels are missed."""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import stdtr, stdtrit
from scipy.stats import spearmanr

from manifuse.evidence.holding_out import Folds
from manifuse.evidence.score import Score
from manifuse.evidence.squared_error import SquaredError
from manifuse.kernels.arrays import FloatArray
from manifuse.kernels.sphere import is_constant

#: Standard errors within which 90 of 100 truths lie.
NINETY = 1.6449

#: Labels are missed by more at higher or lower scores if the rank correlation is so many standard errors from 0.
UNEVEN = 3.0

#: The error of a difference follows Student's t with so many degrees of freedom. Its tails are heavy, because a few
#: rows are far off.
DEGREES = 3.0

#: A standard error in units of the scale of this t: both hold 90 of 100 truths.
ERROR_IN_SCALES = float(stdtrit(DEGREES, 0.95)) / NINETY

#: Before any label is seen, the logarithm of the scale of errors has this mean and standard deviation, in units in
#: which rows differ by one error on average. Few labels may all be in the right order, or in no order, by chance.
USUAL, USUAL_SPREAD = 0.8, 1.0

#: Smaller variances of a lesson are errors of rounding; labels have a variance of about 1.
LEAST_VARIANCE = 1e-6

#: The largest standard error. An interval of two of them on both sides is in the range of floats, too.
LARGEST_ERROR = float(np.finfo(np.float64).max) / 4.0

#: Ordered pairs of labelled rows that calibrate standard errors.
MOST_ORDERED = 50_000


def ordered_rightly(
    scores: FloatArray, others: FloatArray, errors: FloatArray, other_errors: FloatArray
) -> FloatArray:
    """Probability that the first of two rows is above the second, from scores and standard errors, each (p,)."""
    # In halves, so that no sum leaves the range of floats.
    spread = np.hypot(errors / 2.0, other_errors / 2.0)
    differences = scores / 2.0 - others / 2.0
    return _probability_of_order(differences / np.where(spread > 0, spread, np.finfo(float).tiny))


def standard_errors(variances: FloatArray, scale: float) -> FloatArray:
    """Standard errors of rows whose truths have these variances about the lesson (q,), at most `LARGEST_ERROR`."""
    with np.errstate(over="ignore"):
        return np.minimum(scale * np.sqrt(np.maximum(variances, LEAST_VARIANCE)), LARGEST_ERROR)


def unevenness_of(held_out: FloatArray, variances: FloatArray, score: Score) -> float:
    """Rank correlation of refined scores with how far targets are from them, in standard errors; 0 unless it is clear.

    Parameters are as of `error_scale_of`. It is 0 if the labels are no values in units.
    """
    if not isinstance(score, SquaredError) or score.is_of_few:
        return 0.0
    scores, root = held_out.mean(axis=0), np.sqrt(np.maximum(variances, LEAST_VARIANCE).mean(axis=0))
    misses = np.abs(scores - score.truth) / root
    if is_constant(np.column_stack([scores, misses])).any():
        return 0.0
    found = float(spearmanr(scores, misses).statistic)
    return found if abs(found) > UNEVEN / np.sqrt(len(scores) - 1.0) else 0.0


def error_scale_of(held_out: FloatArray, variances: FloatArray, score: Score, folds: Folds) -> float:
    """Scale of standard errors with which the labelled rows come out as often as they should.

    Parameters
    ----------
    held_out, variances : (r, l) array
        Refined scores of the labelled rows and variances of truths about the lesson, held out in r trials.
    score : Score
    folds : Folds
        Only rows of one fold are compared, and rows of one block count as one.
    """
    variances, count = np.maximum(variances, LEAST_VARIANCE), folds.block_count
    if isinstance(score, SquaredError):
        misses = np.abs(held_out - score.truth) / np.sqrt(variances)
        # Each of the blocks, and one more, is equally often the one that misses most (conformal prediction).
        return float(np.quantile(misses, min(0.9 * (count + 1) / count, 1.0))) / NINETY
    better, worse = score.ordered_pairs(MOST_ORDERED)
    trial, pair = np.nonzero(folds.numbers[:, better] == folds.numbers[:, worse])
    better, worse = better[pair], worse[pair]
    # In units of a power of two, so that sums of huge scores stay in range.
    largest = float(np.exp2(np.floor(np.log2(np.abs(held_out).max() or 1.0))))
    held_out = held_out / largest
    differences = held_out[trial, better] - held_out[trial, worse]
    spread = np.sqrt(variances[trial, better] + variances[trial, worse])
    if not len(differences):
        return largest
    unit = float(np.abs(differences).mean() / spread.mean()) or 1.0

    def surprise(logarithm: float) -> float:
        right = _probability_of_order(differences / (unit * np.exp(logarithm) * spread))
        unusual = ((logarithm - USUAL) / USUAL_SPREAD) ** 2 / (2.0 * count)
        return unusual - float(np.mean(np.log(np.maximum(right, np.finfo(float).tiny))))

    found = minimize_scalar(surprise, bounds=(-5.0, 5.0), method="bounded")
    return largest * unit * float(np.exp(found.x))


def _probability_of_order(differences: FloatArray) -> FloatArray:
    """Probability that the first of two rows is above the second, from the difference of scores in standard errors."""
    with np.errstate(over="ignore"):
        return np.asarray(stdtr(DEGREES, ERROR_IN_SCALES * differences))
