"""The order: how what is known of every row follows, column by column. It stands here, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from manifuse.columns.column import Known, Mixed
from manifuse.columns.diffused import Diffused, Diffusion
from manifuse.columns.expected import Expected
from manifuse.columns.imputed import Imputed, impute, known_at_pairs
from manifuse.columns.lesson import Learned
from manifuse.columns.own import Smoothed
from manifuse.columns.taught import Labels, Taught, teach
from manifuse.columns.view import Level, View, features_of
from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.joint import Path
from manifuse.evidence.agreement import Agreement, ask
from manifuse.evidence.one_factor import correlation
from manifuse.evidence.score import Score
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn_by_id
from manifuse.kernels.randomness import Stream, generator
from manifuse.records import Saved
from manifuse.tables.problem import Problem, Reference

#: The share of the diffused column, where the graph is worth something.
SHARE = 0.8

#: The graph is worth something if smoothed own scores correlate with the references by so much more than own scores
#: do, and if bridges predict references at held-out pairs worse than lessons do by less than the other number and half
#: of that gain.
LEAST_SMOOTHED, MOST_LOST = 0.005, 0.04

#: Rows that measure median distances.
MEASURING_ROWS = 300


@dataclass(frozen=True, eq=False)
class Given:
    """What the order starts from.

    Attributes
    ----------
    problem : Problem
    bridges : Bridges
        With the graph of the main table; without edges if there is none.
    fidelity : (m,) array
        How well each bridge predicts its reference at held-out pairs; 1 if it needs none.
    taking_part : mapping of int to Reference
        The references that take part, by their numbers.
    score : Score or None
        What labels measure.
    groups : mapping of int to str, or None
        Of the labelled rows.
    nearest : (n,) array of int or None
        The nearest other row of every main row.
    same_target : bool or None
        Whether the user says that all predict the same thing.
    seed : int
    """

    problem: Problem
    bridges: Bridges
    fidelity: FloatArray
    taking_part: dict[int, Reference]
    score: Score | None
    groups: dict[int, str] | None
    nearest: IndexArray | None
    same_target: bool | None
    seed: int

    @cached_property
    def measured(self) -> IndexArray:
        """The rows that measure distances."""
        keys = self.problem.main.keys
        return drawn_by_id(keys, np.arange(len(keys)), MEASURING_ROWS, generator(self.seed, Stream.DISTANCES))


@dataclass(frozen=True, eq=False)
class Columns(Saved):
    """All columns of a run, in their order. Each follows from those before it.

    Attributes
    ----------
    own : Level
        Of the main predictor's scores.
    smoothed : Smoothed or None
    references : Imputed
    expected : Expected
    learned : Taught or None
        What labels taught.
    taught : Mixed or None
        Expected and learned.
    diffused : Diffused or None
    refined : Mixed or None
        The last column and what was diffused of it.
    """

    own: Level
    smoothed: Smoothed | None
    references: Imputed
    expected: Expected
    learned: Taught | None
    taught: Mixed | None
    diffused: Diffused | None
    refined: Mixed | None

    def at(self, rows: View) -> View:
        """Complete what is known of rows, which have own scores already."""
        for name in [field.name for field in fields(self)][1:]:
            column = getattr(self, name)
            rows = rows if column is None else column.add_to(rows, name)
        return rows

    @property
    def last(self) -> str:
        """The name of the column that scores are made of."""
        if self.diffused is None:
            return self.before_diffusion
        return "diffused" if self.refined is None else "refined"

    @property
    def before_diffusion(self) -> str:
        """The name of the column that is, or would be, diffused."""
        return "taught" if self.taught is not None else "expected"


@dataclass(frozen=True, eq=False)
class Found:
    """What a run found.

    Attributes
    ----------
    columns : Columns
    known : Known
    doubt : (n, m) array
        How little is known of each reference's score at each row, in [0, 1].
    agreement : Agreement
        What the references answered.
    labels : Labels or None
    lesson : Learned or None
        What labels taught, and what it takes to hold them out.
    variances : (r, l) array or None
        Of the lesson at held-out labelled rows.
    path : Path or None
        Of the diffusion; None if nothing was diffused.
    """

    columns: Columns
    known: Known
    doubt: FloatArray
    agreement: Agreement
    labels: Labels | None
    lesson: Learned | None
    variances: FloatArray | None
    path: Path | None


def refine_columns(given: Given) -> Found:
    """Let every column follow from those before it: this is the method."""
    main, measured = given.problem.main, given.measured
    own, known = start(given)
    smoothed, known = smooth_own(given, known)
    references, known, doubt = impute(known, given.taking_part, measured, main.name)
    agreement = ask_references(given, known)
    expected, known = Expected.of(known, agreement.pulls)
    diffuses = is_worth_diffusing(given, known, agreement)
    labels, learned, taught, variances, lesson = None, None, None, None, None
    if given.score is not None:
        labels = hold_out(given, known, one_trial=diffuses)
        learned, taught, known, variances, lesson = teach(known, labels, measured, main.name)
    columns = Columns(own, smoothed, references, expected, learned, taught, None, None)
    if not diffuses:
        return Found(columns, known, doubt, agreement, labels, lesson, variances, None)
    columns, known, path = diffuse_last(given, columns, known, agreement, labels, lesson)
    return Found(columns, known, doubt, agreement, labels, lesson, variances, path)


def start(given: Given) -> tuple[Level, Known]:
    """Begin with own scores and features."""
    main = given.problem.main
    scores = main.scores.reshape(len(main), -1)
    own = Level.of(scores)
    view = View(features_of(main), {"own": own.apply(scores)}, known_mask(given))
    return own, Known(view, view)


def known_mask(given: Given) -> FloatArray:
    """Whether each reference that takes part knows each row, shape (n, m)."""
    known = np.zeros((len(given.problem.main), len(given.taking_part)))
    for column, reference in enumerate(given.taking_part.values()):
        known[reference.main_rows, column] = 1.0
    return known


def smooth_own(given: Given, known: Known) -> tuple[Smoothed | None, Known]:
    """Add the column "smoothed", if there is a graph."""
    if given.bridges.graph.neighbours == 0:
        return None, known
    column, values = Smoothed.over(given.bridges.graph, known.fitted["own"])
    return column, known.add("smoothed", values)


def ask_references(given: Given, known: Known) -> Agreement:
    """Ask the references that take part."""
    paired = known_at_pairs(list(given.taking_part.values()), len(given.problem.main))
    return ask(known.held_out["own"], paired, known.held_out["references"], same_target=given.same_target)


def is_worth_diffusing(given: Given, known: Known, agreement: Agreement) -> bool:
    """Whether the graph is worth something, by what neither smoothing nor bridges have seen.

    If references are followed, smoothed own scores must predict them better than own scores do, and bridges must carry
    them as well as lessons impute them. Else smoothed own scores must be better on the labels. Without features, the
    graph is all there is.
    """
    if "smoothed" not in known.fitted.columns:
        return False
    own, smoothed, score = known.fitted["own"], known.fitted["smoothed"], given.score
    if given.problem.main.table is None:
        return True
    if not agreement.is_followed:
        return score is not None and score.gain(own.ravel()[score.rows], smoothed.ravel()[score.rows]).value > 0
    gained, lost = np.zeros((2, len(given.taking_part)))
    for column, (number, reference) in enumerate(given.taking_part.items()):
        rows = reference.main_rows
        truth = known.fitted["references"][rows, column]
        gained[column] = correlation(smoothed[rows], truth) - correlation(own[rows], truth)
        if not reference.is_coupled:
            lost[column] = correlation(known.held_out["references"][rows, column], truth) - given.fidelity[number]
    gain, loss = (float(np.average(each, weights=agreement.pulls)) for each in (gained, lost))
    return gain > LEAST_SMOOTHED and loss < MOST_LOST + gain / 2.0


def hold_out(given: Given, known: Known, *, one_trial: bool) -> Labels:
    """Put labels into folds."""
    assert given.score is not None, "there are labels"
    keys = given.problem.main.keys
    labels = Labels.of(given.score, given.groups, known.fitted, keys, given.nearest, given.seed)
    return labels.first() if one_trial else labels


def diffuse_last(
    given: Given, columns: Columns, known: Known, agreement: Agreement, labels: Labels | None, lesson: Learned | None
) -> tuple[Columns, Known, Path]:
    """Add the columns "diffused" and "refined"."""
    before, numbers = columns.before_diffusion, list(given.taking_part)
    followed = tuple(number for number, pull in zip(numbers, agreement.pulls, strict=True) if pull != 0)
    diffusion = Diffusion(given.problem, given.bridges, followed)
    begun = known.held_out[before]
    path = diffusion.run(begun)
    places = {n: numbers.index(n) if n in numbers else -1 for n in given.bridges.lookups}
    sphere = given.problem.starting_from(begun).start
    diffused = Diffused(before, sphere, given.bridges.on_host(), places, path.coefficients)
    trials = None
    if labels is not None and lesson is not None:
        trials = diffuse_without_labels(diffusion, columns, known, labels, lesson)
    values = diffusion.values(path, begun)
    known = known.add("diffused", values, values, trials)
    refined, known = known.mix("refined", before, "diffused", SHARE)
    return replace(columns, diffused=diffused, refined=refined), known, path


def diffuse_without_labels(
    diffusion: Diffusion, columns: Columns, known: Known, labels: Labels, lesson: Learned
) -> FloatArray | None:
    """What would be diffused to each labelled row without the labels of its fold; None for ordered pairs."""
    if lesson.targets.shape[0] != len(labels.score.rows):
        return None
    assert columns.learned is not None, "labels taught"
    assert columns.taught is not None, "labels taught"
    learned, taught, rows = columns.learned, columns.taught, known.held_out

    def begun(fold: IndexArray) -> FloatArray:
        without = lesson.without_fold(learned.lesson, fold)
        values, _ = without.predict(rows, rows["expected"])
        faded = learned.fade(rows, learned.level.apply(values))
        return taught.at(rows.with_column("learned", faded))

    return diffusion.trials(labels.folds, labels.score.rows, begun)
