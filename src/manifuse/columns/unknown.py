"""Unknown: what rows lose that references do not know, if these know most of the fitted rows."""

from __future__ import annotations

import numpy as np

from manifuse.columns.all_columns import Columns
from manifuse.columns.scored import Scoring
from manifuse.columns.view import View
from manifuse.kernels.arrays import FloatArray


def change_if_unknown(columns: Columns, scored: Scoring, own: FloatArray, rows: View, unseen: FloatArray) -> float:
    """By how much refined scores change if no reference knows rows itself, as root mean square; without a diffusion.

    Parameters
    ----------
    columns : Columns
    scored : Scoring
    own : (q,) array
        Own scores.
    rows : View
        With the references' scores.
    unseen : (q, m, c) array
        These scores, learned from other rows.
    """
    lacking = rows.with_column("references", unseen).with_column("imputed", unseen)
    lacking = lacking.with_column("pairs", np.zeros(len(rows)))

    def scores(seen: View) -> FloatArray:
        for name, column in (("expected", columns.expected), ("learned", columns.learned), ("taught", columns.taught)):
            seen = seen if column is None else column.add_to(seen, name)
        last = "expected" if columns.taught is None else "taught"
        return scored.scores(own, seen["expected"], seen[last], seen["pairs"] > 0)

    return float(np.sqrt(np.mean((scores(rows) - scores(lacking)) ** 2)))
