"""Scales of scores: probabilities are refined as log-odds, and come back as probabilities."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import expit, logit

from manifuse.errors import InputError
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.tables.containers import name_rows

#: What scores may be.
Scale = Literal["score", "probability"]

#: How far probabilities are drawn to 1/2, as a share of their distance: 0 becomes 0.0001.
MARGIN = 0.0002


def log_odds(came: FloatArray, rows: IndexArray, *, name: str) -> FloatArray:
    """Log-odds of probabilities of ``rows`` of the input, drawn to 1/2 by `MARGIN`; so those of 0 and 1 are finite.

    Raises
    ------
    InputError
        If some are outside of [0, 1].
    """
    outside = rows[(came < 0) | (came > 1)].tolist()
    if outside:
        raise InputError(
            f"{name} came as probabilities, but has scores outside of [0, 1] in {name_rows(outside)}; correct them, "
            "or refine them as scores, without `scale='probability'`."
        )
    return np.asarray(logit(0.5 + (1.0 - MARGIN) * (came - 0.5)))


def probabilities(odds: FloatArray) -> FloatArray:
    """Undo `log_odds`; what is beyond those of 0 and 1 is 0 or 1."""
    return np.asarray(np.clip(0.5 + (expit(odds) - 0.5) / (1.0 - MARGIN), 0.0, 1.0))
