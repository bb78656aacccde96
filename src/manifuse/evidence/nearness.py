"""Nearness: which labels a labelled row must not see when it is held out.

Where labels are drawn at random, a row without a label is as near to the next label as a labelled row is to the next
other one, and leaving one label out is honest. Where labels are crowded, in time or in one region, it is not: a
labelled row has labels close by, and most other rows have none. Then labels near the held-out row are left out with
it, until its distance to the next label is one that rows without a label have (nearest-neighbour distance matching,
Milà et al., Methods in Ecology and Evolution, 2022).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics.pairwise import euclidean_distances

from manifuse.evidence.likeness import Likeness, Rows
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn_by_id

#: Rows without a label whose distances are matched.
MATCHED = 1000

#: A distance counts as larger if its square is so many times larger; less may be chance.
MARGIN = 1.5


def near_labels(
    likeness: Likeness, rows: Rows, labelled: IndexArray, keys: NDArray[np.str_], rng: np.random.Generator
) -> list[IndexArray]:
    """For each labelled row, the positions among ``labelled`` (l,) that it must not see; its own comes first.

    Parameters
    ----------
    likeness : Likeness
    rows : Rows
        All main rows.
    labelled : (l,) array of int
    keys : (n,) array of str
        Ids of the main rows.
    rng : numpy.random.Generator
        Draws rows without a label.
    """
    alone = [np.array([position]) for position in range(len(labelled))]
    others = np.setdiff1d(np.arange(len(rows)), labelled)
    if not likeness.scalings or not len(others) or len(labelled) < 3:
        return alone
    scaling = likeness.scalings[0]
    there = scaling.apply(rows.take(labelled).features)
    measured = rows.take(drawn_by_id(keys, others, MATCHED, rng)).features
    wanted = euclidean_distances(scaling.apply(measured), there, squared=True).min(axis=1)
    between = euclidean_distances(there, squared=True)
    # Sums are rounded otherwise in the other direction.
    between = np.minimum(between, between.T)
    np.fill_diagonal(between, np.inf)
    radii = _radii(between.min(axis=1), wanted)
    most = (len(labelled) - 1) // 2
    near = []
    for position, radius in enumerate(radii):
        order = np.argsort(between[position], kind="stable")[:most]
        near.append(np.append(position, order[between[position][order] < radius]))
    return near


def _radii(nearest: FloatArray, wanted: FloatArray) -> FloatArray:
    """Squared radius around each labelled row within which labels are left out; 0 where none need be.

    The row whose nearest label is at the q-quantile of such distances must come to the q-quantile of the wanted ones.
    """
    # Rows that are nearest to each other have the same rank.
    quantiles = (rankdata(nearest) - 0.5) / len(nearest)
    goal = np.quantile(wanted, quantiles)
    return np.where(goal > MARGIN * nearest, goal, 0.0)
