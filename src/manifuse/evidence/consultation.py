"""Consultation: what labels and references make of a prepared problem. The order of things is here, and nowhere else.

The references' scores are imputed at every main row. The references are asked whether they predict the same thing as
the main predictor. Those that do not are not followed, but labels may still learn from them. What is expected of a row
is its own score and, as far as the others agree, their consensus. Labels teach what is not as expected. From there the
joint diffusion starts, with the references that are followed, or over the own graph alone if none is. The result is a
mixture of both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from manifuse.diffusion.bridges import Bridges
from manifuse.diffusion.joint import Path, diffuse
from manifuse.diffusion.observations import Observations
from manifuse.diffusion.own_smoothing import Smoothing, SmoothingSetting
from manifuse.diffusion.problem import Problem
from manifuse.diffusion.randomness import Stream, generator
from manifuse.evidence.agreement import Agreement, ask
from manifuse.evidence.gain import Gain
from manifuse.evidence.imputed import Imputed
from manifuse.evidence.likeness import MEASURED, Likeness, Rows
from manifuse.evidence.mixture import MOST_SHARE, Mixture, Shares
from manifuse.evidence.one_factor import OneFactor
from manifuse.evidence.score import Score
from manifuse.evidence.teaching import Labels, Taught
from manifuse.kernels.arrays import FloatArray, IndexArray, drawn_by_id
from manifuse.kernels.columns import means_and_deviations

#: Rows squared times features up to which labels are worth a neighbour search that no bridge needs.
MOST_WORK = 5e10

#: Rounds of the diffusion over the own graph alone; more of them blur it.
ROUNDS_ALONE = 3

#: How the main predictor is smoothed to be a second opinion on its own rows: step size and ``sigma_f^2``.
STEP, SCALE = 10.0, 0.1


@dataclass(frozen=True, eq=False)
class Subject:
    """A prepared problem, and what does not change when references are left out.

    Attributes
    ----------
    problem : Problem
    bridges : Bridges
    score : Score or None
    seed : int
    same_target : bool
        Whether the user says that all predict the same thing.
    rows : Rows
        The fitted rows, without references.
    """

    problem: Problem
    bridges: Bridges
    score: Score | None
    seed: int
    same_target: bool
    rows: Rows

    @cached_property
    def measured(self) -> IndexArray:
        """The rows that measure distances."""
        keys = self.problem.main.keys
        return drawn_by_id(keys, np.arange(len(keys)), MEASURED, generator(self.seed, Stream.DISTANCES))

    def alone(self) -> Subject:
        """Return the same problem without references."""
        problem, bridges = self.problem, self.bridges
        return replace(self, problem=replace(problem, references=()), bridges=replace(bridges, anchors={}, lookups={}))


@dataclass(frozen=True, eq=False)
class Consultation:
    """What labels and references made of a problem.

    Attributes
    ----------
    imputed : Imputed
    likeness : Likeness
    labels : Labels or None
    agreement : Agreement
    taught : Taught
    path : Path
        The diffusion, from what was learned.
    shares : Shares
    mixture : Mixture
    scores : (n,) array
        The refined scores.
    honest : (n,) array
        The same, each labelled row without its own label.
    errors : (n,) array or None
        Standard errors of the refined scores; None without labels.
    """

    imputed: Imputed
    likeness: Likeness
    labels: Labels | None
    agreement: Agreement
    taught: Taught
    path: Path
    shares: Shares
    mixture: Mixture
    scores: FloatArray
    honest: FloatArray
    errors: FloatArray | None


def needs_own_graph(problem: Problem, score: Score | None) -> bool:
    """Whether labels are worth a neighbour search that no bridge needs: features vary, and the search is quick."""
    main = problem.main
    if score is None or problem.bridged or not main.has_graph:
        return False
    if main.table is None:
        return True
    rows, columns = main.table.shape
    return float(rows) ** 2 * columns <= MOST_WORK and bool(means_and_deviations(main.table)[1].any())


def smooth_own(main: Observations, bridges: Bridges) -> Smoothing | None:
    """Smooth the main predictor over the graph of the bridges; None if it has no edges."""
    graph = bridges.graph
    if graph.neighbours == 0:
        return None
    return Smoothing(main, graph, SmoothingSetting(graph.neighbours, graph.standardised, STEP, SCALE, 1))


def consult(subject: Subject, numbers: Sequence[int]) -> Consultation:
    """Consult the labels and the references ``numbers`` of a problem.

    Parameters
    ----------
    subject : Subject
    numbers : sequence of int
        The references that take part.
    """
    problem, rows = subject.problem, subject.rows
    name, own = problem.main.name, rows.scores[:, 0]
    plain = Likeness.of(rows, subject.measured, name)
    imputed = Imputed.of(problem, numbers, rows, own, plain)
    complete = rows.with_references(imputed.values)
    likeness = plain.with_references(complete, subject.measured)
    agreement = ask(own, known_scores(problem, numbers), imputed.held_out, same_target=subject.same_target)
    labels = (
        None
        if subject.score is None
        else Labels.of(subject.score, complete, likeness, problem.main.keys, subject.seed)
    )
    taught = Taught.of(complete, likeness, imputed, agreement.weights, agreement.trust, labels)
    path, diffused = _diffused(subject, taught, agreement.followed(numbers) if agreement.trust > 0 else ())
    shares = Shares.choose(taught.held_out, diffused, _usual_share(subject, agreement.trust), subject.score)
    mixture, honest = Mixture.of(
        taught.learned,
        taught.held_out,
        diffused,
        taught.held_out_variances,
        shares=shares,
        score=subject.score,
        units=problem.units,
    )
    scores = mixture.in_units(mixture.mix(taught.learned, diffused), problem.units)
    errors = mixture.errors(taught.variances)
    return Consultation(imputed, likeness, labels, agreement, taught, path, shares, mixture, scores, honest, errors)


def known_scores(problem: Problem, numbers: Sequence[int]) -> FloatArray:
    """The references' scores at their pairs, NaN elsewhere, shape (n, m)."""
    known = np.full((len(problem.main), len(numbers)), np.nan)
    for column, number in enumerate(numbers):
        reference = problem.references[number]
        known[reference.main_rows, column] = reference.paired
    return known


def worths(subject: Subject, found: Consultation, numbers: Sequence[int]) -> tuple[dict[int, Gain], Gain | None]:
    """What the honest score loses without each reference, and without all of them; empty without labels."""
    score = subject.score
    if score is None or not numbers:
        return {}, None

    def loss(kept: Sequence[int]) -> Gain:
        honest = _honest_without(subject, found, numbers, kept)
        return score.gain(honest, found.honest[score.rows])

    alone = loss(())
    if len(numbers) == 1:
        return {numbers[0]: alone}, alone
    return {number: loss([k for k in numbers if k != number]) for number in numbers}, alone


def _honest_without(subject: Subject, found: Consultation, numbers: Sequence[int], kept: Sequence[int]) -> FloatArray:
    """What the refined scores would be at the labelled rows (l,) by the references ``kept``, without their own labels.

    The trust and the shares stay. Without any reference the variances of the lesson are found anew. If references were
    followed before, the share of the diffusion over the own graph is chosen anew, too.
    """
    labels, score = found.labels, subject.score
    assert labels is not None, "worths were asked for without labels"
    assert score is not None, "worths were asked for without labels"
    imputed = found.imputed.only([numbers.index(number) for number in kept])
    followed = [number for number in found.agreement.followed(numbers) if number in kept]
    weights = np.zeros(len(kept))
    weights[np.isin(kept, followed)] = OneFactor.of(
        subject.rows.scores[:, 0], known_scores(subject.problem, followed)
    ).weights
    trust = found.agreement.trust if followed else 0.0
    anew = (trust > 0) is not (found.agreement.trust > 0)
    usual = _usual_share(subject, trust)
    diffuses = usual > 0 if anew else found.shares.any_diffused
    rows, measured = subject.rows.with_references(imputed.values), score.rows
    likeness = found.likeness.with_references(rows, subject.measured)
    if not diffuses and len(labels.rows) == len(score.rows):
        # Without diffusion the other rows say nothing of the labelled ones.
        rows, imputed, labels = rows.take(labels.rows), imputed.take(labels.rows), labels.alone()
        measured = np.arange(len(labels.rows))
    lesson = found.taught.teaching.lesson
    variances = lesson.variances if lesson and kept else None
    taught = Taught.of(rows, likeness, imputed, weights, trust, labels, variances)
    diffused = taught.held_out
    if diffuses:
        diffused = (_diffused(subject, taught, followed) if trust > 0 else _diffused(subject.alone(), taught, ()))[1]
    here = score.at(measured)
    shares = Shares.choose(taught.held_out, diffused, usual, here) if anew else found.shares
    honest = Mixture.of(
        taught.learned, taught.held_out, diffused, None, shares=shares, score=here, units=subject.problem.units
    )[1]
    return np.asarray(honest[measured])


def _usual_share(subject: Subject, trust: float) -> float:
    """The share of the diffused predictions, unless labels choose another.

    It grows with the ``trust`` in the references. If they are not followed, the predictions diffuse over the own graph
    alone, if there is one.
    """
    if trust > 0:
        return MOST_SHARE * trust
    bridges = subject.bridges
    return MOST_SHARE if bridges.graph.neighbours and bridges.method.smoothing > 0 else 0.0


def _diffused(subject: Subject, taught: Taught, numbers: Sequence[int]) -> tuple[Path, FloatArray]:
    """Diffuse from what was learned, with some references or none; also the predictions (n,), standardised."""
    problem, bridges = subject.problem, subject.bridges
    if not len(numbers):
        method = bridges.method
        bridges = replace(bridges, method=replace(method, rounds=min(ROUNDS_ALONE, method.rounds)))
    active = np.isin(np.arange(len(problem.references)), numbers).astype(np.float64)
    path = diffuse(problem.starting_from(taught.held_out), bridges, active, None)
    return path, problem.units.standardised_from_sphere(path.predictions)
