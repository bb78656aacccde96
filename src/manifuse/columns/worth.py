"""Worth: what is lost at held-out labels without a reference, or without all of them.

Without all references, labels teach anew what they would teach without them. Without one of several, what is expected
and what labels teach are computed again from those that are left, with the variances that were found with all of them.
Both sides of a comparison leave out the diffusion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from manifuse.columns.all_columns import RunInputs, RunOutputs
from manifuse.columns.column import FittedViews, Mixed
from manifuse.columns.covariance import OF_REFERENCES, Covariance
from manifuse.columns.expected import Expected
from manifuse.columns.held_labels import Labels
from manifuse.columns.learned import Learned, teach
from manifuse.columns.lesson import DECIDING, FLAT
from manifuse.columns.probable import Calibrated
from manifuse.columns.scored import HeldOutScores
from manifuse.columns.view import View
from manifuse.evidence.class_score import LogLoss
from manifuse.evidence.gain import Gain
from manifuse.kernels.arrays import FloatArray, drawn
from manifuse.kernels.gaussian_process import predict_without
from manifuse.tables.level import Level


def worths_by_labels(
    given: RunInputs, found: RunOutputs, honest: HeldOutScores
) -> tuple[Mapping[int, Gain], Gain | None]:
    """What is lost without each reference, by its number, and without all of them."""
    numbers = tuple(given.taking_part)
    if not numbers or found.labels is None or found.columns.learned is None or found.columns.taught is None:
        return {}, None
    count = len(found.labels.score.observations())
    labels = found.labels if count <= DECIDING else found.labels.only(drawn(count, DECIDING))
    anew = _Anew(found, found.columns.learned, labels, found.columns.taught)
    everything = tuple(range(len(numbers)))
    whole = honest.scored.found(anew.taught(everything))

    def loss(kept: Sequence[int]) -> Gain:
        return labels.score.gain(honest.scored.found(anew.taught(kept)), whole, labels.folds)

    trials = found.known.trials["taught"] if labels is found.labels else anew.taught(everything)
    # Both are calibrated without the labels of a fold, because each has a calibration of its own.
    taught = _held_out(given, found.columns.taught, trials, labels)
    alone = labels.score.gain(_without_references(given, found, labels), taught, labels.folds)
    if len(numbers) == 1:
        return {numbers[0]: alone}, alone
    each = {number: loss(everything[:column] + everything[column + 1 :]) for column, number in enumerate(numbers)}
    return each, alone


def _without_references(given: RunInputs, found: RunOutputs, labels: Labels) -> FloatArray:
    """What would be found at labelled rows (r, l, ...) if there were no references, each without its fold."""
    problem, score, beyond = given.problem, labels.score, "expected"
    known = FittedViews(_own_alone(found.known.fitted), _own_alone(found.known.held_out))
    if isinstance(score, LogLoss):
        beyond = "calibrated"
        _, known = Calibrated.of(known, "expected", score, problem.units)
    _, taught, known, *_ = teach(known, labels, given.measured, problem.main.name, "expected", beyond)
    return _held_out(given, taught, known.trials["taught"], labels)


def _held_out(given: RunInputs, taught: Mixed, trials: FloatArray, labels: Labels) -> FloatArray:
    """What was taught of labelled rows (r, l, ...), in units, each without the labels of its fold."""
    own = given.problem.main.scores[labels.score.rows]
    return HeldOutScores.of(given.problem.units, own, trials, labels, taught).values


def _own_alone(rows: View) -> View:
    """The same rows without references: own scores are what is expected."""
    none = np.empty((len(rows), 0, rows["own"].shape[1]))
    columns = {"references": none, "imputed": none, "expected": rows["own"], "imputed expected": rows["own"]}
    return replace(rows, columns={**rows.columns, **columns})


@dataclass(frozen=True, eq=False)
class _Anew:
    """What would be known of held-out labelled rows from some of the references alone.

    Attributes
    ----------
    found : RunOutputs
    learned : Learned
    labels : Labels
        At most `DECIDING` observations.
    mixed : Mixed
        Of what was expected and learned.
    """

    found: RunOutputs
    learned: Learned
    labels: Labels
    mixed: Mixed

    @cached_property
    def _rows(self) -> View:
        return self.found.known.held_out.take(self.labels.score.rows)

    @cached_property
    def _fixed(self) -> FloatArray:
        """What does not read references, of the covariance of the labelled rows (l, l)."""
        lesson = self.learned.lesson
        covariance = Covariance(tuple(part for part in lesson.covariance.parts if part.source != OF_REFERENCES))
        points = covariance.points(self._rows)
        return covariance.between(points, points, lesson.variances[: covariance.count])

    def _covariance(self, kept: Sequence[int]) -> FloatArray:
        """Of the labelled rows (l, l), by the references ``kept`` and without the others."""
        lesson, scores = self.learned.lesson, self._rows["references"]
        # Products and squared distances grow with the number of references, and so do their units.
        share = len(kept) / scores.shape[1]
        parts = [part for part in lesson.covariance.parts if part.source == OF_REFERENCES]
        if not parts or not share:
            return self._fixed
        covariance = Covariance(tuple(replace(part, unit=share * part.unit) for part in parts))
        points = covariance.points(self._rows.with_column("references", scores[:, list(kept)]))
        return self._fixed + covariance.between(points, points, lesson.variances[-1 - covariance.count : -1])

    def _expected(self, kept: Sequence[int]) -> FloatArray:
        """What would be expected of the labelled rows (l, c)."""
        column = self.found.columns.expected
        left = np.where(np.isin(np.arange(len(column.pulls)), kept), column.pulls, 0.0)
        return Expected.measured(self.found.known.held_out, left, column.covered).at(self._rows)

    def taught(self, kept: Sequence[int]) -> FloatArray:
        """What would be taught of the labelled rows (r, l, c), by the references ``kept``."""
        score, expected = self.labels.score, self._expected(kept)
        crossing = self._covariance(kept) + FLAT * (1.0 + expected @ expected.T)
        prior, observed, contrasts = np.diag(crossing), crossing, score.contrasts()
        if contrasts is not None:
            observed, crossing = contrasts @ crossing @ contrasts.T, crossing @ contrasts.T
        noise = self.learned.lesson.variances[-1]
        inverse = np.linalg.inv(observed + noise * np.eye(len(observed)))
        calibrated = self.found.columns.calibrated
        beyond = expected if calibrated is None else calibrated.calibrate(expected)
        targets, made = score.observations(), []
        for trial, unseen in enumerate(self.labels.unseen):
            folds = self.labels.folds.rows(trial)
            values, _ = predict_without(inverse, targets, crossing, prior.copy(), folds, unseen)
            made.append(self.mixed.mix(beyond, self.learned.level.apply(values)))
        mixed = np.array(made)
        return mixed if isinstance(self.mixed.level, Level) else self.mixed.level.apply(mixed)
