"""One factor: whether predictors predict the same thing, by how their scores correlate.

If they do, each predictor is the common truth times its loading, plus noise of its own (Spearman 1904). Its loading is
its correlation with that truth, and two predictors correlate by the product of their loadings.
"""

import numpy as np
from scipy.stats import rankdata

from manifuse.evidence.gain import Gain
from manifuse.evidence.holding_out import overlap_of
from manifuse.kernels.arrays import FloatArray, IndexArray, without_rounding

#: Two references are compared at the pairs that they share if these are so many, and such a share of the pairs of the
#: one that has fewer. Else what is imputed of one at the pairs of the other says more.
FEWEST_SHARED, LEAST_SHARED = 10, 0.5

#: If they share fewer, they surely correlate there by as much as they do, less so many standard errors.
SURE = 2.0

#: Two references that share no pair may be parts of one. What is imputed of parts correlates all the same. So above
#: the first number they count as one, unless they correlate with own scores by the second one, in the mean.
PARTS, CONFIRMED = 0.7, 0.4

#: The prior of a loading is the first number, and counts as much as so many pairs.
USUAL, USUAL_PAIRS = 0.6, 100.0

#: No larger loading is used.
MOST_LOADING = 0.8

#: The share of squares that is but rounding.
NOTHING = 1e-12

#: Bounds on a predictor's common variance, and what ends the search for loadings.
COMMON, ITERATIONS, SETTLED = (0.01, 0.97), 300, 1e-9


def loadings_of(correlated: FloatArray) -> FloatArray:
    """Loadings (k,) of predictors with these correlations (k, k), by principal axes; their sum is not negative."""
    count = len(correlated)
    if count == 1:
        return np.ones(1)
    if count == 2:
        # Two predictors say only the product of their loadings.
        product = float(correlated[0, 1])
        loading = np.sqrt(abs(product))
        return np.array([loading, np.copysign(loading, product)])
    reduced, common = correlated.copy(), np.full(count, 0.5)
    loadings = np.sqrt(common)
    for _ in range(ITERATIONS):
        np.fill_diagonal(reduced, common)
        values, vectors = np.linalg.eigh(reduced)
        before, loadings = loadings, vectors[:, -1] * np.sqrt(max(values[-1], 0.0))
        loadings = loadings * (1.0 if loadings.sum() >= 0 else -1.0)
        common = np.clip(loadings**2, *COMMON)
        if np.abs(loadings - before).max() < SETTLED:
            break
    return np.asarray(loadings)


def shrunk(loadings: FloatArray, pairs: float) -> FloatArray:
    """Loadings (k,) towards `USUAL`, on the scale of Fisher's z, by the number of pairs; in [0.1, 0.8]."""
    limit = float(np.sqrt(COMMON[1]))
    seen = np.arctanh(np.clip(loadings, -limit, limit))
    return believed(np.tanh((pairs * seen + USUAL_PAIRS * np.arctanh(USUAL)) / (pairs + USUAL_PAIRS)))


def loadings_towards_usual(correlated: FloatArray, pairs: float) -> FloatArray:
    """Loadings (k,) of correlations (k, k) that are drawn to those of `USUAL` ones by the number of pairs."""
    drawn = (pairs * correlated + USUAL_PAIRS * USUAL**2) / (pairs + USUAL_PAIRS)
    np.fill_diagonal(drawn, 1.0)
    return believed(loadings_of(drawn))


def believed(loadings: FloatArray) -> FloatArray:
    """Loadings in the range of those that are believed, [0.1, 0.8]."""
    return np.asarray(np.clip(loadings, np.sqrt(COMMON[0]), MOST_LOADING))


def correlations(columns: FloatArray, imputed: FloatArray) -> tuple[FloatArray, FloatArray, float, float]:
    """Correlations of the main predictor and its references: of the ranks of scores, and of log-ratios as they are.

    Ranks among all rows that a predictor knows, so that one outlier at a pair does not silence a reference. Two
    references that share few of their pairs are compared by what each, imputed, says at the pairs of the other.

    Parameters
    ----------
    columns : (n, m + 1, c) array
        NaN but at the pairs.
    imputed : (n, m, c) array
        The references' scores at every row, without its own pair.

    Returns
    -------
    found : (m + 1, m + 1) array
    alike : (m + 1, m + 1) array
        The least that two surely correlate by the pairs that they share, if these are few, but not too few. Versions
        of one model are alike there, though what is imputed of them may differ. It is 1 if they share none and may be
        parts of one. Elsewhere it is ``found``.
    shared, with_main : float
        The fewest rows that a correlation was measured on, and the fewest that one with the main predictor was; at
        least 4.
    """
    known = np.isfinite(columns).all(axis=2, keepdims=True)
    ranks = _comparable(np.where(known, columns, np.nan))
    found, shared = _correlate(ranks, ranks)
    said = _correlate(np.concatenate([ranks[:, :1], _comparable(imputed)], axis=1), ranks)[0]
    pairs = np.diag(shared)
    direct = shared >= np.maximum(FEWEST_SHARED, LEAST_SHARED * np.minimum(pairs[:, np.newaxis], pairs))
    direct[0] = direct[:, 0] = True
    counts = shared[direct & ~np.eye(len(shared), dtype=bool)]
    surely = found - SURE * (1.0 - found**2) / np.sqrt(np.maximum(shared - 1.0, 1.0))
    found = np.where(direct, found, (said + said.T) / 2.0)
    alike = np.where(~direct & (shared >= FEWEST_SHARED), np.maximum(surely, found), found)
    with_own = (found[0] + found[:1].T) / 2.0
    alike = np.where((shared == 0) & (found > PARTS) & (with_own < CONFIRMED), 1.0, alike)
    np.fill_diagonal(found, 1.0)
    return found, alike, float(max(4, min(counts, default=4))), float(max(4, shared[0, 1:].min(initial=np.inf)))


def _comparable(columns: FloatArray) -> FloatArray:
    """Ranks of scores (n, k, 1) about their mean, NaN where a column is NaN; log-ratios (n, k, c) as they are.

    Log-ratios have no outliers, because probabilities are drawn to equal ones, and their ranks would depend on the
    order of the classes.
    """
    if columns.shape[2] > 1:
        return columns
    # Equal log-odds of two classes are equal but for rounding.
    ranked = rankdata(without_rounding(columns), axis=0, nan_policy="omit")
    return np.asarray(ranked - (np.isfinite(ranked).sum(axis=0) + 1.0) / 2.0)


def _correlate(some: FloatArray, others: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Correlations (k, l) of columns (n, k, c) with others (n, l, c) where both are known, and how often they are."""
    here, there = (np.asarray(np.isfinite(each).all(axis=2), dtype=np.float64) for each in (some, others))
    some, others = np.nan_to_num(some), np.nan_to_num(others)
    shared = here.T @ there
    count = np.maximum(shared, 1.0)
    sums = np.einsum("nkc,nl->klc", some, there, optimize=True), np.einsum("nk,nlc->klc", here, others, optimize=True)
    products = np.einsum("nkc,nlc->kl", some, others, optimize=True) - np.sum(sums[0] * sums[1], axis=2) / count
    squares = np.sum(some**2, axis=2).T @ there, here.T @ np.sum(others**2, axis=2)
    left, right = (each - np.sum(sum_**2, axis=2) / count for each, sum_ in zip(squares, sums, strict=True))
    # What is left of the squares of equal numbers is rounding.
    varies = (left > NOTHING * squares[0]) & (right > NOTHING * squares[1])
    scale = np.sqrt(np.where(varies, left * right, 0.0))
    return np.divide(products, scale, out=np.zeros_like(products), where=scale > 0), shared


def correlation(a: FloatArray, b: FloatArray) -> float:
    """Correlation of values (n, c), over all c together; 0 if one is constant."""
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    norm = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
    return float(np.sum(a * b)) / norm if norm > 0 else 0.0


def correlation_and_influence(a: FloatArray, b: FloatArray) -> tuple[float, FloatArray]:
    """The `correlation` of values (n, c), and what each row has to do with it, (n,), which sums to 0.

    The root sum of squares of that is the standard error (Hampel, Journal of the American Statistical Association,
    1974).
    """
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    squares = float(np.sum(a * a)), float(np.sum(b * b))
    if not all(squares):
        return 0.0, np.zeros(len(a))
    products = np.sum(a * b, axis=1) / np.sqrt(squares[0] * squares[1])
    parts = np.sum(a * a, axis=1) / squares[0] + np.sum(b * b, axis=1) / squares[1]
    found = float(products.sum())
    return found, np.asarray(products - 0.5 * found * parts)


def left_out(
    own: FloatArray, known: FloatArray, held_out: FloatArray, pulls: FloatArray, copies: IndexArray
) -> list[Gain | None]:
    """How much better the others predict each reference that is followed, at its pairs, than the main predictor does.

    Copies of a reference are not among the others. Standard errors are those of the pairs that there happen to be.

    Returns
    -------
    list of m + 1 Gain or None
        What is lost of the gain without each reference, mean over the other ones; and, as the last, the gain itself,
        mean over the references. None where nothing could be compared.
    """
    count, followed = len(pulls), np.flatnonzero(pulls)
    knows = np.asarray(np.isfinite(known).all(axis=2))
    pairs = knows.sum(axis=0)
    totals, numbers, influences = np.zeros(count + 1), np.zeros(count + 1), np.zeros((count + 1, len(own)))
    for number in followed if len(followed) > 1 else ():
        rows = np.flatnonzero(knows[:, number])
        others = np.where(copies == copies[number], 0.0, pulls)
        truth, alone = known[rows, number], own[rows]
        by_others = alone + np.einsum("nmc,m->nc", held_out[rows], others)
        better, influence = correlation_and_influence(by_others, truth)
        worse = {count: alone}
        if len(followed) > 2:
            there = np.flatnonzero(others).tolist()
            worse |= {other: by_others - others[other] * held_out[rows, other] for other in there}
        for place, values in worse.items():
            correlated, its_influence = correlation_and_influence(values, truth)
            totals[place] += better - correlated
            influences[place, rows] += influence - its_influence
            numbers[place] += 1
    # Each pair is predicted from nearly all others. Pairs of several references may be the same rows.
    overlaps = np.array([overlap_of(int(np.count_nonzero(each))) for each in influences])
    with np.errstate(invalid="ignore"):
        gains, errors = totals / numbers, overlaps * np.sqrt(np.sum(influences**2, axis=1)) / numbers
    return [
        Gain(float(gain), float(error), int(rows), "correlation") if np.isfinite(gain + error) else None
        for gain, error, rows in zip(gains, errors, [*pairs, pairs.max(initial=0)], strict=True)
    ]
