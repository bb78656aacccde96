"""Change if unknown: how scores change at rows that no usual reference knows, before a diffusion."""

from typing import NamedTuple, Self

import numpy as np

from manifuse.columns.all_columns import Columns
from manifuse.columns.imputed import MOST_COMMON
from manifuse.columns.scored import Scoring
from manifuse.columns.view import View
from manifuse.evidence.class_score import temperature_towards
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn_by_place
from manifuse.tables.classes import Classes

#: Columns that are not computed here: those that are there already, and the diffusion.
NOT_COMPUTED = ("smoothed", "references", "diffused", "refined")


class ChangeIfUnknown(NamedTuple):
    """Scores of some rows with and without what usual references know of them.

    Attributes
    ----------
    seen, lacking : (q, ...) array
    share : float
        How many of these references are left out, in (0, 1].
    """

    seen: FloatArray
    lacking: FloatArray
    share: float

    @classmethod
    def of(
        cls, columns: Columns, scored: Scoring, own: FloatArray, rows: View, unseen: FloatArray, places: IndexArray
    ) -> Self | None:
        """Score rows that most usual references know; None if there is none.

        Parameters
        ----------
        columns : Columns
        scored : Scoring
        own : (q, ...) array
            Own scores.
        rows : View
            With the references' scores.
        unseen : (q, m, c) array
            These scores, as other rows teach them, of references that have a lesson.
        places : (q,) array of int
            Of the rows; see `RunInputs.places`.
        """
        learned = (unseen != rows["references"]).any(axis=2)[:, columns.references.usual]
        if not learned.any():
            return None
        # No row may be known to all usual references; the change without those that know a row stands for a part.
        share = learned.mean(axis=1)
        best = np.flatnonzero(share == share.max())
        here = drawn_by_place(places, best, MOST_COMMON, np.random.default_rng(0))
        seen, imputed = rows.take(here), unseen[here]
        lacking = seen.with_column("references", imputed).with_column("imputed", imputed)
        lacking = lacking.with_column("known itself", np.zeros(len(here)))
        with_them, without = (_scores(columns, scored, own[here], known) for known in (seen, lacking))
        return cls(with_them, without, float(share.max()))

    @property
    def error(self) -> float:
        """Standard error to add where no usual reference knows a row: the root mean square of the change."""
        return float(np.sqrt(np.mean((self.seen - self.lacking) ** 2) / self.share))

    def temperature(self, classes: Classes, centre: FloatArray) -> float:
        """What distances of log-ratios from a ``centre`` (c,) are multiplied by where these references lack a row.

        With it, they predict best the probabilities that rows have with these references. It is at most 1.
        """
        distances = self.lacking.reshape(len(self.lacking), -1) - centre
        return min(temperature_towards(distances, self.seen.reshape(distances.shape), classes, centre), 1.0)


def _scores(columns: Columns, scored: Scoring, own: FloatArray, known: View) -> FloatArray:
    computed = {name: column for name, column in columns.by_name.items() if name not in NOT_COMPUTED}
    for name, column in computed.items():
        known = column.add_to(known, name)
        if name == "expected":
            # What follows a diffusion reads its result.
            known = known.with_column("refined", known["expected"])
    *_, last = computed
    return scored.scores(own, known["expected"], known[last], known["known itself"] > 0)
