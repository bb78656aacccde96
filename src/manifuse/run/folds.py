"""Folds: what cross-validation does to the pairs of a combiner, and main rows that are pairs in every fit."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from manifuse.errors import InputError, warn
from manifuse.grid import many
from manifuse.kernels.arrays import BoolArray
from manifuse.kernels.keys import locate
from manifuse.run.changed_rows import changed_rows
from manifuse.tables.arranging import demand_alike, with_features_of
from manifuse.tables.observations import Observations
from manifuse.tables.pairing import LEAST_PAIRS

#: What to do if a splitter took pairs out of the fit.
REMEDY = "if a splitter took them out, give the whole main table as `pair_rows`, and they pair in every fit"


def with_pairs(main: Observations, rows: Observations, references: Sequence[Observations]) -> Observations:
    """Return the main rows and, after them, those ``rows`` of the same predictor that only pair with a reference.

    Raises
    ------
    InputError
        If rows that both have differ, or their columns do.
    """
    demand_alike(rows, main)
    rows = with_features_of(rows, main)
    places, known = locate(rows.keys, main.keys)
    changed = int(np.count_nonzero(changed_rows(rows, main, places, known)))
    if changed:
        raise InputError(
            f"{many(changed, 'row')} of {rows.name} have other scores or features than in {main.name}; give them as "
            "the combiner gets its rows, after all earlier steps of a pipeline."
        )
    further = np.flatnonzero(~known & _are_in(rows.keys, references))
    return main.followed_by(rows.take(further)) if len(further) else main


def demand_pairs_in_fold(main: Observations, references: Sequence[Observations]) -> None:
    """Refuse a fit in which a reference has next to no pairs.

    Raises
    ------
    InputError
        If there is such a reference.
    """
    for reference in references:
        pairs = np.count_nonzero(_are_in(main.keys, [reference]))
        if pairs < LEAST_PAIRS:
            raise InputError(
                f"{reference.name} shares {pairs} of its {many(len(reference), 'id')} with {main.name}, but at least "
                f"{LEAST_PAIRS} (better 30 to 200) are needed; {REMEDY}; else check that both name their rows alike."
            )


def warn_of_lost_pairs(rows: Observations, fitted: Observations, references: Sequence[Observations]) -> None:
    """Warn of later rows that would have paired with a reference in the fit."""
    were_fitted = locate(rows.keys, fitted.keys)[1]
    lost = int(np.count_nonzero(_are_in(rows.keys, references) & ~were_fitted))
    if lost:
        left = np.count_nonzero(_are_in(fitted.keys, references))
        warn(
            "lost_pairs",
            f"{many(lost, 'row')} of {rows.name} would pair with the references, but the fit had only {left:,} other "
            f"such rows; {REMEDY}.",
        )


def _are_in(keys: NDArray[np.str_], references: Sequence[Observations]) -> BoolArray:
    """Whether ids (n,) are in one of the references, shape (n,)."""
    found = np.zeros(len(keys), dtype=bool)
    for reference in references:
        found |= locate(keys, reference.keys)[1]
    return found
