"""Spoken: which classes, and which directions of log-ratios, the references can speak of.

The other classes keep the probability that own scores give them. A reference that is one score beside three classes
or more, or that tells coarser classes apart, is turned into log-ratios of the main predictor (see `Turning`). These
lie in fewer directions than own log-ratios do. In all other directions the reference is silent, and must not count as
if it said that rows are alike.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from manifuse.kernels.arrays import BoolArray, FloatArray
from manifuse.tables.classes import Classes, replace_classes
from manifuse.tables.level import Level
from manifuse.tables.problem import Problem, Reference

#: A reference can speak of a class if its pairs have enough of it. Compared with the mean own probability of the class
#: at all rows, the mean own probability at the pairs must be at least the first share, and the mean probability by the
#: reference at least the second. The second is smaller because own scores may hardly tell classes apart.
LEAST_COVERED, LEAST_SAID = 0.5, 0.2

#: Probabilities below this are taken as this, so that logarithms are finite.
TINY = 1e-200

#: The log-odds of fewer classes than this are one score, which pairs of one class show, too.
FEWEST_CLASSES = 3

#: This share of the mean variance of own log-ratios is added to their variance in every direction, because they may
#: hardly vary in some.
LEAST_VARIANCE = 0.1


@dataclass(frozen=True, eq=False)
class CoveredClasses:
    """Which of k classes each reference can speak of: those that it knows and that its pairs cover.

    A reference that knows three classes out of six names one of these three for every row. So does what is learned
    from pairs of three classes.

    Attributes
    ----------
    classes : Classes
        Of the main predictor.
    units : Level
        Of its log-ratios.
    of_references : (m, k) array of bool
    """

    classes: Classes
    units: Level
    of_references: BoolArray

    @classmethod
    def of(cls, problem: Problem, references: Mapping[int, Reference]) -> Self | None:
        """Find the classes of the references that take part, by their numbers; None if there are fewer than three."""
        classes = problem.main.classes
        if classes is None or len(classes) < FEWEST_CLASSES:
            return None
        probabilities = np.exp(classes.logarithms(problem.main.scores))
        usual, covered = probabilities.mean(axis=0), np.ones((len(references), len(classes)), dtype=bool)
        for row, reference in zip(covered, references.values(), strict=True):
            row &= probabilities[reference.main_rows].mean(axis=0) >= LEAST_COVERED * usual
            row &= _said(reference, classes, usual) >= LEAST_SAID * usual
        return cls(classes, problem.units, covered)

    def by(self, pulls: FloatArray) -> BoolArray:
        """Whether a reference that is followed can speak of each class (k,); true if none is followed."""
        followed = self.of_references[pulls != 0]
        return followed.any(axis=0) if len(followed) else np.ones(len(self.classes), dtype=bool)

    def names_of_others(self, pulls: FloatArray) -> tuple[str, ...]:
        """The classes that no reference that is followed can speak of."""
        return tuple(name for name, covered in zip(self.classes.names, self.by(pulls), strict=True) if not covered)

    def keep_others(self, values: FloatArray, own: FloatArray, pulls: FloatArray) -> FloatArray:
        """Give the classes that no reference speaks of their own probability.

        Parameters
        ----------
        values, own : (q, c) array
            Standardised log-ratios that follow the references, and own ones.
        pulls : (m,) array
        """
        covered = self.by(pulls)
        if covered.all():
            return values
        said, had = (np.exp(self.classes.logarithms(self.units.undo(each))) for each in (values, own))
        # Decision values may be so far apart that a probability is 0.
        kept = np.maximum(replace_classes(had, np.maximum(said, TINY), covered), TINY)
        return self.units.apply(self.classes.log_ratios(np.log(kept)))


def _said(reference: Reference, classes: Classes, usual: FloatArray) -> FloatArray:
    """Mean probability of each class by a reference at its pairs (k,).

    Classes that it does not know share what it says of further classes, which may be parts of them, by their ``usual``
    probabilities (k,).
    """
    theirs = reference.table.classes
    places = None if theirs is None else theirs.places_of(classes.names)
    # With fewer than two in common, its columns are turned as the pairs say, and speak of all classes.
    if theirs is None or places is None or (places >= 0).sum() < 2:
        return np.ones(len(classes))
    means = np.exp(theirs.logarithms(reference.table.scores[reference.reference_rows])).mean(axis=0)
    unknown = np.where(places >= 0, 0.0, usual)
    further = means.sum() - means[places[places >= 0]].sum()
    return np.asarray(np.where(places >= 0, means[places], further * unknown / max(unknown.sum(), TINY)))


@dataclass(frozen=True, eq=False)
class SpokenDirections:
    """What of c log-ratios each reference speaks of.

    Attributes
    ----------
    projections : (m, c, c) array
        Project log-ratios (q, c), from the left, on the directions of a reference. Of own scores, what a projection
        takes away does not correlate with what it leaves.
    shares : (m,) array
        How far own scores vary there, by their norms; 1 in all directions. A reference counts as if it varied as far.
    """

    projections: FloatArray
    shares: FloatArray

    @classmethod
    def of(cls, own: FloatArray, references: Mapping[int, Reference]) -> Self | None:
        """Find the directions of references by own scores (n, c) about their mean; None if all speak of all."""
        width = own.shape[1]
        every = np.eye(width)
        matrices = [every if each.turning is None else each.turning.matrix for each in references.values()]
        if width == 1 or all(len(matrix) >= width for matrix in matrices):
            return None
        variance = np.cov(own.T)
        inverse = np.linalg.inv(variance + LEAST_VARIANCE * np.trace(variance) / width * every)
        projections = np.array([_projection(matrix, inverse) for matrix in matrices])
        return cls(projections, np.linalg.norm(own @ projections, axis=(1, 2)) / np.linalg.norm(own))

    def added(self, own: FloatArray, references: FloatArray, pulls: FloatArray) -> FloatArray:
        """Mix own scores (q, c) and centred ones of references (q, m, c): in each direction, those that speak of it.

        A reference counts its pull (m,), where own scores count 1.
        """
        total = own + np.einsum("qmc,m->qc", references, pulls * self.shares)
        counts = np.eye(own.shape[1]) + np.einsum("mcd,m->cd", self.projections, pulls)
        return np.asarray(total @ np.linalg.inv(counts))


def _projection(matrix: FloatArray, inverse: FloatArray) -> FloatArray:
    """The projection (c, c) on the rows of a matrix (c', c) with orthonormal rows or columns.

    ``inverse`` (c, c) is that of the variance.
    """
    if len(matrix) >= matrix.shape[1]:
        return np.eye(matrix.shape[1])
    return np.asarray(inverse @ matrix.T @ np.linalg.inv(matrix @ inverse @ matrix.T) @ matrix)
