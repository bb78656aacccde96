"""Like the rest: whether chosen rows, those with labels or pairs, are like all rows, but for chance."""

from collections.abc import Sequence

import numpy as np
from scipy.spatial.distance import pdist

from manifuse.columns.view import View
from manifuse.evidence.found import Apart, Representative
from manifuse.evidence.holding_out import Held
from manifuse.evidence.rankings import PairedRanking
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray, thinned
from manifuse.kernels.feature_blocks import means_and_deviations
from manifuse.tables.level import Level

#: Chosen rows are not like the rest if the mean of a column is so many standard errors away, and more with many
#: columns; means differ by rounding by this many deviations.
UNLIKE, SAME = 3.0, 1e-9

#: What references do at rows that they know matters for all rows if these are so large a share of them.
MANY_KNOWN = 1.0 / 3.0

#: In a regression, rows that are so many times as far out as every labelled row can have errors that outweigh all
#: others.
FAR = 2.5

#: Rows that differ from each other as usual.
GAPS = 300

#: Values (q, k), and whether each row was chosen (q,).
Part = tuple[FloatArray, BoolArray]


def parts_of(rows: View, chosen: BoolArray) -> list[Part]:
    """Features, own scores, and how far these are from their median, as if the middle or the ends were chosen.

    Of classes, also how far all of a row's scores are, as if those that are least sure were chosen.
    """
    own = rows["own"]
    away = own - np.median(own, axis=0)
    # Apart, because features may be large, and are not copied.
    parts = [rows.features, own, np.abs(away)]
    if own.shape[1] > 1:
        parts.append(np.linalg.norm(away, axis=1, keepdims=True))
    return [(values, chosen) for values in parts]


def representative_of(rows: View, score: Score, held: Held) -> Representative:
    """In what the labelled ones of all ``rows``, which were ``held`` out so, are like all of them."""
    places, away = np.arange(len(rows)), np.abs(rows["own"] - np.median(rows["own"]))
    in_order = [(places[:, None].astype(np.float64), np.isin(places, score.rows))]
    return Representative(
        like_rest=is_like_rest(rows, score.rows),
        # They are neither early nor late ones.
        of_all_times=held is not Held.BY_RUN or have_means_of_all(in_order),
        of_known=missed_share(rows, score.rows) < MANY_KNOWN,
        of_far=score.measure != "rmse" or bool(away.max() < FAR * away[score.rows].max()),
        apart=apart_of(rows["own"], score),
    )


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


def pairs_are_like_rest(rows: View, pulls: FloatArray) -> bool:
    """Whether rows that a reference with a pull (m,) above 0 knows are like all rows."""
    return have_means_of_all(parts_of(rows, np.asarray(rows.known[:, pulls > 0].any(axis=1))))


def have_means_of_all(parts: Sequence[Part]) -> bool:
    """Whether chosen rows have the means of all, as far as chance explains in so many columns."""
    count = sum(values.shape[1] for values, _ in parts)
    return all(_has_means_of_all(values, chosen, count) for values, chosen in parts)


def _has_means_of_all(values: FloatArray, chosen: BoolArray, count: int) -> bool:
    few = int(chosen.sum())
    if few in (0, len(chosen)):
        return True
    error = np.sqrt(max(1.0 - few / len(chosen), 0.0) / few)
    most = (UNLIKE + np.sqrt(2.0 * np.log(count))) * error + SAME
    means, deviations = means_and_deviations(values)
    with np.errstate(over="ignore"):
        away = np.abs(means_and_deviations(values[chosen])[0] - means)
    # A column that is constant has means that differ by rounding alone.
    return not ((deviations > 0) & (away > most * deviations)).any()
