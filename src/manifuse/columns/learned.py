"""Learned: what labels teach of every row, beyond what was expected of it."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from manifuse.columns.column import Column, FittedViews, Mixed, mixed
from manifuse.columns.confirmed_shares import left_at_pairs, measured_share
from manifuse.columns.covariance import OF_FEATURES, Covariance
from manifuse.columns.held_labels import Labels
from manifuse.columns.lesson import NUMBERS, Lesson, RefittableLesson, learn
from manifuse.columns.probable import ProbabilityMap
from manifuse.columns.reference_measurements import Heard
from manifuse.columns.view import LogRatios, View
from manifuse.evidence.class_score import LogLoss
from manifuse.kernels.arrays import FloatArray, IndexArray
from manifuse.kernels.nearest import squared_distances_to
from manifuse.tables.level import Level

#: So many labels count as much as what was known before them.
EQUAL_LABELS = 50

#: Labels teach in full up to the distance within which this share of labelled rows has another label, and nothing
#: beyond twice that distance. The second number holds if the labelled rows are not like the rest.
REACHING, REACHING_UNLIKE = 0.99, 0.5


@dataclass(frozen=True, eq=False)
class Learned(Column):
    """What labels teach of a row.

    Attributes
    ----------
    lesson : Lesson
    level : Level or ProbabilityMap
        Of what the lesson says; of classes, how it becomes probabilities.
    reach : float
        Squared distance to the next label up to which labels teach; infinite without features.
    source : str
        The column that the lesson takes for what is expected.
    beyond : str
        The column that rows go back to where no label is near.
    at_pairs : float
        At rows that a reference knows itself, the share of the learned values that is kept, in [0, 1]; the rest is
        the column ``beyond``.
    heard : Heard or None
        Of scores: what references say of rows that they know themselves. The lesson reads imputed scores then.
    reads_imputed : bool
        Whether a lesson of classes does so, too, because labels are better predicted at such rows.
    """

    lesson: Lesson
    level: Level | ProbabilityMap
    reach: float
    source: str
    beyond: str
    at_pairs: float = 1.0
    heard: Heard | None = None
    reads_imputed: bool = False

    def add_to(self, rows: View, name: str) -> View:
        """Add the values, and the "variance" of truths about them; see `Column.add_to`."""
        values, variances = self.with_variance(rows)
        return rows.with_column(name, values).with_column("variance", variances)

    def with_variance(self, rows: View) -> tuple[FloatArray, FloatArray]:
        """Values (q, c), and the variance of a truth about the lesson (q,): that of the value, and of the noise."""
        values, variances = self.corrected(rows, *self.lesson.predict(*self.read(rows)))
        return self.fade(rows, self.level.apply(values)), variances + self.lesson.noise

    def read(self, rows: View) -> tuple[View, FloatArray]:
        """What the lesson reads of rows: their columns, and what was expected of them."""
        if self.heard is None and not self.reads_imputed:
            return rows, rows[self.source]
        # Of what was diffused, there is no form from imputed scores.
        imputed = f"imputed {self.source}"
        expected = rows[imputed if imputed in rows.columns else self.source]
        return rows.with_column("references", rows["imputed"]), expected

    def corrected(self, rows: View, values: FloatArray, variances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Correct what the lesson says of rows by what references say of them themselves."""
        return (values, variances) if self.heard is None else self.heard.correct(rows, values, variances)

    def fade(self, rows: View, values: FloatArray) -> FloatArray:
        """Go back to what is expected where no label is near, and in part at rows that a reference knows."""
        if isinstance(self.level, ProbabilityMap):
            values = self.level.keep_untaught(values, rows[self.beyond])
        if self.at_pairs < 1:
            values = mixed(values, rows[self.beyond], (1.0 - self.at_pairs) * rows["known itself"][:, None])
        if not np.isfinite(self.reach):
            return values
        return mixed(rows[self.beyond], values, self.nearness(rows)[:, None])

    def nearness(self, rows: View) -> FloatArray:
        """The share that is left of what labels teach of rows, by their distance to the next label (q,)."""
        shares, size = np.empty(len(rows)), max(1, NUMBERS // len(self.lesson.points[OF_FEATURES]))
        for block in (slice(first, first + size) for first in range(0, len(rows), size)):
            scaled = self.lesson.covariance.parts[OF_FEATURES].points(rows.take(block))
            nearest = np.sqrt(squared_distances_to(scaled, self.lesson.points[OF_FEATURES]).min(axis=1) / self.reach)
            shares[block] = np.clip(2.0 - nearest, 0.0, 1.0)
        return shares


class Taught(NamedTuple):
    """What labels taught.

    Attributes
    ----------
    learned : Learned
    mixture : Mixed
        Of what was expected and learned, by a share that held-out labels confirm.
    lesson : RefittableLesson
        What it takes to hold labels out.
    """

    learned: Learned
    mixture: Mixed
    lesson: RefittableLesson


def teach(
    views: FittedViews,
    labels: Labels,
    measured: IndexArray,
    name: str,
    source: str,
    beyond: str,
) -> tuple[Taught, FittedViews]:
    """Add the columns "learned", "variance" and "taught".

    Parameters
    ----------
    views : FittedViews
        With what is expected.
    labels : Labels
    measured, name
        As of `Covariance.of`.
    source, beyond : str
        As of `Learned`.

    Returns
    -------
    taught : Taught
    views : FittedViews
    """
    score = labels.score
    covariance = Covariance.of(views.held_out, measured, name)
    rows = views.held_out.take(score.rows)
    targets = score.observations()
    lesson = learn(covariance, rows, targets, rows[source], score.contrasts())
    raw, doubts = lesson.lesson.predict(views.held_out, views.held_out[source])
    column = _column_of(lesson.lesson, labels, views.held_out, raw, source, beyond)
    # Labels are held out from a lesson that hears no own scores of references, because most rows have none.
    trials, variances = _without_folds(column, lesson, labels, rows)
    share, shares = _confirmed(labels, rows[beyond], trials, targets)
    column = _with_references(column, lesson, labels, views.fitted, raw, doubts, share)
    held_out = column.fade(views.held_out, column.level.apply(raw))
    fitted, doubts = column.with_variance(views.fitted)
    # What was known before has seen no label, so it is the same in all trials.
    views = replace(views, trials={beyond: rows[beyond][None]})
    views = views.add("learned", fitted, held_out, trials).add("variance", doubts, trials=variances)
    level_of = partial(LogRatios.of, score.classes) if isinstance(score, LogLoss) else Level.of
    mixture, views = views.mix("taught", beyond, "learned", share, shares, level_of)
    return Taught(column, mixture, lesson), views


def _column_of(lesson: Lesson, labels: Labels, held_out: View, raw: FloatArray, source: str, beyond: str) -> Learned:
    """Level what a lesson says of the rows (n, c), and let it fade."""
    score, like_rest = labels.score, labels.representative.like_rest
    reach = _reach(lesson, REACHING if like_rest else REACHING_UNLIKE)
    if isinstance(score, LogLoss):
        classes, taught = score.classes, np.isin(np.arange(len(score.classes)), score.truth)
        return Learned(lesson, ProbabilityMap(classes, Level.of(score.coordinates()), taught), reach, source, beyond)
    column = Learned(lesson, Level.of(raw), reach, source, beyond)
    if like_rest or not np.isfinite(reach):
        return column
    near = column.nearness(held_out) > 0
    return replace(column, level=_level_there(raw[near], held_out[beyond][near]))


def _with_references(
    column: Learned,
    lesson: RefittableLesson,
    labels: Labels,
    rows: View,
    raw: FloatArray,
    doubts: FloatArray,
    share: float,
) -> Learned:
    """Let the column hear what references say of rows that they know themselves.

    Their scores correct what the lesson says (``raw``, with variances ``doubts``). Labels at such rows say how much of
    its ``share`` is kept there. A lesson of classes reads imputed probabilities there, if labels are certainly better
    predicted so.
    """
    score, there, said = labels.score, rows.take(labels.score.rows), []
    if not isinstance(score, LogLoss):
        column = replace(column, heard=Heard.of(rows, raw, doubts))
    if share == 0 or score.contrasts() is not None or not there["known itself"].any():
        return column
    for reads_imputed in (False, True) if isinstance(score, LogLoss) else (False,):
        reader = replace(column, reads_imputed=reads_imputed)
        seen, _ = _without_folds(reader, lesson.seen_as(*reader.read(there)), labels, there)
        left = left_at_pairs(there, column.beyond, seen, score.observations(), share, score.evenness)
        said.append((replace(reader, at_pairs=left), seen))
    is_better = isinstance(score, LogLoss) and _is_certainly_better(score, there, said, share)
    return said[1 if is_better else 0][0]


def _is_certainly_better(score: LogLoss, there: View, said: list[tuple[Learned, FloatArray]], share: float) -> bool:
    """Whether the second of two lessons certainly predicts labels of rows better that a reference knows."""
    pairs = np.flatnonzero(there["known itself"])
    before, after = (
        score.log_ratios(mixed(there[column.beyond][pairs], seen[:, pairs], share * column.at_pairs))
        for column, seen in said
    )
    known = score.only(pairs)
    return known is not None and known.gain(before, after).is_certain


def _without_folds(
    column: Learned, lesson: RefittableLesson, labels: Labels, rows: View
) -> tuple[FloatArray, FloatArray]:
    """What a lesson says of labelled rows without their fold (r, l, c), and the variance of a truth (r, l)."""
    folds = (labels.folds.rows(trial) for trial in range(len(labels.unseen)))
    each = [column.corrected(rows, *lesson.without(*given)) for given in zip(folds, labels.unseen, strict=True)]
    values = np.array([column.level.apply(values) for values, _ in each])
    if isinstance(column.level, ProbabilityMap):
        values = column.level.keep_untaught(values, rows[column.beyond])
    return values, np.array([doubt for _, doubt in each]) + lesson.lesson.noise


def _level_there(learned: FloatArray, before: FloatArray) -> Level:
    """The level of what labels teach of rows (q, 1) that keeps the mean and the deviation that they had before.

    Labels that are not like the rest say nothing of how rows near them compare with other rows.
    """
    there, had = Level.of(learned), Level.of(before)
    if not np.isfinite([there.deviation, had.deviation]).all():
        return there
    deviation = there.deviation / had.deviation
    return Level(there.mean - deviation * had.mean, deviation)


def _confirmed(
    labels: Labels, expected: FloatArray, trials: FloatArray, targets: FloatArray
) -> tuple[float, FloatArray]:
    """The share of a lesson that held-out labels confirm, and what it would be without each label's fold (r, l).

    Least squares of the targets on what was expected and on what the lesson changed, within folds, gives the share,
    with its standard error. The share by the number of labels counts as one more measurement.
    """
    folds, contrasts, evenness = labels.folds, labels.score.contrasts(), labels.score.evenness

    def usual(count: int) -> float:
        return evenness * count / (evenness * count + EQUAL_LABELS)

    def observed(values: FloatArray) -> FloatArray:
        return folds.within(values) if contrasts is None else np.asarray(contrasts @ values)

    same = np.broadcast_to(expected, trials.shape)
    was, changed = observed(same), observed(trials - same)
    truth = np.broadcast_to(targets, was.shape)
    means = 0
    if contrasts is None:
        truth, means = folds.within(truth), len(folds.rows(0))
    measure, shares = partial(measured_share, evenness=evenness), np.empty(folds.numbers.shape)
    for trial, unseen in enumerate(labels.unseen):
        for rows, out in zip(folds.rows(trial), unseen, strict=True):
            seen = np.setdiff1d(np.arange(len(targets)), out)
            others = (each[trial, seen][None] for each in (was, changed, truth))
            shares[trial, rows] = measure(*others, means=max(means - 1, 0), prior=usual(len(seen)))
    return measure(was, changed, truth, means=means, prior=usual(len(targets))), shares


def _reach(lesson: Lesson, share: float) -> float:
    """Squared distance to the next label that a share of labelled rows stays within; infinite without features."""
    if not lesson.covariance.has_features:
        return np.inf
    # Rows that are in several ordered pairs are there several times.
    points = np.unique(lesson.points[OF_FEATURES], axis=0)
    if len(points) < 3:
        return np.inf
    squares = euclidean_distances(points, squared=True)
    np.fill_diagonal(squares, np.inf)
    return float(np.quantile(squares.min(axis=1), share)) or np.inf
