"""Scores of class probabilities: the log loss, and the share of rows whose class is right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from manifuse.evidence.gain import Gain, Measure
from manifuse.evidence.holding_out import Folds, error_of_mean
from manifuse.evidence.rankings import GradedRanking
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import standardise_prediction
from manifuse.tables.classes import Classes
from manifuse.tables.scales import Scale

#: Logarithms of temperatures that are tried first, and how exactly the best between them is then found.
TEMPERATURES, PRECISION = np.arange(-3.0, 7.0), 1e-9

#: Degrees of freedom of the prior of the logarithm of a temperature above 1 (Student's t), and its precision near 0.
FREEDOM, PRIOR_PRECISION = 5.0, 10.0

#: Digits after the point to which logarithms of equal probabilities are equal.
DIGITS = 9

#: The classes of a risk, and the offsets of its log-odds that are searched.
RISK, OFFSETS = Classes(("0", "1")), (-10.0, 10.0)


@dataclass(frozen=True, eq=False)
class LogLoss(Score):
    """The log loss of class probabilities, which come as log-ratios.

    Attributes
    ----------
    rows : (l,) array of int
    truth : (l,) array of int
        The class of each row, as its place among ``classes``.
    classes : Classes
    excess : (k - 1,) array or 0
        How much more frequent classes are among the labels than among all rows, as log-ratios; see `chosen_by_class`.
        It is added to the log-ratios of the labelled rows, which are those of rows at random.
    """

    rows: IndexArray
    truth: IndexArray
    classes: Classes
    excess: FloatArray | float = 0.0
    measure: ClassVar[Measure] = "log_loss"

    @property
    def are_chosen(self) -> bool:
        """Whether the labels were chosen by their class."""
        return bool(np.any(self.excess))

    def logarithms(self, log_ratios: FloatArray) -> FloatArray:
        """Logarithms of the probabilities (..., k) of rows like the labelled ones, from log-ratios (..., k - 1)."""
        return self.classes.logarithms(log_ratios + self.excess)

    def log_ratios(self, coordinates: FloatArray) -> FloatArray:
        """Log-ratios of rows at random (..., k - 1), if rows like the labelled ones have these ``coordinates``."""
        return self.classes.log_ratios(np.log(self.classes.probabilities(coordinates))) - self.excess

    def evaluate(self, candidates: FloatArray) -> FloatArray:
        """Score candidate log-ratios (l, k - 1, q); see `Score.evaluate`."""
        return np.array([self.log_likelihoods(each).mean() for each in np.moveaxis(candidates, -1, 0)])

    def log_likelihoods(self, log_ratios: FloatArray) -> FloatArray:
        """Logarithm of the probability of the class of each row, shape (..., l), from log-ratios (..., l, k - 1)."""
        return np.asarray(self.logarithms(log_ratios)[..., np.arange(len(self.truth)), self.truth])

    def is_right(self, log_ratios: FloatArray) -> FloatArray:
        """1 where the most probable class is that of the row, else 0, shape (..., l)."""
        # Of classes that are equally probable but for rounding, the first counts.
        logarithms = np.round(self.logarithms(log_ratios), DIGITS)
        return np.asarray(logarithms.argmax(axis=-1) == self.truth, dtype=np.float64)

    def gain(self, before: FloatArray, after: FloatArray, folds: Folds | None = None) -> Gain:
        """Compare two predictions (l, k - 1) or (r, l, k - 1); see `Score.gain`.

        The standard error is at least the one that the two predictions expect themselves, on average: few labels of
        a good predictor can be all right by chance, and then their differences do not show what a wrong one costs.
        """
        was, now = (self.logarithms(each) for each in (before, after))
        gain = _paired((now - was)[..., np.arange(len(self.truth)), self.truth], self.measure, folds)
        differences = _mean_of_trials(now - was)
        probabilities = np.mean([_mean_of_trials(np.exp(each)) for each in (was, now)], axis=0)
        expected = np.sum(probabilities * differences, axis=1, keepdims=True)
        variances = np.sum(probabilities * (differences - expected) ** 2, axis=1)
        least = float(np.sqrt(variances.sum())) / len(variances)
        return replace(gain, standard_error=max(gain.standard_error, least))

    def gain_in_accuracy(self, before: FloatArray, after: FloatArray, folds: Folds | None = None) -> Gain:
        """Compare how often two predictions are right, as `gain` compares their log loss.

        The standard error is at least that with one more row in which only one of the two is right: predictions that
        agree at a few labels may differ elsewhere.
        """
        differences = np.atleast_2d(self.is_right(after) - self.is_right(before)).mean(axis=0)
        gain, rows = _paired(differences, "class_accuracy", folds), len(differences)
        least = float(np.sqrt((np.abs(differences).sum() + 1.0) / (rows + 1.0) / rows))
        return replace(gain, standard_error=max(gain.standard_error, least))

    def beyond_chance(self, log_ratios: FloatArray) -> float:
        """By how many standard deviations labels fit log-ratios (l, k - 1) better than the same in another order do.

        All orders count (Hoeffding, Annals of Mathematical Statistics, 1951).
        """
        said = self.classes.logarithms(log_ratios)[:, self.truth]
        left = said - said.mean(axis=0) - said.mean(axis=1, keepdims=True) + said.mean()
        spread = float(np.sqrt(np.sum(left**2) / (len(left) - 1)))
        return float(np.trace(left)) / spread if spread > 0 else 0.0

    def only(self, kept: IndexArray) -> Score | None:
        """Take some of the labelled rows; see `Score.only`."""
        places = self.truth[kept]
        return replace(self, rows=self.rows[kept], truth=places) if len(set(places.tolist())) > 1 else None

    def coordinates(self) -> FloatArray:
        """The class of every row as probabilities, in coordinates (l, k - 1)."""
        return self.classes.coordinates(np.eye(len(self.classes))[self.truth])

    def observations(self) -> FloatArray:
        """The classes of the rows, standardised; see `Score.observations`."""
        return standardise_prediction(self.coordinates())


def temperature_of(log_ratios: FloatArray, score: LogLoss) -> float:
    """What log-ratios (..., l, k - 1) are multiplied by, so that the labels are most probable (Guo et al. 2017).

    One above 1 has a prior (`_against`). One below 1 has none, because it makes rows less certain.
    """

    def loss(logarithm: float) -> float:
        unlikely = -float(score.log_likelihoods(np.exp(logarithm) * log_ratios).mean())
        return unlikely + _against(logarithm) / len(score.rows)

    return _best_temperature(loss)


def temperature_towards(distances: FloatArray, targets: FloatArray, classes: Classes, centre: FloatArray) -> float:
    """What distances (q, k - 1) of log-ratios from a centre (k - 1,) are multiplied by to predict ``targets`` best.

    These are log-ratios, too; their probabilities are predicted.
    """
    probabilities = np.exp(classes.logarithms(targets))

    def loss(logarithm: float) -> float:
        return -float((probabilities * classes.logarithms(centre + np.exp(logarithm) * distances)).sum(axis=1).mean())

    return _best_temperature(loss)


def _best_temperature(loss: Callable[[float], float]) -> float:
    """The temperature whose logarithm has the least ``loss``."""
    near = min(TEMPERATURES, key=loss)
    bounds = max(near - 1.0, TEMPERATURES[0]), min(near + 1.0, TEMPERATURES[-1])
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": PRECISION}).x))


def _against(logarithm: float) -> float:
    """What the prior of a logarithm of a temperature or slope above 0 has against it; nothing below 0.

    It keeps few labels that are all right from making all rows certain. Its tails are heavy, because probabilities of
    a good classifier may all be nearly the same; they must be stretched far to say what it knows.
    """
    square = PRIOR_PRECISION * max(logarithm, 0.0) ** 2
    return (FREEDOM + 1.0) / 2.0 * float(np.log1p(square / (FREEDOM + 1.0)))


def risks_of(score: Score, scale: Scale) -> LogLoss | None:
    """The log loss of risks: of probabilities whose labels are all 0 or 1; None of other scores or labels."""
    if scale != "probability" or not isinstance(score, GradedRanking) or not np.isin(score.truth, (0.0, 1.0)).all():
        return None
    return LogLoss(score.rows, score.truth.astype(np.intp), RISK)


def line_of(log_odds: FloatArray, risks: LogLoss) -> tuple[float, float]:
    """Offset and slope of the line that calibrates log-odds (r, l, 1) of labelled rows in r trials (Platt 1999).

    A slope below 1 shrinks log-odds towards 0, and one above 1 stretches them about their mean, because risks that
    hardly differ may all be small. The logarithm of a slope below 1, and how far the line is moved, have a prior of
    mean 0 and variance 1, so that few labels change little. A slope above 1 has that of a temperature (`_against`).
    """
    mean = float(log_odds.mean())

    def line_at(moved: float, logarithm: float) -> tuple[float, float]:
        slope = float(np.exp(logarithm))
        return moved + (mean * (1.0 - slope) if slope > 1 else 0.0), slope

    def loss(line: FloatArray) -> float:
        moved, logarithm = line
        offset, slope = line_at(moved, logarithm)
        unlikely = -risks.log_likelihoods(offset + slope * log_odds).mean(axis=0).sum()
        return float(unlikely + (moved**2 + min(logarithm, 0.0) ** 2) / 2.0 + _against(logarithm))

    # In each half the loss is smooth; where they meet it has an edge.
    found = []
    for half in (TEMPERATURES[TEMPERATURES <= 0], TEMPERATURES[TEMPERATURES >= 0]):
        starts = np.column_stack([np.zeros_like(half), half])
        found.append(minimize(loss, min(starts, key=loss), bounds=(OFFSETS, (half[0], half[-1]))))
    return line_at(*min(found, key=lambda each: each.fun).x)


def calibrate(log_odds: FloatArray, risks: LogLoss, folds: Folds) -> tuple[tuple[float, float], FloatArray]:
    """Find the line that calibrates log-odds (r, l, 1), as far as it probably gains at labels that are held out.

    Returns
    -------
    line : pair of float
        Offset and slope: `line_of` has the share that is the probability of a gain, and no line the rest.
    judged : (r, l, 1) array
        What such lines make of each label that they have not seen.
    """
    offset, slope = line_of(log_odds, risks)
    judged = calibrated_without(log_odds, risks, folds.rows(0), line_of)
    share = risks.gain(log_odds, judged, folds).probability
    return (share * offset, 1.0 + share * (slope - 1.0)), log_odds + share * (judged - log_odds)


def calibrated_without(
    log_ratios: FloatArray,
    score: LogLoss,
    folds: Sequence[IndexArray],
    line: Callable[[FloatArray, LogLoss], tuple[float, float]],
) -> FloatArray:
    """Calibrate log-ratios (..., l, k - 1) fold by fold, each by the ``line`` of the labels outside of it."""
    calibrated = log_ratios.copy()
    for fold in folds:
        seen = np.setdiff1d(np.arange(len(score.rows)), fold)
        others = score.only(seen)
        if isinstance(others, LogLoss):  # Labels of one class say nothing.
            offset, slope = line(log_ratios[..., seen, :], others)
            calibrated[..., fold, :] = offset + slope * log_ratios[..., fold, :]
    return calibrated


def _mean_of_trials(values: FloatArray) -> FloatArray:
    """Mean of values (r, l, k) over trials; values (l, k) are of one."""
    return np.asarray(values.mean(axis=0) if values.ndim == 3 else values)


def _paired(differences: FloatArray, measure: Measure, folds: Folds | None) -> Gain:
    """The mean of differences (l,) or (r, l), of which those of one row belong together."""
    rows = np.atleast_2d(differences).mean(axis=0)
    return Gain(float(rows.mean()), error_of_mean(rows, folds), len(rows), measure)
