"""Agreement: what the references say of each other and of the main predictor, where no label says more.

Two questions are put to the scores at the pairs. *Do all predict the same thing?* If they do, their correlations
follow a one-factor model: each predictor is the common truth times its loading, plus noise of its own (Spearman 1904).
A loading is the correlation of a predictor with that truth. *Would the references have helped?* Each reference in turn
is left out: do the others, carried over the main table's own rows, predict it better than the main predictor does, at
pairs that they have not seen? The weights with which both together predict it best say how far the refinement follows
the references.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from manifuse.diffusion.reason import Reason
from manifuse.kernels.arrays import FloatArray
from manifuse.records import Saved

#: Root mean square of the correlations that one factor leaves, above which the predictors do not predict the same.
MOST_RESIDUAL = 0.1

#: A loading below the first number means that a predictor has nothing to do with the others. The main predictor's
#: loading may be below the references' mean by the second factor. If it is above by the third, it leads.
LEAST_LOADING, LEAST_SHARE, LEADING_SHARE = 0.1, 0.85, 1.1

#: The references are followed at most so far if the main predictor leads them, or if they cannot be asked. If they
#: would be followed less far than the other number, they are not followed.
CAUTIOUS_TRUST, LEAST_TRUST = 0.5, 0.1

#: The gain of only two references at held-out pairs must exceed its standard error and this, in correlation.
LEAST_GAIN = 0.02

#: Fewest references for which one factor can fail, and fewest pairs that two references must have in common.
FEWEST_REFERENCES, FEWEST_SHARED = 3, 10

#: Bounds on a predictor's common variance, and iterations that find it.
COMMON, FACTOR_ITERATIONS = (0.01, 0.97), 300

#: Answers after which the references are used without labels.
YES = (Reason.AGREE, Reason.TOLD, Reason.NOT_MEASURED)


@dataclass(frozen=True, eq=False)
class Agreement(Saved):
    """What the references answered.

    Attributes
    ----------
    answer : Reason
    trust : float
        How far the refinement follows the references, in [0, 1]; with labels, before these choose.
    loadings : (m + 1,) array
        Of the main predictor and of the references that take part, in [-1, 1]; NaN if they cannot be had.
    residual : float
        Root mean square of the correlations that one factor leaves; NaN if it cannot be had.
    gain, standard_error : float
        By how much the others predict a left-out reference better than the main predictor does, in correlation, mean
        over references; NaN with fewer than two.
    worths : (m,) array
        What is lost of that gain without each reference; NaN with fewer than three.
    worth_errors : (m,) array
        Their standard errors.
    weights : (m,) array
        Of the references in their consensus.
    """

    answer: Reason
    trust: float
    loadings: FloatArray
    residual: float
    gain: float
    standard_error: float
    worths: FloatArray
    worth_errors: FloatArray
    weights: FloatArray

    def summary(self) -> dict[str, object]:
        """What was answered, as plain values."""
        numbers = {name: getattr(self, name) for name in ("trust", "residual", "gain", "standard_error")}
        return {"answer": self.answer.name, **numbers, "loadings": tuple(self.loadings.tolist())}

    def check(self) -> None:
        """Refuse values that do not fit together."""
        count = len(self.weights)
        arrays = (self.worths, self.worth_errors, self.weights)
        if not 0 <= self.trust <= 1 or self.loadings.shape != (count + 1,) or any(a.shape != (count,) for a in arrays):
            raise ValueError("what the references answered does not fit together")


def ask(main: FloatArray, known: FloatArray, held_out: FloatArray, *, same_target: bool) -> Agreement:
    """Ask the references.

    Parameters
    ----------
    main : (n,) array
        The main predictor's scores.
    known : (n, m) array
        The references' scores at their pairs, NaN elsewhere.
    held_out : (n, m) array
        The same predicted at every row, at a pair without that pair.
    same_target : bool
        Whether the user says that all predict the same thing.
    """
    count = known.shape[1]
    weights, loadings, residual = weigh(main, known)
    predicted = _predict_left_out(main, known, held_out, weights)
    gains = predicted.gains
    worths = np.array([gains - _predict_left_out(main, known, held_out, weights, k).gains for k in range(count)])
    trust = _trust(predicted)
    answer = Reason.TOLD if same_target and count else _answer(loadings, residual, gains, trust)
    if answer is Reason.TOLD:
        trust = 1.0
    elif answer is Reason.NOT_MEASURED or (answer is Reason.AGREE and _share(loadings) > LEADING_SHARE):
        trust = min(trust, CAUTIOUS_TRUST)
    several = count >= FEWEST_REFERENCES
    return Agreement(
        answer=answer,
        trust=trust if answer in YES else 0.0,
        loadings=loadings,
        residual=residual,
        gain=float(gains.mean()) if count > 1 else np.nan,
        standard_error=_error(gains),
        worths=np.array([np.nanmean(row) for row in worths]) if several else np.full(count, np.nan),
        worth_errors=np.array([_error(row[np.isfinite(row)]) for row in worths]),
        weights=weights,
    )


def weigh(main: FloatArray, known: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Weigh references in their consensus, by what one factor says of each; parameters as in `ask`.

    Returns
    -------
    weights : (m,) array
    loadings : (m + 1,) array
    residual : float
        As in `Agreement`.
    """
    correlations = _correlations(np.column_stack([main, known]))
    if len(correlations) == 1 or not np.isfinite(correlations).all():
        # There is no reference, or two share too few pairs: all count alike.
        return np.where(correlations[0, 1:] < 0, -1.0, 1.0), np.full(len(correlations), np.nan), np.nan
    loadings, residual = one_factor(correlations)
    return loadings[1:] / (1.0 - np.clip(loadings[1:] ** 2, *COMMON)), loadings, residual


def one_factor(correlations: FloatArray) -> tuple[FloatArray, float]:
    """Fit the one-factor model to correlations (k, k) by principal axes.

    Returns
    -------
    loadings : (k,) array
        Their sum is not negative.
    residual : float
        Root mean square of what is left of the correlations.
    """
    count = len(correlations)
    reduced = correlations.copy()
    common = np.full(count, 0.5)
    if count == 2:
        # Two predictors say only the product of their loadings.
        loading = np.sqrt(abs(correlations[0, 1]))
        return np.array([loading, np.copysign(loading, correlations[0, 1])]), 0.0
    loadings = np.sqrt(common)
    for _ in range(FACTOR_ITERATIONS):
        np.fill_diagonal(reduced, common)
        values, vectors = np.linalg.eigh(reduced)
        loadings = vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
        common = np.clip(loadings**2, *COMMON)
    loadings = loadings * (1.0 if loadings.sum() >= 0 else -1.0)
    left = correlations - np.outer(loadings, loadings)
    np.fill_diagonal(left, 0.0)
    return loadings, float(np.sqrt(np.sum(left**2) / (count * (count - 1))))


def _answer(loadings: FloatArray, residual: float, gains: FloatArray, trust: float) -> Reason:
    """Answer both questions."""
    count = len(loadings) - 1
    if count == 0:
        return Reason.NO_REFERENCE
    if residual > MOST_RESIDUAL or loadings.min() < LEAST_LOADING:
        return Reason.DIFFER
    if _share(loadings) < LEAST_SHARE:
        return Reason.UNLIKE
    if trust < LEAST_TRUST:
        return Reason.WORSE
    if count == 1 or not np.isfinite(residual):
        return Reason.NOT_MEASURED
    if count < FEWEST_REFERENCES:
        # Three predictors always have one common factor, so here a gain must be clear.
        return Reason.NOT_MEASURED if gains.mean() > max(_error(gains), LEAST_GAIN) else Reason.WORSE
    return Reason.AGREE


def _share(loadings: FloatArray) -> float:
    """The main predictor's loading, in units of the references' mean; NaN if they cannot be had."""
    return float(loadings[0] / loadings[1:].mean()) if len(loadings) > 1 else np.nan


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """How well each reference is predicted at its pairs when it is left out, as correlations.

    Attributes
    ----------
    by_others, by_main : (m,) array
        Correlations of the reference with the consensus of the others and with the main predictor.
    between : (m,) array
        Correlations of these two.
    """

    by_others: FloatArray
    by_main: FloatArray
    between: FloatArray

    @property
    def gains(self) -> FloatArray:
        """How much better the others predict each reference than the main predictor does."""
        return self.by_others - self.by_main


def _predict_left_out(
    main: FloatArray, known: FloatArray, held_out: FloatArray, weights: FloatArray, without: int | None = None
) -> _LeftOut:
    """Predict each reference by the others and by the main predictor.

    The reference ``without`` is neither asked nor used. It has NaN, and so has a reference without others.
    """
    found = np.full((3, known.shape[1]), np.nan)
    for number in range(known.shape[1]):
        others = [k for k in range(known.shape[1]) if k not in (number, without)]
        if number == without or not others:
            continue
        rows = np.isfinite(known[:, number])
        said, own, truth = held_out[rows][:, others] @ weights[others], main[rows], known[rows, number]
        found[:, number] = _correlation(said, truth), _correlation(own, truth), _correlation(said, own)
    return _LeftOut(*found)


def _trust(predicted: _LeftOut) -> float:
    """How far to follow the references, in [0, 1]: 1 is as much weight for their consensus as for the main predictor.

    Least squares of a left-out reference on two standardised predictors, which correlate with it by ``c`` and ``b``
    and with each other by ``r``, gives them weights in proportion to ``c - r b`` and ``b - r c``. The correlation of
    the consensus is taken lower by its standard error over the references.
    """
    if not np.isfinite(predicted.gains).all() or len(predicted.gains) < 2:
        return CAUTIOUS_TRUST
    consensus, main, between = (
        float(values.mean()) for values in (predicted.by_others, predicted.by_main, predicted.between)
    )
    consensus -= _error(predicted.gains)
    of_consensus, of_main = consensus - between * main, main - between * consensus
    if of_consensus <= 0 or of_main <= 0:
        return float(of_consensus > 0)
    return min(1.0, 2.0 * of_consensus / (of_consensus + of_main))


def _correlations(columns: FloatArray) -> FloatArray:
    """Correlations of columns (n, k) at the rows that both have; NaN where these are too few."""
    count = columns.shape[1]
    found = np.eye(count)
    for i in range(count):
        for j in range(i):
            both = np.isfinite(columns[:, i]) & np.isfinite(columns[:, j])
            enough = both.sum() >= FEWEST_SHARED
            found[i, j] = found[j, i] = _correlation(columns[both, i], columns[both, j]) if enough else np.nan
    return found


def _correlation(a: FloatArray, b: FloatArray) -> float:
    a, b = a - a.mean(), b - b.mean()
    norm = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / norm if norm > 0 else 0.0


def _error(values: FloatArray) -> float:
    """Standard error of the mean of values; NaN with fewer than two."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
