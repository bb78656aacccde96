"""Left out: how well references predict one of them that is held back, at pairs that they have not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.evidence.holding_out import overlap_of
from manifuse.evidence.one_factor import correlation, influence_on_correlation
from manifuse.kernels.arrays import FloatArray, IndexArray


@dataclass(frozen=True, eq=False)
class Change:
    """How much better one column correlates with a reference than another one does.

    Attributes
    ----------
    value : float
        NaN if nothing was compared.
    influence : (n,) array
        What each row has to do with it: the deviations whose root sum of squares is the standard error.
    """

    value: float
    influence: FloatArray

    @classmethod
    def of(cls, better: FloatArray, worse: FloatArray, truth: FloatArray, rows: IndexArray, count: int) -> Self:
        """Compare two columns (p, c) with a reference at its pairs, which are ``rows`` (p,) of so many."""
        influence = np.zeros(count)
        influence[rows] = influence_on_correlation(better, truth) - influence_on_correlation(worse, truth)
        return cls(correlation(better, truth) - correlation(worse, truth), influence)

    @classmethod
    def mean(cls, changes: Sequence[Self]) -> Self:
        """Average over references. Their pairs may be the same rows, whose influences add up."""
        if not changes:
            return cls(np.nan, np.array([np.nan]))
        values, influences = zip(*((each.value, each.influence) for each in changes), strict=True)
        return cls(float(np.mean(values)), np.mean(influences, axis=0))

    @property
    def error(self) -> float:
        """Standard error, from which pairs there happen to be; each was predicted from nearly all others."""
        return overlap_of(int(np.count_nonzero(self.influence))) * float(np.sqrt(np.sum(self.influence**2)))


def left_out(
    own: FloatArray, known: FloatArray, held_out: FloatArray, pulls: FloatArray, copies: IndexArray
) -> tuple[Change, list[Change]]:
    """How much better the others predict each reference that is followed, at its pairs, than the main predictor does.

    Copies of a reference are not among the others.

    Returns
    -------
    gain : Change
        Mean over the references that are followed, if there are two.
    worths : list of Change
        What is lost of the gain without each reference, mean over the other ones.
    """
    gains: list[Change] = []
    losses: list[list[Change]] = [[] for _ in pulls]
    followed = np.flatnonzero(pulls)
    for number in followed if len(followed) > 1 else ():
        rows = np.flatnonzero(np.isfinite(known[:, number]).all(axis=1))
        others = np.where(copies == copies[number], 0.0, pulls)
        truth, alone = known[rows, number], own[rows]
        by_others = alone + np.einsum("nmc,m->nc", held_out[rows], others)
        gains.append(Change.of(by_others, alone, truth, rows, len(own)))
        for other in followed:
            if others[other] and len(followed) > 2:
                without = by_others - pulls[other] * held_out[rows, other]
                losses[other].append(Change.of(by_others, without, truth, rows, len(own)))
    return Change.mean(gains), [Change.mean(each) for each in losses]
