"""Unknown: how much farther scores are off at rows that no usual reference knows."""

from __future__ import annotations

import numpy as np

from manifuse.columns.all_columns import Columns
from manifuse.columns.imputed import MOST_COMMON
from manifuse.columns.scored import Scoring
from manifuse.columns.view import View
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn_by_place


def error_if_unknown(
    columns: Columns, scored: Scoring, own: FloatArray, rows: View, unseen: FloatArray, places: IndexArray
) -> float:
    """Standard error to add at rows that no usual reference knows: what scores change by without these references.

    It is the root mean square of the change, before a diffusion, at rows that most of them know.

    Parameters
    ----------
    columns : Columns
    scored : Scoring
    own : (q, ...) array
        Own scores.
    rows : View
        With the references' scores.
    unseen : (q, m, c) array
        These scores; those that a usual reference knows are learned from other rows, if it has a lesson.
    places : (q,) array of int
        Of the rows; see `RunInputs.places`.
    """
    learned = (unseen != rows["references"]).any(axis=2)[:, columns.references.usual]
    if not learned.any():
        return 0.0
    # No row may be known to all usual references; the change without those that know a row stands for a part.
    share = learned.mean(axis=1)
    here = drawn_by_place(places, np.flatnonzero(share == share.max()), MOST_COMMON, np.random.default_rng(0))
    seen, imputed = rows.take(here), unseen[here]
    lacking = seen.with_column("references", imputed).with_column("imputed", imputed)
    lacking = lacking.with_column("pairs", np.zeros(len(here)))

    def scores(known: View) -> FloatArray:
        for name, column in (("expected", columns.expected), ("learned", columns.learned), ("taught", columns.taught)):
            known = known if column is None else column.add_to(known, name)
        last = "expected" if columns.taught is None else "taught"
        return scored.scores(own[here], known["expected"], known[last], known["pairs"] > 0)

    return float(np.sqrt(np.mean((scores(seen) - scores(lacking)) ** 2) / share.max()))
