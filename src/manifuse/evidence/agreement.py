"""Agreement: what the references say of each other and of the main predictor, where no label says more.

We assume that a reference predicts the same thing. So it is followed as far as its loading says, unless the data
contradict this assumption: of three references or more by a loading that is certainly low, of fewer by a correlation
that is certainly negative.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from manifuse.evidence.gain import Gain
from manifuse.evidence.one_factor import correlations, left_out, loadings_of, loadings_towards_usual, shrunk
from manifuse.evidence.reason import Reason
from manifuse.kernels.arrays import BoolArray, FloatArray, IndexArray

#: One of three references or more differs if its loading is below this, and one of fewer if it is below 0.
LEAST_LOADING = 0.2

#: It must be below by so many standard errors.
CERTAIN = 2.0

#: A reference whose loading is below this predicts a related thing in reverse. Then the others may predict something
#: related, but not the same, too.
REVERSED = -0.4

#: Fewest references that can contradict each other.
FEWEST_REFERENCES = 3

#: The main predictor counts as much more than its loading says, in units of ``loading / (1 - loading^2)``: where no
#: label would show whether references do harm, and where labels would.
PRESUMED, PRESUMED_WITH_LABELS = 1.75, 0.75

#: References whose correlation is above this are near copies of each other, and count as one.
COPIES = 0.99

#: So do references that correlate by more than the first number, and by so much more than other predictors explain.
ALIKE, UNEXPLAINED = 0.9, 0.2

#: Answers after which the references are followed.
YES = (Reason.AGREE, Reason.TOLD, Reason.ASSUMED, Reason.WEAK, Reason.UNCLEAR)


@dataclass(frozen=True, eq=False)
class Agreement:
    """What the references answered.

    Attributes
    ----------
    answer : Reason
    pulls_without_labels : (m,) array
        How much the standardised scores of each reference count, where those of the main predictor count 1, before
        labels say anything of them; 0 if it is not followed.
    differing : (m,) array of bool
        References that predict something else than the main predictor and most others do. They are not followed.
    loadings : (m + 1,) array
        Of the main predictor and of the references, as the pairs say, in [-1, 1].
    gain : Gain or None
        By how much the others predict a reference that is held back better than the main predictor does, in
        correlation, mean over references; None with fewer than two.
    worths : tuple of Gain or None
        What is lost of that gain without each reference; None with fewer than three.
    factor_by_labels : float
        How many times as much they count in the end, by labels of rows that they know; 1 without such labels.
    """

    answer: Reason
    pulls_without_labels: FloatArray
    differing: BoolArray
    loadings: FloatArray
    gain: Gain | None
    worths: tuple[Gain | None, ...]
    factor_by_labels: float = 1.0

    @property
    def pulls(self) -> FloatArray:
        """How much the standardised scores of each reference count in the end (m,)."""
        return self.factor_by_labels * self.pulls_without_labels

    @property
    def opposed(self) -> BoolArray:
        """References that are not followed because they predict what the others do, but in reverse (m,)."""
        return np.asarray(self.differing & (self.loadings[1:] < REVERSED))

    @property
    def is_followed(self) -> bool:
        """Whether any reference is followed."""
        return bool(self.pulls.any())

    def summary(self) -> dict[str, Any]:
        """What was answered, as plain values; None where nothing could be measured."""
        gain, error = (None, None) if self.gain is None else (self.gain.value, self.gain.standard_error)
        lists = {name: getattr(self, name).tolist() for name in ("pulls", "loadings")}
        numbers = {"gain": gain, "standard_error": error, "factor_by_labels": self.factor_by_labels}
        return {"answer": self.answer.name, **numbers, **lists}


def ask(
    own: FloatArray,
    known: FloatArray,
    held_out: FloatArray,
    *,
    same_target: bool | None,
    harm_shown: float = 0.0,
    sureness: float = 1.0,
) -> Agreement:
    """Ask the references.

    Parameters
    ----------
    own : (n, c) array
        The main predictor's scores.
    known : (n, m, c) array
        The references' scores at their pairs, NaN elsewhere.
    held_out : (n, m, c) array
        The same predicted at every row, at a pair without that pair; of references that know most rows, as known.
    same_target : bool or None
        Whether the user says that all predict the same thing; False: they must show it.
    harm_shown : float
        Share of the rows for which labels would show whether references do harm, in [0, 1].
    sureness : float
        How much more every reference counts; see `columns.own.sureness`.
    """
    count = known.shape[1]
    correlated, alike, shared, with_main = correlations(np.concatenate([own[:, None], known], axis=1), held_out)
    voices, copies = _voices(correlated, alike, CERTAIN / np.sqrt(shared))
    among = correlated[np.ix_(voices, voices)]
    # Where only agreement with the main predictor is asked, the rows that are shared with it count.
    error = CERTAIN / np.sqrt(with_main if same_target or len(voices) <= FEWEST_REFERENCES else shared)
    # Even if the user says that all predict the same thing, a reference that is clearly opposed is not followed.
    kept = np.flatnonzero(among[0] + error >= 0) if same_target else _kept(among, error)
    pulls, with_own, with_each_other = np.zeros(count), False, False
    if len(kept) > 1:
        within = among[np.ix_(kept, kept)]
        with_own, with_each_other = _agree(within, shared)
        presumed = PRESUMED + harm_shown * (PRESUMED_WITH_LABELS - PRESUMED)
        each = np.zeros(len(voices))
        each[kept[1:]] = sureness * _pulls_of(within, shared, agree=with_each_other, presumed=presumed)
        # Copies share what one of them counts.
        pulls = (each / np.bincount(copies))[copies[1:]]
    *worths, gain = left_out(own, known, held_out, pulls, copies[1:])
    answer = _answer(
        len(voices) - 1,
        len(kept) - 1,
        same_target,
        with_own=with_own,
        with_each_other=with_each_other,
        is_better=gain is not None and gain.value > gain.standard_error,
    )
    followed = answer in YES
    differing = ~np.isin(copies[1:], kept) & followed
    return Agreement(
        answer=answer,
        pulls_without_labels=pulls if followed else np.zeros(count),
        differing=differing,
        # An estimate may be beyond what a correlation can be.
        loadings=np.clip(loadings_of(among), -1.0, 1.0)[copies],
        gain=gain,
        worths=tuple(worths),
    )


def _pulls_of(correlated: FloatArray, pairs: float, *, agree: bool, presumed: float) -> FloatArray:
    """How much each reference counts (k - 1,), where own scores count 1.

    Own scores count as their loading says, and as much more as is ``presumed``. Where references do not ``agree`` with
    each other, one factor, fitted to noise, would make one of them the truth.
    """
    loadings = shrunk(loadings_of(correlated), pairs) if agree else loadings_towards_usual(correlated, pairs)
    weights = loadings / (1.0 - loadings**2)
    return np.asarray(weights[1:] / (weights[0] + presumed))


def _agree(correlated: FloatArray, shared: float) -> tuple[bool, bool]:
    """Ask whether references correlate in the mean by more than chance.

    A loading is no measure of that, because one factor is fitted to what noise has in common, too.

    Returns
    -------
    with_own, with_each_other : bool
        With the main predictor, and among themselves; a single reference agrees with itself.
    """
    count = len(correlated) - 1
    among = correlated[1:, 1:][np.triu_indices(count, 1)]
    mean = float(among.mean()) if count > 1 else 0.0
    # References that have something in common are off by the same in the mean.
    error = np.sqrt((1.0 + (count - 1) * max(mean, 0.0)) / count / shared)
    with_own = correlated[0, 1:].mean() > CERTAIN * error
    return bool(with_own), bool(count < 2 or mean > CERTAIN / np.sqrt(shared * len(among)))


def _voices(correlated: FloatArray, alike: FloatArray, error: float) -> tuple[IndexArray, IndexArray]:
    """Find references that are near copies of each other; see `correlations`.

    Returns
    -------
    voices : (v,) array of int
        The main predictor, and of each group of copies that which correlates most with it.
    copies : (m + 1,) array of int
        The place among ``voices`` of the group of each predictor.
    """
    same = (alike > COPIES) | _are_versions(correlated, alike, error)
    same[0] = same[:, 0] = False
    count, groups = connected_components(same, directed=False)
    ranked = np.argsort(-np.append(2.0, correlated[0, 1:]), kind="stable")
    voices = np.array([next(each for each in ranked if groups[each] == group) for group in range(count)])
    return voices, groups


def _are_versions(correlated: FloatArray, alike: FloatArray, error: float) -> BoolArray:
    """Whether two references are versions of one model: alike beyond what others explain (m + 1, m + 1).

    Two other predictors explain the product of their correlations with both, divided by the correlation of the two.
    Only two that are surely alike, by more than the ``error``, can tell. The median of all such explanations counts.
    """
    candidates = alike > ALIKE
    candidates[0] = candidates[:, 0] = False
    np.fill_diagonal(candidates, False)
    _, groups = connected_components(candidates, directed=False)
    others = np.array(np.nonzero(np.triu((groups[:, np.newaxis] != groups) & (correlated > error))))
    versions = np.zeros_like(candidates)
    for group in np.unique(groups[candidates.any(axis=0)]):
        first, second = others[:, (groups[others] != group).all(axis=0)]
        if not len(first):
            continue
        for one, other in np.argwhere(np.triu(candidates) & (groups == group)):
            products = correlated[one, first] * correlated[other, second]
            products = products + correlated[one, second] * correlated[other, first]
            explained = np.median(products / (2.0 * correlated[first, second]))
            versions[one, other] = alike[one, other] - explained > UNEXPLAINED
    return versions | versions.T


def _kept(correlated: FloatArray, error: float) -> IndexArray:
    """The predictors that share one factor: all, or all but a few references; only the main one if these differ.

    While a loading is certainly too low, the predictor with the lowest is left out. All references differ if that is
    the main predictor, or if it predicts a related thing in reverse. They also differ if fewer than
    `FEWEST_REFERENCES` or not more than half of them would be left, unless the worst is not opposed to the factor. One
    or two references differ only if they are clearly opposed to the main predictor.
    """
    count = len(correlated) - 1
    left = np.arange(count + 1)
    least = LEAST_LOADING if count >= FEWEST_REFERENCES else 0.0
    while len(left) > 1:
        among = correlated[np.ix_(left, left)]
        # Two or three predictors always have one common factor.
        loadings = loadings_of(among) if len(left) > 2 else np.array([1.0, among[0, 1]])
        worst = int(loadings.argmin())
        if loadings[worst] + error >= least:
            break
        few = len(left) - 2 < FEWEST_REFERENCES or 2 * (len(left) - 2) <= count
        if worst == 0 or (count >= FEWEST_REFERENCES and (few or loadings[worst] < REVERSED)):
            # One that has nothing to do with the others, and is not opposed to them, counts little as it is.
            return left if worst > 0 and loadings[worst] + error >= 0 else left[:1]
        left = np.delete(left, worst)
    return left


def _answer(
    count: int, kept: int, same_target: bool | None, *, with_own: bool, with_each_other: bool, is_better: bool
) -> Reason:
    """The answer of ``count`` references, of which so many are ``kept``.

    It asks whether they surely agree with the main predictor and with each other, and whether they are better at
    held-out pairs.
    """
    if count == 0:
        return Reason.NO_REFERENCE
    if kept == 0:
        return Reason.OPPOSED if same_target or count < FEWEST_REFERENCES else Reason.DIFFER
    if same_target:
        return Reason.TOLD
    if same_target is None:
        if kept < FEWEST_REFERENCES:
            return Reason.ASSUMED
        if not with_each_other:
            return Reason.UNCLEAR
        return Reason.AGREE if with_own else Reason.WEAK
    if kept < FEWEST_REFERENCES or not (with_own and with_each_other):
        return Reason.NOT_SHOWN
    return Reason.AGREE if is_better else Reason.WORSE
