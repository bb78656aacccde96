"""Worth: what is lost at held-out labels without a reference, or without all of them.

Without all references, labels teach anew what they would teach without them. Without one of several, what is expected
and what labels teach are computed again from those that are left, with the variances that were found with all of them.
Both sides of a comparison leave out the diffusion.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from manifuse.columns.all_columns import RunInputs, RunOutputs
from manifuse.columns.column import FittedViews, Mixed, mixed
from manifuse.columns.held_labels import Labels
from manifuse.columns.learned import Taught, teach
from manifuse.columns.lesson import DECIDING, learn
from manifuse.columns.probable import Calibrated
from manifuse.columns.scored import HeldOutScores, in_units
from manifuse.columns.view import View
from manifuse.evidence.class_score import LogLoss
from manifuse.evidence.gain import Gain
from manifuse.kernels.arrays import FloatArray, drawn
from manifuse.tables.level import Level


def worths_by_labels(
    given: RunInputs, found: RunOutputs, held_out: HeldOutScores
) -> tuple[Mapping[int, Gain], Gain | None]:
    """What is lost without each reference, by its number, and without all of them."""
    numbers = tuple(given.taking_part)
    if not numbers or found.labels is None or found.taught is None:
        return {}, None
    count = len(found.labels.score.observations())
    labels = found.labels if count <= DECIDING else found.labels.only(drawn(count, DECIDING))
    everything = tuple(range(len(numbers)))
    trials = found.views.trials["taught"]
    if labels is not found.labels:
        trials = _taught_by(found, found.taught, labels, everything)
    # Both are calibrated without the labels of a fold, because each has a calibration of its own.
    taught = _held_out(given, found.taught.mixture, trials, labels)
    alone = labels.score.gain(_without_references(given, found, labels), taught, labels.folds)
    if alone.is_of_few:
        # Few labels tell nothing of single references.
        return {}, alone
    if len(numbers) == 1:
        return {numbers[0]: alone}, alone
    kept = (everything, *(everything[:column] + everything[column + 1 :] for column in everything))
    whole, *others = (in_units(held_out.scored.last, _taught_by(found, found.taught, labels, each)) for each in kept)
    losses = (labels.score.gain(without, whole, labels.folds) for without in others)
    return dict(zip(numbers, losses, strict=True)), alone


def _without_references(given: RunInputs, found: RunOutputs, labels: Labels) -> FloatArray:
    """What would be found at labelled rows (r, l, ...) if there were no references, each without its fold."""
    problem, score, beyond = given.problem, labels.score, "expected"
    views = FittedViews(_own_alone(found.views.fitted), _own_alone(found.views.held_out))
    if isinstance(score, LogLoss):
        beyond = "calibrated"
        views = views.compute("calibrated", Calibrated.of(views.held_out, "expected", score, problem.units))
    taught, views = teach(views, labels, given.measured, problem.main.name, "expected", beyond)
    return _held_out(given, taught.mixture, views.trials["taught"], labels)


def _held_out(given: RunInputs, mixture: Mixed, trials: FloatArray, labels: Labels) -> FloatArray:
    """What was taught of labelled rows (r, l, ...), in units, each without the labels of its fold."""
    own = given.problem.main.scores[labels.score.rows]
    return HeldOutScores.of(given.problem.units, own, trials, labels, mixture).values


def _own_alone(rows: View) -> View:
    """The same rows without references: own scores are what is expected."""
    none = np.empty((len(rows), 0, rows["own"].shape[1]))
    columns = {"references": none, "imputed": none, "expected": rows["own"], "imputed expected": rows["own"]}
    return replace(rows, columns={**rows.columns, **columns})


def _taught_by(found: RunOutputs, taught: Taught, labels: Labels, kept: Sequence[int]) -> FloatArray:
    """What would be taught of the labelled rows (r, l, c), by the references ``kept`` and without the others."""
    columns, score = found.columns, labels.score
    (learned, mixture, _), expectation = taught, columns.expected
    pulls = np.where(np.isin(np.arange(len(expectation.pulls)), kept), expectation.pulls, 0.0)
    rows = found.views.held_out.take(score.rows)
    expected = expectation.with_pulls(found.views.held_out, pulls).at(rows)
    some = rows.with_column("references", rows["references"][:, list(kept)])
    covariance = learned.lesson.covariance.of_some(len(kept) / len(pulls))
    variances = learned.lesson.variances
    lesson = learn(covariance, some, score.observations(), expected, score.contrasts(), variances)
    beyond = expected if columns.calibrated is None else columns.calibrated.calibrate(expected)
    values = [lesson.without(labels.folds.rows(trial), unseen)[0] for trial, unseen in enumerate(labels.unseen)]
    made = mixed(beyond, learned.level.apply(np.array(values)), mixture.share)
    return made if isinstance(mixture.level, Level) else mixture.level.apply(made)
