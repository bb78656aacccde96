"""Held labels: which labels teach, and how they are held out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from manifuse.columns.covariance import OF_FEATURES, Covariance
from manifuse.columns.view import View
from manifuse.evidence.found import Representative
from manifuse.evidence.holding_out import Folds
from manifuse.evidence.rankings import PairedRanking
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn_by_place

#: At most so many labels of rows teach, or so many ordered pairs, each of which is held out by itself; more would need
#: too large a matrix, or too much time.
MOST_TAUGHT, MOST_ORDERED = 2000, 750

#: Rows without a label whose distance to the next label is measured.
MATCHED = 1000


@dataclass(frozen=True, eq=False)
class Labels:
    """What labels tell, and how they are held out.

    Attributes
    ----------
    score : Score
        Of the labels that teach.
    folds : Folds
    unseen : list of lists of arrays of int
        The observations that each fold of each trial must not see.
    representative : Representative
    """

    score: Score
    folds: Folds
    unseen: list[list[IndexArray]]
    representative: Representative = Representative()

    def only(self, kept: IndexArray) -> Labels:
        """Return some observations (k,), put into folds anew."""
        score = self.score.of_observations(kept)
        blocks, held = self.folds.blocks, self.folds.held
        places = kept if len(kept) == len(score.rows) else np.concatenate([kept, kept + len(blocks) // 2])
        folds, unseen = score.hold_out(blocks[places], held, np.random.default_rng(0), len(self.unseen))
        return replace(self, score=score, folds=folds, unseen=unseen)


def most_taught(score: Score) -> int:
    """How many observations teach at most; of more, so many are drawn at random."""
    return MOST_ORDERED if isinstance(score, PairedRanking) else MOST_TAUGHT


def distances_of(
    rows: View, labelled: IndexArray, places: IndexArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray] | None:
    """Squared distances of labelled rows from each other, and of other rows from the next label."""
    covariance = Covariance.of(rows, labelled, "the labelled rows")
    others = np.setdiff1d(np.arange(len(rows)), labelled)
    if not covariance.has_features or not len(others):
        return None
    few = drawn_by_place(places, others, MATCHED, rng)
    there, elsewhere = (covariance.parts[OF_FEATURES].points(rows.take(each)) for each in (labelled, few))
    between = euclidean_distances(there, squared=True)
    return between, euclidean_distances(elsewhere, there, squared=True).min(axis=1)
