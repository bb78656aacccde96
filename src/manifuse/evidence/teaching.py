"""Teaching: what the labels, and the references' consensus, say of every main row before the diffusion starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from manifuse.diffusion.lookup import Lookup
from manifuse.diffusion.randomness import Stream, generator
from manifuse.evidence.agreement import Agreement
from manifuse.evidence.imputation import Imputation, Imputed
from manifuse.evidence.lesson import Lesson, learn
from manifuse.evidence.nearness import near_labels
from manifuse.evidence.rows import Likeness, Rows
from manifuse.evidence.score import Score
from manifuse.evidence.standard import Standard
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.records import Saved

#: So many labels count as much as what was known before them.
EQUAL_LABELS = 50

#: How far the share of a lesson may be from that; standard deviation.
PRIOR_DEVIATION = 0.3

#: At most so many observations teach; more would need too large a matrix.
MOST_TAUGHT = 4000


@dataclass(frozen=True, eq=False)
class Teaching(Saved):
    """How what is learned of a row follows from what is known of it.

    Attributes
    ----------
    imputation : Imputation
    weights : (m,) array
        Of the references in their consensus.
    trust : float
        How far the consensus is followed, in [0, 1].
    lesson : Lesson or None
        What the labels taught; None without labels.
    amount : float
        Share of the lesson in what is learned, in [0, 1].
    consensus, expected, taught, learned : Standard
        Levels of each over the fitted rows.
    """

    imputation: Imputation
    weights: FloatArray
    trust: float
    lesson: Lesson | None
    amount: float
    consensus: Standard
    expected: Standard
    taught: Standard
    learned: Standard

    def expect(self, rows: Rows) -> FloatArray:
        """What is expected of rows (q) without labels: own scores, and the consensus as far as it is trusted."""
        consensus = self.consensus.apply(rows.references @ self.weights)
        return self.expected.apply((1.0 - self.trust / 2.0) * rows.scores[:, 0] + self.trust / 2.0 * consensus)

    def learn(self, rows: Rows, expected: FloatArray) -> FloatArray:
        """What is learned of rows (q), standardised by the fitted rows."""
        if self.lesson is None:
            return expected
        taught = self.taught.apply(self.lesson.predict(rows, expected)[:, 0])
        return self.learned.apply(self.mix(expected, taught))

    def mix(self, expected: FloatArray, taught: FloatArray) -> FloatArray:
        """Add what was expected and the lesson by their shares."""
        return np.asarray((1.0 - self.amount) * expected + self.amount * taught)

    def at(self, rows: Rows, keys: NDArray[np.str_], lookups: Mapping[int, Lookup]) -> tuple[Rows, FloatArray]:
        """Complete later rows, which come without references, and say what is expected of them."""
        complete = rows.with_references(self.imputation.at(rows, rows.scores[:, 0], keys, lookups))
        return complete, self.expect(complete)

    def check(self) -> None:
        """Refuse values that do not fit together."""
        if self.weights.shape != (len(self.imputation.numbers),) or not np.isfinite(self.weights).all():
            raise ValueError("the weights of the consensus do not fit the references")
        if not (0 <= self.trust <= 1 and 0 <= self.amount <= 1):
            raise ValueError("a share is out of range")
        if self.lesson is not None and self.lesson.weights.shape[1:] != (1,):
            raise ValueError("the labels taught more than one function")


@dataclass(frozen=True, eq=False)
class Taught:
    """What was learned of the fitted rows.

    Attributes
    ----------
    teaching : Teaching
    learned : (n,) array
        Standardised.
    held_out : (n,) array
        The same, but every row that taught has what it would have without its own label and those near it, and without
        labels every pair what it would have without itself. The diffusion starts from these, so that what the labels
        measure afterwards is not what they taught.
    variances : (n,) array or None
        Of what the labels taught, held out likewise; None without labels.
    """

    teaching: Teaching
    learned: FloatArray
    held_out: FloatArray
    variances: FloatArray | None

    @classmethod
    def of(
        cls,
        rows: Rows,
        likeness: Likeness,
        imputed: Imputed,
        agreement: Agreement,
        score: Score | None,
        seed: int,
        variances: FloatArray | None = None,
    ) -> Taught:
        """Teach.

        Parameters
        ----------
        rows : Rows
            The fitted rows, with references.
        likeness : Likeness
            Of ``rows``.
        imputed : Imputed
        agreement : Agreement
        score : Score or None
            The labels.
        seed : int
        variances : array, optional
            Of the parts of the lesson and of the noise, if they are known.
        """
        own, half = rows.scores[:, 0], agreement.trust / 2.0
        consensus = imputed.values @ agreement.weights
        level = Standard.of(consensus) if len(agreement.weights) else Standard(0.0, np.inf)
        mean = (1.0 - half) * own + half * level.apply(consensus)
        at_pairs = (1.0 - half) * own + half * level.apply(imputed.held_out @ agreement.weights)
        expecting = Standard.of(mean)
        expected, held_out = expecting.apply(mean), expecting.apply(at_pairs)
        plain = Standard(0.0, 1.0)
        teaching = Teaching(
            imputed.imputation, agreement.weights, agreement.trust, None, 0.0, level, expecting, plain, plain
        )
        before = cls(teaching, expected, held_out, None)
        return before if score is None else before.by_labels(rows, likeness, score, seed, variances)

    def by_labels(
        self, rows: Rows, likeness: Likeness, score: Score, seed: int, variances: FloatArray | None
    ) -> Taught:
        """Add what labels teach to what was expected without them; parameters as in `of`."""
        expected = self.learned
        labelled, targets, contrasts = observations(score, seed)
        near = near_labels(likeness, rows, labelled, generator(seed, Stream.DISTANCES))
        found = learn(
            likeness, rows.take(labelled), expected[labelled], targets[:, None], near, contrasts, variances=variances
        )
        raw, spread = found.lesson.predict(rows, expected)[:, 0], found.lesson.variance(rows, expected)
        taught = Standard.of(raw)
        amount = _amount(len(labelled), len(targets))
        if contrasts is None:
            amount = _confirmed(amount, expected[labelled], taught.apply(found.held_out[:, 0]), targets)
        teaching = replace(self.teaching, lesson=found.lesson, amount=amount, taught=taught)
        mixed = teaching.mix(expected, taught.apply(raw))
        level = Standard.of(mixed)
        raw[labelled], spread[labelled] = found.held_out[:, 0], found.held_out_variances
        unseen = teaching.mix(expected, taught.apply(raw))
        return Taught(replace(teaching, learned=level), level.apply(mixed), level.apply(unseen), spread)


def _amount(rows: int, observed: int) -> float:
    """The share of a lesson in what is learned, before it is tried on held-out labels."""
    count = min(rows, observed)
    return count / (count + EQUAL_LABELS)


def _confirmed(amount: float, expected: FloatArray, held_out: FloatArray, targets: FloatArray) -> float:
    """The share of a lesson that held-out labels (l,) confirm.

    Least squares of the targets on what was expected and on what the lesson changed gives the share, with its
    standard error. The share before counts as one more measurement.
    """
    design = np.column_stack([np.ones(len(targets)), expected, held_out - expected])
    if len(targets) <= design.shape[1] + 1:
        return amount
    inverse = np.linalg.pinv(design.T @ design)
    slopes = inverse @ design.T @ targets
    noise = float(np.mean((targets - design @ slopes) ** 2)) * len(targets) / (len(targets) - design.shape[1])
    if slopes[1] <= 0:
        return amount
    share = slopes[2] / slopes[1]
    gradient = np.array([0.0, -share, 1.0]) / slopes[1]
    variance = noise * float(gradient @ inverse @ gradient)
    trusted = PRIOR_DEVIATION**2 / (PRIOR_DEVIATION**2 + variance)
    return float(np.clip(amount + trusted * (share - amount), 0.0, 1.0))


def observations(score: Score, seed: int) -> tuple[IndexArray, FloatArray, FloatArray | None]:
    """The rows that teach, their observations, and the contrasts these are of; a sample if there are too many."""
    targets, contrasts = score.observations(), score.contrasts()
    if len(targets) <= MOST_TAUGHT:
        return score.rows, targets, contrasts
    drawn = np.sort(generator(seed, Stream.TEACHING).choice(len(targets), MOST_TAUGHT, replace=False))
    if contrasts is None:
        return score.rows[drawn], targets[drawn], None
    used = np.flatnonzero(contrasts[drawn].any(axis=0))
    return score.rows[used], targets[drawn], contrasts[np.ix_(drawn, used)]
