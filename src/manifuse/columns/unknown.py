"""Unknown: how much farther scores are off, and how much less sure classes are, where no usual reference knows a row.

Both are measured by what changes without these references, before a diffusion, at rows that most of them know.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from manifuse.columns.all_columns import Columns
from manifuse.columns.imputed import MOST_COMMON
from manifuse.columns.scored import Scoring
from manifuse.columns.view import View
from manifuse.evidence.class_score import RISK, temperature_towards
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn_by_place


class Unknown(NamedTuple):
    """Rows that are scored with and without what usual references know of them.

    Attributes
    ----------
    own : (q, ...) array
        Own scores.
    rows : View
        With the references' scores.
    unseen : (q, m, c) array
        These scores; those that a usual reference knows are learned from other rows, if it has a lesson.
    places : (q,) array of int
        Of the rows; see `RunInputs.places`.
    """

    own: FloatArray
    rows: View
    unseen: FloatArray
    places: IndexArray

    def scores(self, columns: Columns, scored: Scoring) -> tuple[FloatArray, FloatArray, float] | None:
        """Scores of some of the rows with the references and without them, and the share of these that are learned.

        None if none is.
        """
        learned = (self.unseen != self.rows["references"]).any(axis=2)[:, columns.references.usual]
        if not learned.any():
            return None
        # No row may be known to all usual references; the change without those that know a row stands for a part.
        share = learned.mean(axis=1)
        best = np.flatnonzero(share == share.max())
        here = drawn_by_place(self.places, best, MOST_COMMON, np.random.default_rng(0))
        seen, imputed = self.rows.take(here), self.unseen[here]
        lacking = seen.with_column("references", imputed).with_column("imputed", imputed)
        lacking = lacking.with_column("pairs", np.zeros(len(here)))
        found = [_scores(columns, scored, self.own[here], known) for known in (seen, lacking)]
        return found[0], found[1], float(share.max())


def if_unknown(columns: Columns, scored: Scoring, unknown: Unknown) -> Scoring:
    """Measure how much farther scores are off, and how much less sure probabilities are, where references lack rows.

    Both are measured if labels taught. Scores have the root mean square of the change as one more standard error.
    Calibrated log-ratios and log-odds are multiplied by the temperature at which they predict best the probabilities
    that rows have with these references. What was measured before counts if it is more.
    """
    is_asked = scored.is_calibrated or scored.error_scale is not None
    found = unknown.scores(columns, scored) if is_asked else None
    if found is None or np.array_equal(found[0], found[1]):
        return scored
    seen, lacking, share = found
    if scored.is_calibrated:
        classes = RISK if columns.calibrated is None else columns.calibrated.classes
        temperature = temperature_towards(lacking.reshape(len(seen), -1), seen.reshape(len(seen), -1), classes)
        scored = replace(scored, temperature_if_unknown=min(temperature, scored.temperature_if_unknown))
    if scored.error_scale is not None:
        error = float(np.sqrt(np.mean((seen - lacking) ** 2) / share))
        scored = replace(scored, error_if_unknown=max(error, scored.error_if_unknown))
    return scored


def _scores(columns: Columns, scored: Scoring, own: FloatArray, known: View) -> FloatArray:
    known = columns.expected.add_to(known, "expected")
    if columns.refined is not None:
        known = known.with_column("refined", known["expected"])
    names = ("calibrated", "learned", "taught")
    for name, column in zip(names, (columns.calibrated, columns.learned, columns.taught), strict=True):
        known = known if column is None else column.add_to(known, name)
    last = "expected" if columns.taught is None else "taught"
    return scored.scores(own, known["expected"], known[last], known["pairs"] > 0)
