"""Confirmed shares: how far labels confirm what one column changes of another."""

import numpy as np

from manifuse.columns.view import View
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray

#: How far a share, or an angle, may be from what it usually is, as a standard deviation.
SHARE_DEVIATION = 0.3

#: References count so many times as much as own scores at most, however good labels show them to be.
MOST = 20.0


def measured_share(
    was: FloatArray, changed: FloatArray, truth: FloatArray, *, means: int, prior: float, evenness: float
) -> float:
    """The share of what a column changed that makes it closest to the truth, in [0, 1].

    Parameters
    ----------
    was, changed, truth : (r, p, t) arrays
        p observations in r trials, less their means.
    means : int
        How many means were subtracted.
    prior : float
        What the share usually is, which counts as one more measurement.
    evenness : float
        See `Score.evenness`. If nearly all labels are equal, the few others carry the noise, and least squares, which
        takes it to be everywhere alike, is too sure.
    """
    found = _slopes(was, changed, truth, means=means, evenness=evenness)
    if found is None or found[0][0] <= 0:
        return prior
    slopes, errors = found
    measured = slopes[1] / slopes[0]
    gradient = np.array([-measured, 1.0]) / slopes[0]
    return float(np.clip(_between(prior, measured, float(gradient @ errors @ gradient)), 0.0, 1.0))


def _slopes(
    one: FloatArray, other: FloatArray, truth: FloatArray, *, means: int, evenness: float
) -> tuple[FloatArray, FloatArray] | None:
    """Slopes (2,) of the truth on two predictions, and the covariance of their errors.

    None of too few observations, or if all are equal. Parameters as of `measured_share`.
    """
    trials, count, columns = truth.shape
    design = np.column_stack([one.ravel(), other.ravel()])
    freedom = (count - means) * columns - design.shape[1]
    if freedom < 2 or evenness == 0:
        return None
    inverse = np.linalg.pinv(design.T @ design / trials)
    slopes = inverse @ design.T @ truth.ravel() / trials
    noise = float(np.sum((truth.ravel() - design @ slopes) ** 2)) / trials / freedom
    return slopes, noise / evenness**2 * inverse


def _between(usual: float, measured: float, variance: float) -> float:
    """The best guess of a share or an angle, by what it usually is and by a measurement of this variance."""
    return usual + SHARE_DEVIATION**2 / (SHARE_DEVIATION**2 + variance) * (measured - usual)


def factor_by_labels(rows: View, pulls: FloatArray, score: Score | None) -> float:
    """How many times as much as without labels references count, by labels of rows that they know themselves.

    Least squares of the truth on own scores and on what the references say together gives two slopes, and so an angle
    between the two. What this angle is without labels counts as one more measurement. Without such labels it stays,
    and so it does with ordered pairs.

    Parameters
    ----------
    rows : View
        The fitted rows.
    pulls : (m,) array
        How much each reference counts without labels, where own scores count 1.
    score : Score or None
        What the labels measure.
    """
    total = float(pulls.sum())
    if score is None or score.contrasts() is not None or total == 0:
        return 1.0
    there = score.only(np.flatnonzero(rows["known itself"][score.rows]))
    if there is None:
        return 1.0
    own, said = rows["own"][there.rows], np.einsum("qmc,m->qc", rows["references"][there.rows], pulls) / total
    centred = ((each - each.mean(axis=0))[None] for each in (own, said, there.observations()))
    found = _slopes(*centred, means=1, evenness=there.evenness)
    if found is None or (found[0] <= 0).all():
        return 1.0
    (of_own, of_said), errors = found
    gradient = np.array([-of_said, of_own]) / (of_own**2 + of_said**2)
    angle = _between(np.arctan(total), np.arctan2(of_said, of_own), float(gradient @ errors @ gradient))
    return float(np.tan(np.clip(angle, 0.0, np.arctan(MOST)))) / total


def left_at_pairs(
    rows: View, beyond: str, trials: FloatArray, targets: FloatArray, share: float, evenness: float
) -> float:
    """How much of the usual share of a lesson is left at rows that a reference knows itself, in [0, 1].

    What is expected of them is better than elsewhere. Labels there say what the lesson adds to it.

    Parameters
    ----------
    rows : View
        The labelled rows.
    beyond : str
        The column of what is expected of them.
    trials : (r, l, c) array
        What the lesson says of them.
    targets : (l, c) array
    share : float
        The usual one.
    evenness : float
        Of the labels; see `measured_share`.
    """
    pairs = rows["known itself"] > 0
    learned = trials[:, pairs]
    expected, truth = (np.broadcast_to(each[pairs], learned.shape) for each in (rows[beyond], targets))
    centred = (each - each.mean(axis=1, keepdims=True) for each in (expected, learned - expected, truth))
    return min(measured_share(*centred, means=1, prior=share, evenness=evenness) / share, 1.0)
