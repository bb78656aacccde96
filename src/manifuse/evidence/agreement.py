"""Agreement: what the references say of each other and of the main predictor, where no label says more.

Two questions are put to the scores at the pairs. *Do all predict the same thing?* If they do, their correlations
follow a one-factor model. If they do not, but the main predictor and most references do, the others are left out.
*Would the references have helped?* Each reference in turn is held back: do the others, carried over the main table's
own rows, predict it better than the main predictor does, at pairs that they have not seen? The weights with which both
together predict it best say how far the refinement follows the references.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from manifuse.diffusion.reason import Reason
from manifuse.evidence.one_factor import FEWEST_REFERENCES, OneFactor, correlation
from manifuse.kernels.arrays import BoolArray, FloatArray
from manifuse.records import Saved

#: The main predictor's loading may be below the references' mean by the first factor. If it is above by the second, it
#: leads.
LEAST_SHARE, LEADING_SHARE = 0.85, 1.1

#: The references are followed at most so far if the main predictor leads them, or if they cannot be asked. If they
#: would be followed less far than the other number, they are not followed.
CAUTIOUS_TRUST, LEAST_TRUST = 0.5, 0.1

#: The gain of only two references at held-out pairs must exceed its standard error and this, in correlation.
LEAST_GAIN = 0.02

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
    differing : (m,) array of bool
        References that predict something else than the main predictor and the others do. They are not followed.
    loadings : (m + 1,) array
        Of the main predictor and of the references that take part, in [-1, 1]; NaN if they cannot be had, or of a
        reference that differs.
    residual : float
        Root mean square of the correlations that one factor leaves; NaN if it cannot be had.
    gain, standard_error : float
        By how much the others predict a reference that is held back better than the main predictor does, in
        correlation, mean over references; NaN with fewer than two.
    worths : (m,) array
        What is lost of that gain without each reference; NaN with fewer than three.
    worth_errors : (m,) array
        Their standard errors.
    weights : (m,) array
        Of the references in their consensus.
    """

    answer: Reason
    trust: float
    differing: BoolArray
    loadings: FloatArray
    residual: float
    gain: float
    standard_error: float
    worths: FloatArray
    worth_errors: FloatArray
    weights: FloatArray

    def summary(self) -> dict[str, object]:
        """What was answered, as plain values; None where nothing could be measured."""

        def known(value: float) -> float | None:
            return None if np.isnan(value) else float(value)

        numbers = {name: known(getattr(self, name)) for name in ("trust", "residual", "gain", "standard_error")}
        return {"answer": self.answer.name, **numbers, "loadings": [known(each) for each in self.loadings]}

    def followed(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Those of the references ``numbers`` that were asked, in this order, that do not differ."""
        return tuple(number for number, differs in zip(numbers, self.differing.tolist(), strict=True) if not differs)

    def scattered(self, kept: BoolArray) -> Agreement:
        """Say what the references ``kept`` (k,) answered as an answer of all; the others differ."""

        def scatter(values: FloatArray, missing: float, kept: BoolArray = kept) -> FloatArray:
            made = np.full(len(kept), missing)
            made[kept] = values
            return made

        return replace(
            self,
            differing=~kept,
            loadings=scatter(self.loadings, np.nan, np.append(True, kept)),
            worths=scatter(self.worths, np.nan),
            worth_errors=scatter(self.worth_errors, np.nan),
            weights=scatter(self.weights, 0.0),
        )

    def check(self) -> None:
        """Refuse values that do not fit together."""
        count = len(self.weights)
        arrays = (self.differing, self.worths, self.worth_errors, self.weights)
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
    model = OneFactor.of(main, known)
    if same_target:
        return _ask(model, main, known, held_out, same_target=True)
    kept, model = model.of_most()
    found = _ask(model, main, known[:, kept], held_out[:, kept], same_target=False)
    return found if kept.all() else found.scattered(kept)


def _ask(
    model: OneFactor, main: FloatArray, known: FloatArray, held_out: FloatArray, *, same_target: bool
) -> Agreement:
    """Ask references that all stay; ``model`` is of them and the main predictor, other parameters as in `ask`."""
    count = known.shape[1]
    predicted = _predict_left_out(main, known, held_out, model.weights)
    gains = predicted.gains
    worths = np.array([gains - _predict_left_out(main, known, held_out, model.weights, k).gains for k in range(count)])
    trust = _trust(predicted)
    answer = Reason.TOLD if same_target and count else _answer(model, gains, trust)
    if answer is Reason.TOLD:
        trust = 1.0
    elif answer is Reason.NOT_MEASURED or (answer is Reason.AGREE and model.share > LEADING_SHARE):
        trust = min(trust, CAUTIOUS_TRUST)
    several = count >= FEWEST_REFERENCES
    return Agreement(
        answer=answer,
        trust=trust if answer in YES else 0.0,
        differing=np.zeros(count, dtype=bool),
        loadings=model.loadings,
        residual=model.residual,
        gain=float(gains.mean()) if count > 1 else np.nan,
        standard_error=_error(gains),
        worths=np.array([np.nanmean(row) for row in worths]) if several else np.full(count, np.nan),
        worth_errors=np.array([_error(row[np.isfinite(row)]) for row in worths]),
        weights=model.weights,
    )


def _answer(model: OneFactor, gains: FloatArray, trust: float) -> Reason:
    """Answer both questions."""
    count = len(gains)
    if count == 0:
        return Reason.NO_REFERENCE
    if model.fails:
        return Reason.DIFFER
    if model.share < LEAST_SHARE:
        return Reason.UNLIKE
    if trust < LEAST_TRUST:
        return Reason.WORSE
    if count == 1 or not np.isfinite(model.residual):
        return Reason.NOT_MEASURED
    if count < FEWEST_REFERENCES:
        # Three predictors always have one common factor, so here a gain must be clear.
        return Reason.NOT_MEASURED if gains.mean() > max(_error(gains), LEAST_GAIN) else Reason.WORSE
    return Reason.AGREE


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

    The reference ``without`` is neither asked nor used. It has NaN, and so has a reference without others. One that
    speaks in reverse is predicted in reverse.
    """
    found = np.full((3, known.shape[1]), np.nan)
    for number in range(known.shape[1]):
        others = [k for k in range(known.shape[1]) if k not in (number, without)]
        if number == without or not others:
            continue
        rows = np.isfinite(known[:, number])
        said, own = held_out[rows][:, others] @ weights[others], main[rows]
        truth = np.copysign(1.0, weights[number]) * known[rows, number]
        found[:, number] = correlation(said, truth), correlation(own, truth), correlation(said, own)
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


def _error(values: FloatArray) -> float:
    """Standard error of the mean of values; NaN with fewer than two."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
