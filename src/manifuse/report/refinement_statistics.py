"""What a refinement says in numbers: who aligns with whom, and whose rank moved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from manifuse.evidence.neighbourhood import percentiles_of
from manifuse.grid import figures
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.sphere import alignment
from manifuse.run.refinement import Refinement


@dataclass(frozen=True, eq=False)
class Shift:
    """How the rows moved in the ranking.

    Attributes
    ----------
    keys : (n,) array of str
    before, after : (n,) array
        Scores.
    support : (n,) array
    uncertainty : (n,) array or None
        Standard errors of the scores after; None if no label taught.
    line : tuple of float
        Offset and slope of the line that brings the scores before into the units of those after.
    """

    keys: NDArray[np.str_]
    before: FloatArray
    after: FloatArray
    support: FloatArray
    uncertainty: FloatArray | None = None
    line: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def of(cls, result: Refinement) -> Shift:
        """Compare the scores before and after."""
        main, refined = result.main, result.refined.in_scale_of(result.main)
        scored, measured, line = result.fitted_model.scored, result.evidence.measured, cls.line
        if measured is not None and measured.in_other_units:
            line = float(scored.own.mean), scored.own.deviation
        return cls(main.keys, main.in_scale(main.scores), refined.scores, refined.support, refined.uncertainty, line)

    @property
    def is_in_other_units(self) -> bool:
        """Whether the scores after are in other units than those before."""
        return self.line != Shift.line

    @cached_property
    def ranks(self) -> tuple[FloatArray, FloatArray]:
        """Ranks before and after, (n,) each, from 1 for the highest score; equal scores share the mean rank."""
        return rankdata(-self.before), rankdata(-self.after)

    @cached_property
    def rises(self) -> FloatArray:
        """Ranks that every row rose by, (n,); negative if it fell."""
        return np.asarray(self.ranks[0] - self.ranks[1])

    @property
    def correlation(self) -> float:
        """Rank correlation (Spearman) of before and after."""
        return float(alignment(*(ranks[:, None] for ranks in self.ranks))[0])

    @property
    def median_rise(self) -> float:
        """The number of ranks that half of the rows moved by at most, up or down."""
        return float(np.median(np.abs(self.rises)))

    @property
    def top_kept(self) -> float:
        """Share of the highest tenth before that is in the highest tenth after, in [0, 1]."""
        count = -(-len(self.before) // 10)
        first, then = (np.argsort(-scores, kind="stable")[:count] for scores in (self.before, self.after))
        return float(np.isin(first, then).mean())

    def moved(self, row: int) -> str:
        """Say how the place and the score of a row changed."""
        first, then = (round(float(percentiles_of(scores)[row])) for scores in (self.before, self.after))
        way = f"stays at place {first}"
        if first != then:
            way = f"{'rises' if then > first else 'falls'} from place {first} to {then}"
        scores = f"its score was {figures(self.before[row], 4)} and is {figures(self.after[row], 4)}"
        # Where all scores move, a place may fall although the score rises.
        yet = "yet " if (then - first) * (self.after[row] - self.before[row]) < 0 else ""
        return f"“{self.keys[row]}” {way} (0 is the lowest score, 100 the highest); {yet}{scores}."

    @property
    def facts(self) -> dict[str, str]:
        """How the rows moved."""
        return {
            "rank correlation of scores before and after": f"{self.correlation:.3f}",
            "ranks that half of the rows moved by at most": f"{self.median_rise:,.1f}",
            "share of the highest tenth that stays there": f"{self.top_kept:.1%}",
        }

    def sample(self, count: int, *, after: bool = False) -> IndexArray:
        """Return ``count`` rows, or all if there are fewer, evenly spaced in the order of their scores."""
        positions = np.linspace(0, len(self.before) - 1, min(count, len(self.before))).round().astype(np.intp)
        return np.argsort(self.after if after else self.before, kind="stable")[positions]


def largest(values: FloatArray, count: int) -> IndexArray:
    """Return the places of the ``count`` largest values above 0, or of all that are, the largest first."""
    return np.argsort(-values, kind="stable")[: min(count, np.sum(values > 0))]


def shown_metric(result: Refinement, references: Iterable[int]) -> tuple[list[str], FloatArray]:
    """Return the alignment of every predictor with every other on the main rows (the task metric).

    Parameters
    ----------
    result : Refinement
    references : iterable of int
        The indices of the references to show.

    Returns
    -------
    names : list of str
        The main predictor as it came; "refined", if the refinement was accepted; the references.
    values : (k, k) array
        In [-1, 1]; 0 for scores that are constant.
    """
    names = [result.main.name, "refined", *(entry.name for entry in result.relevance)]
    shown = [0, *([1] if result.accepted else []), *(2 + index for index in references)]
    return [names[index] for index in shown], result.evidence.metric[np.ix_(shown, shown)]


def by_weight(result: Refinement) -> list[int]:
    """Return the indices of the references, the largest weight first."""
    return [int(index) for index in np.argsort(-result.weights, kind="stable")]
