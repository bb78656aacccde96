"""Left out: how well references predict one of them that is held back, at pairs that they have not seen."""

import numpy as np

from manifuse.evidence.gain import Gain
from manifuse.evidence.holding_out import overlap_of
from manifuse.evidence.one_factor import correlation_and_influence
from manifuse.kernels.arrays import FloatArray, IndexArray


def left_out(
    own: FloatArray, known: FloatArray, held_out: FloatArray, pulls: FloatArray, copies: IndexArray
) -> list[Gain | None]:
    """How much better the others predict each reference that is followed, at its pairs, than the main predictor does.

    Copies of a reference are not among the others. Standard errors are those of the pairs that there happen to be.

    Returns
    -------
    list of m + 1 Gain or None
        What is lost of the gain without each reference, mean over the other ones; and, as the last, the gain itself,
        mean over the references. None where nothing could be compared.
    """
    count, followed = len(pulls), np.flatnonzero(pulls)
    knows = np.asarray(np.isfinite(known).all(axis=2))
    pairs = knows.sum(axis=0)
    totals, numbers, influences = np.zeros(count + 1), np.zeros(count + 1), np.zeros((count + 1, len(own)))
    for number in followed if len(followed) > 1 else ():
        rows = np.flatnonzero(knows[:, number])
        others = np.where(copies == copies[number], 0.0, pulls)
        truth, alone = known[rows, number], own[rows]
        by_others = alone + np.einsum("nmc,m->nc", held_out[rows], others)
        better, influence = correlation_and_influence(by_others, truth)
        worse = {count: alone}
        if len(followed) > 2:
            there = np.flatnonzero(others).tolist()
            worse |= {other: by_others - others[other] * held_out[rows, other] for other in there}
        for place, values in worse.items():
            correlated, its_influence = correlation_and_influence(values, truth)
            totals[place] += better - correlated
            influences[place, rows] += influence - its_influence
            numbers[place] += 1
    # Each pair is predicted from nearly all others. Pairs of several references may be the same rows.
    overlaps = np.array([overlap_of(int(np.count_nonzero(each))) for each in influences])
    with np.errstate(invalid="ignore"):
        gains, errors = totals / numbers, overlaps * np.sqrt(np.sum(influences**2, axis=1)) / numbers
    return [
        Gain(float(gain), float(error), int(rows), "correlation") if np.isfinite(gain + error) else None
        for gain, error, rows in zip(gains, errors, [*pairs, pairs.max(initial=0)], strict=True)
    ]
