"""Teaching: what the labels, and the references' consensus, say of every main row before the diffusion starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from manifuse.diffusion.randomness import Stream, generator
from manifuse.evidence.imputed import Imputation, Imputed
from manifuse.evidence.lesson import Lesson, learn
from manifuse.evidence.likeness import Likeness, Rows
from manifuse.evidence.nearness import near_labels
from manifuse.evidence.score import Score
from manifuse.evidence.standard import Standard, mixed
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.records import Saved

#: So many labels count as much as what was known before them.
EQUAL_LABELS = 50

#: How far the share of a lesson may be from that; standard deviation.
PRIOR_DEVIATION = 0.3

#: At most so many observations teach; more would need too large a matrix.
MOST_TAUGHT = 2000


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

    @property
    def teacher(self) -> str:
        """Who taught, in a sentence that goes on with "puts it at"."""
        return "what the references expect" if self.lesson is None else "what the labels taught"

    def expect(self, rows: Rows) -> FloatArray:
        """What is expected of rows (q) without labels: own scores, and the consensus as far as it is trusted."""
        consensus = self.consensus.apply(rows.references @ self.weights)
        return self.expected.apply(mixed(self.trust / 2.0, rows.scores[:, 0], consensus))

    def learn(self, rows: Rows, expected: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """What is learned of rows (q), standardised by the fitted rows, and the variance of the lesson."""
        if self.lesson is None:
            return expected, None
        values, variances = self.lesson.predict_with_variance(rows, expected)
        return self.learned.apply(mixed(self.amount, expected, self.taught.apply(values[:, 0]))), variances

    def at(self, rows: Rows, looked_up: Mapping[int, tuple[FloatArray, FloatArray]]) -> tuple[Rows, FloatArray]:
        """Complete later rows, which come without references, and say what is expected of them."""
        complete = rows.with_references(self.imputation.at(rows, rows.scores[:, 0], looked_up))
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
class Labels:
    """What labels tell, as a lesson takes it.

    Attributes
    ----------
    rows : (l,) array of int
        The labelled rows.
    targets : (p,) array
        Observations, of about variance 1.
    contrasts : (p, l) array or None
        The sum of rows' values that each observation is of; None if it is the value of its row.
    near : sequence of l arrays of int
        The labels that a labelled row must not see when it is held out; its own comes first.
    """

    rows: IndexArray
    targets: FloatArray
    contrasts: FloatArray | None
    near: Sequence[IndexArray]

    @classmethod
    def of(cls, score: Score, rows: Rows, likeness: Likeness, keys: NDArray[np.str_], seed: int) -> Self:
        """Read the labels of a score for rows with ids ``keys`` (n,); if there are too many, a sample of them."""
        labelled, targets = score.rows, score.observations()
        if len(targets) <= MOST_TAUGHT:
            contrasts = score.contrasts()
        else:
            drawn = np.sort(generator(seed, Stream.TEACHING).choice(len(targets), MOST_TAUGHT, replace=False))
            contrasts = score.contrasts(drawn)
            kept = drawn if contrasts is None else np.flatnonzero(contrasts.any(axis=0))
            labelled, targets = labelled[kept], targets[drawn]
            contrasts = None if contrasts is None else contrasts[:, kept]
        near = near_labels(likeness, rows, labelled, keys, generator(seed, Stream.DISTANCES))
        return cls(labelled, targets, contrasts, near)

    def alone(self) -> Labels:
        """Return the same labels for a table of the labelled rows alone."""
        return replace(self, rows=np.arange(len(self.rows)))


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
        Of what the labels taught; None without labels.
    held_out_variances : (n,) array or None
        The same, held out likewise.
    """

    teaching: Teaching
    learned: FloatArray
    held_out: FloatArray
    variances: FloatArray | None
    held_out_variances: FloatArray | None

    @classmethod
    def of(
        cls,
        rows: Rows,
        likeness: Likeness,
        imputed: Imputed,
        weights: FloatArray,
        trust: float,
        labels: Labels | None,
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
        weights : (m,) array
            Of the references in their consensus.
        trust : float
            How far the consensus is followed, in [0, 1].
        labels : Labels or None
        variances : array, optional
            Of the parts of the lesson and of the noise, if they are known.
        """
        own, consensus = rows.scores[:, 0], imputed.values @ weights
        level = Standard.of(consensus) if weights.any() else Standard(0.0, np.inf)
        mean = mixed(trust / 2.0, own, level.apply(consensus))
        at_pairs = mixed(trust / 2.0, own, level.apply(imputed.held_out @ weights))
        expecting, plain = Standard.of(mean), Standard(0.0, 1.0)
        teaching = Teaching(imputed.imputation, weights, trust, None, 0.0, level, expecting, plain, plain)
        before = cls(teaching, expecting.apply(mean), expecting.apply(at_pairs), None, None)
        return before if labels is None else before.by_labels(rows, likeness, labels, variances)

    def by_labels(self, rows: Rows, likeness: Likeness, labels: Labels, known: FloatArray | None) -> Taught:
        """Add what labels teach to what was expected without them; ``known`` are the variances of `of`."""
        expected, labelled, targets = self.learned, labels.rows, labels.targets
        found = learn(
            likeness,
            rows.take(labelled),
            expected[labelled],
            targets[:, None],
            labels.near,
            labels.contrasts,
            variances=known,
        )
        values, variances = found.lesson.predict_with_variance(rows, expected)
        raw, taught = values[:, 0], Standard.of(values[:, 0])
        amount = _amount(len(labelled), len(targets))
        if labels.contrasts is None:
            amount = _confirmed(amount, expected[labelled], taught.apply(found.held_out[:, 0]), targets)
        teaching = replace(self.teaching, lesson=found.lesson, amount=amount, taught=taught)
        both = mixed(amount, expected, taught.apply(raw))
        level = Standard.of(both)
        raw[labelled] = found.held_out[:, 0]
        unseen = mixed(amount, expected, taught.apply(raw))
        apart = variances.copy()
        apart[labelled] = found.held_out_variances
        return Taught(replace(teaching, learned=level), level.apply(both), level.apply(unseen), variances, apart)


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
