"""Refined scores: rows with their scores, support and standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit

from manifuse.kernels.arrays import FloatArray
from manifuse.tables.observations import Observations

#: A row with less support than this has hardly any evidence behind it.
LITTLE = 0.05


@dataclass(frozen=True, eq=False)
class RefinedScores:
    """Refined rows, as NumPy arrays.

    Attributes
    ----------
    scores : (n,) or (n, c) array
        In the units of the main predictor or, after a regression, of the targets.
    support : (n,) array
        As `Refinement.support`.
    uncertainty : (n,) array or None
        Standard errors of the scores; None if no label taught.
    """

    scores: FloatArray
    support: FloatArray
    uncertainty: FloatArray | None

    @classmethod
    def unchanged(cls, table: Observations) -> Self:
        """Return the scores of a table as they came, without support."""
        return cls(table.scores, np.zeros(len(table)), None)

    @property
    def little_support(self) -> int:
        """The number of rows with hardly any evidence behind them."""
        return int(np.sum(self.support < LITTLE))

    def in_scale_of(self, table: Observations) -> RefinedScores:
        """Return the same in the scale of ``table``, with uncertainty by the delta method."""
        scores, uncertainty = table.in_scale(self.scores), self.uncertainty
        if uncertainty is not None and table.straightening is not None:
            upper, lower = (table.straightening.undo(self.scores + sign * uncertainty) for sign in (1.0, -1.0))
            uncertainty = (upper - lower) / 2.0
        elif uncertainty is not None and table.scale != "score":
            # A number in [0, 1] has no larger standard error.
            uncertainty = np.minimum(uncertainty * expit(self.scores) * expit(-self.scores), 0.5)
        return RefinedScores(scores, self.support, uncertainty)

    def followed_by(self, more: RefinedScores) -> RefinedScores:
        """Return these rows and, after them, more."""
        uncertainty = None
        if self.uncertainty is not None and more.uncertainty is not None:
            uncertainty = np.append(self.uncertainty, more.uncertainty)
        scores = np.concatenate([self.scores, more.scores])
        return RefinedScores(scores, np.append(self.support, more.support), uncertainty)


def refined_columns(table: Observations, refined: RefinedScores) -> dict[str, Any]:
    """Return the columns of a table of refined rows, by their names, in the scale of the ``table`` as it came.

    The ids come first, as they came, and the uncertainty only if labels taught.
    """
    shown, original = refined.in_scale_of(table), table.in_scale(table.scores)
    columns = {table.called.id: table.ids}
    if table.classes is None:
        columns |= {"score": shown.scores, "original": original, "support": shown.support}
        return columns if shown.uncertainty is None else {**columns, "uncertainty": shown.uncertainty}
    columns |= {
        "predicted": table.classes.most_probable(shown.scores),
        "original": table.classes.most_probable(original),
    }
    return {**columns, **dict(zip(table.called.classes, shown.scores.T, strict=True)), "support": shown.support}


def support_of(doubt: FloatArray, pulls: FloatArray) -> FloatArray:
    """How much is known of the references' scores of rows (q,), in [0, 1], by how much each counts."""
    if not doubt.shape[1]:
        return np.zeros(len(doubt))
    # If no reference is followed, all count alike.
    weights = pulls if pulls.any() else np.ones(len(pulls))
    return np.asarray(np.clip((1.0 - doubt) @ (weights / weights.sum()), 0.0, 1.0))
