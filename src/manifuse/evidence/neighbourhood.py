"""Neighbourhood: the main rows and the pairs whose features are most like those of one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.keys import locate
from manifuse.kernels.sphere import standardise
from manifuse.tables.observations import Observations

#: Nearest rows, and nearest pairs of each reference.
NEAREST, PAIRS = 5, 3


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """What is near a row.

    Attributes
    ----------
    distances : (n,) array
        Of all main rows, in units of the median distance; infinite without features.
    near : (5,) array of int
        The nearest other main rows; fewer if there are fewer.
    pairs : tuple of (3,) arrays of int
        Of every reference, the nearest other main rows that it has too.
    theirs : tuple of (3,) arrays
        The places of these rows in the reference: 0 for its lowest score, 100 for its highest.
    own : (m,) array
        The place of the row itself in every reference; NaN if that does not have it.
    """

    distances: FloatArray
    near: IndexArray
    pairs: tuple[IndexArray, ...]
    theirs: tuple[FloatArray, ...]
    own: FloatArray


def neighbourhood(
    main: Observations, references: Sequence[Observations], row: int, *, standardised: bool
) -> Neighbourhood:
    """Find what is near a row; ``standardised`` says whether distances are of standardised features."""
    distances = _distances(main, row, standardised=standardised)
    other = np.arange(len(main)) != row
    pairs, theirs, own = [], [], []
    for reference in references:
        rows, known = locate(main.keys, reference.keys)
        places = percentiles_of(reference.scores)
        nearest = _nearest(distances, np.flatnonzero(known & other), PAIRS)
        pairs.append(nearest)
        theirs.append(places[rows[nearest]])
        own.append(places[rows[row]] if known[row] else np.nan)
    near = _nearest(distances, np.flatnonzero(other), NEAREST)
    return Neighbourhood(distances, near, tuple(pairs), tuple(theirs), np.array(own))


def percentiles_of(scores: FloatArray) -> FloatArray:
    """Places of scores (n,): 0 for the lowest, 100 for the highest."""
    return np.asarray(100.0 * (rankdata(scores) - 1.0) / max(len(scores) - 1, 1))


def _distances(main: Observations, row: int, *, standardised: bool) -> FloatArray:
    if main.table is None:
        return np.where(np.arange(len(main)) == row, 0.0, np.inf)
    table = standardise(main.table) if standardised else np.asarray(main.table, dtype=np.float64)
    found = np.linalg.norm(table - table[row], axis=1)
    return np.asarray(found / (np.median(found) or 1.0))


def _nearest(distances: FloatArray, rows: IndexArray, most: int) -> IndexArray:
    order = rows[np.argsort(distances[rows], kind="stable")]
    return order[np.isfinite(distances[order])][:most]
