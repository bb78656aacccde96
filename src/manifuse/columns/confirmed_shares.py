"""Confirmed shares: how far labels confirm what one column changes of another."""

import numpy as np

from manifuse.columns.scored import comparable
from manifuse.columns.view import View
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray
from manifuse.tables.level import Level

#: How far a share may be from what it usually is, as a standard deviation.
SHARE_DEVIATION = 0.3


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
    trials, count, columns = truth.shape
    design = np.column_stack([was.ravel(), changed.ravel()])
    freedom = (count - means) * columns - design.shape[1]
    if freedom < 2:
        return prior
    inverse = np.linalg.pinv(design.T @ design / trials)
    slopes = inverse @ design.T @ truth.ravel() / trials
    if slopes[0] <= 0:
        return prior
    noise = float(np.sum((truth.ravel() - design @ slopes) ** 2)) / trials / freedom
    measured = slopes[1] / slopes[0]
    gradient = np.array([-measured, 1.0]) / slopes[0]
    variance = noise * float(gradient @ inverse @ gradient) / evenness**2
    trusted = SHARE_DEVIATION**2 / (SHARE_DEVIATION**2 + variance)
    return float(np.clip(prior + trusted * (measured - prior), 0.0, 1.0))


def kept_share_of_references(rows: View, pulls: FloatArray, score: Score | None, units: Level) -> float:
    """How much of their pulls (m,) references keep, in [0, 1], by labels of rows that they know themselves.

    All, unless labels show a loss there, certain or not. Then it is the `measured_share` of what references change of
    own scores. Ordered pairs do not say it.

    Parameters
    ----------
    rows : View
        The fitted rows.
    pulls, score, units
        As of `Agreement`, `RunInputs` and `Scoring`.
    """
    if score is None or score.contrasts() is not None:
        return 1.0
    there = score.only(np.flatnonzero(rows["known itself"][score.rows]))
    if there is None:
        return 1.0
    own, references = rows["own"][there.rows], rows["references"][there.rows]
    changed = np.einsum("qmc,m->qc", references, pulls)
    before, after = (comparable(units, each[None], there) for each in (own, own + changed))
    if there.gain(before, after).value >= 0:
        return 1.0
    centred = ((each - each.mean(axis=0))[None] for each in (own, changed, there.observations()))
    return measured_share(*centred, means=1, prior=1.0, evenness=there.evenness)


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
