"""Held labels: which labels teach, and how they are held out."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.metrics.pairwise import euclidean_distances

from manifuse.columns.covariance import OF_FEATURES, Covariance
from manifuse.columns.like_rest import UNLIKE, have_means_of_all, parts_of
from manifuse.columns.view import View
from manifuse.evidence.holding_out import Folds
from manifuse.evidence.rankings import PairedRanking
from manifuse.evidence.representative import Apart, Representative
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn_by_place, thinned
from manifuse.tables.level import Level

#: At most so many labels of rows teach, or so many ordered pairs, each of which is held out by itself; more would need
#: too large a matrix, or too much time.
MOST_TAUGHT, MOST_ORDERED = 2000, 750

#: Rows without a label whose distance to the next label is measured, and rows that differ from each other as usual.
MATCHED, GAPS = 1000, 300

#: What references do at rows that they know matters for all rows if these are so large a share of them.
MANY_KNOWN = 1.0 / 3.0

#: In a regression, rows that are so many times as far out as every labelled row can have errors that outweigh all
#: others.
FAR = 2.5


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


def is_like_rest(rows: View, labelled: IndexArray) -> bool:
    """Whether labelled rows are like all rows: no mean of a column is farther away than chance explains.

    Nor is the mean distance of own scores from their median, as if rows in the middle or at the ends were chosen, or
    that from a reference's scores at its pairs, as if rows were chosen where these differ.
    """
    own, chosen = rows["own"], np.isin(np.arange(len(rows)), labelled)
    parts = parts_of(rows, chosen)
    for reference, known in enumerate(rows.known.T):
        pairs = np.flatnonzero(known)
        ours, theirs = (Level.of(each).apply(each) for each in (own[pairs], rows["references"][pairs, reference]))
        parts.append((np.abs(ours - theirs), chosen[pairs]))
    return have_means_of_all(parts)


def are_of_all_times(rows: int, labelled: IndexArray) -> bool:
    """Whether the labelled ones of so many rows, which follow each other in time, are neither early nor late ones."""
    places = np.arange(rows)
    return have_means_of_all([(places[:, None].astype(np.float64), np.isin(places, labelled))])


def missed_share(rows: View, labelled: IndexArray) -> float:
    """Share of the rows for which labels do not show what references do, in [0, 1].

    They are those that a reference knows which knows labelled rows certainly less often than all rows.
    """
    known, chosen = rows.known > 0, np.unique(labelled)
    shares = known.mean(axis=0)
    errors = np.sqrt(shares * (1.0 - shares) * (1.0 - len(chosen) / len(known)) / len(chosen))
    most = UNLIKE + np.sqrt(2.0 * np.log(max(known.shape[1], 1)))
    missing = known[chosen].mean(axis=0) < shares - most * errors
    return float(known[:, missing].any(axis=1).mean())


def reach_far_rows(own: FloatArray, labelled: IndexArray) -> bool:
    """Whether no own score (n, 1) is `FAR` times as far from the median of all as the farthest labelled one is."""
    away = np.abs(own - np.median(own))
    return bool(away.max() < FAR * away[labelled].max())


def apart_of(own: FloatArray, score: Score) -> Apart | None:
    """Whether own scores (n, 1) of ordered pairs are closer or farther apart than usual; see `Representative`."""
    if not isinstance(score, PairedRanking):
        return None
    better, worse = np.split(own[score.rows, 0], 2)
    gaps, usual = np.abs(better - worse), np.sort(pdist(np.sort(own, axis=0)[thinned(len(own), GAPS)]))
    # Of the usual gaps, the share that is smaller, where equal ones count one half.
    smaller = sum(np.searchsorted(usual, gaps, side) for side in ("left", "right")) / (2.0 * len(usual))
    # Pairs that share rows tell less than as many that do not.
    pairs = 2.0 * len(gaps) ** 2 / np.sum(np.unique(score.rows, return_counts=True)[1] ** 2.0)
    away = float(np.mean(smaller) - 0.5) * np.sqrt(12.0 * pairs)
    if abs(away) <= UNLIKE:
        return None
    return "closer" if away < 0 else "farther"


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
