"""Conclusion: what a run comes to, whether labels and references taught or labels only tuned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from manifuse.columns.diffused import Diffused
from manifuse.columns.edges import Joining
from manifuse.columns.expected import Expected
from manifuse.columns.imputed import Imputed
from manifuse.columns.run_order import Columns, Found, Given, refine_columns
from manifuse.columns.scored import Honest, Scored
from manifuse.columns.view import Level
from manifuse.columns.worth import worths_by_labels
from manifuse.diffusion.joint import Path, diffuse
from manifuse.diffusion.support import support_of_rows, typical_row_sums
from manifuse.evidence.gain import Gain
from manifuse.evidence.intervals import error_scale_of, standard_errors
from manifuse.evidence.relevance import final_weights
from manifuse.evidence.verdict import Verdict, judge_learned, judge_tuned
from manifuse.kernels.arrays import FloatArray
from manifuse.machine import products_in_one_thread
from manifuse.run.preparation import Prepared
from manifuse.run.refined import Refined
from manifuse.run.refiner import Refiner, support_of


@dataclass(frozen=True, eq=False)
class Conclusion:
    """What a run comes to.

    Attributes
    ----------
    verdict : Verdict
    path : Path or None
        Of the diffusion; None if nothing was diffused.
    refiner : Refiner
        With the refined scores, taken or not.
    found : Found or None
        All columns; None if labels only tuned.
    gain : Gain or None
        Of the refined scores at labels that were held out; None without labels.
    worths : mapping of int to Gain
        What is lost without each reference.
    worth : Gain or None
        The same without all of them.
    """

    verdict: Verdict
    path: Path | None
    refiner: Refiner
    found: Found | None
    gain: Gain | None
    worths: Mapping[int, Gain]
    worth: Gain | None


def conclude(prepared: Prepared) -> Conclusion:
    """Let every column of a prepared problem follow, and judge what comes of it."""
    with products_in_one_thread():
        return _learn(prepared) if prepared.setup.method.learning else _tune(prepared)


def _tune(prepared: Prepared) -> Conclusion:
    """Let labels choose the step size and the weight scale; without labels, take the references at their word."""
    problem, score, method = prepared.problem, prepared.score, prepared.setup.method
    path = diffuse(problem, prepared.bridges, prepared.active, score)
    refined = problem.units.from_sphere(path.predictions)
    gain = None if score is None else score.gain(problem.main.scores[score.rows], refined[score.rows])
    verdict = judge_tuned(path, prepared.active, gain, safeguarded=method.safeguarded)
    own, scores = Level.of(problem.main.scores[:, None]), problem.main.scores
    bridges = prepared.bridges.on_host()
    numbers = tuple(np.flatnonzero(prepared.active).tolist())
    looked_up = {n: bridges.lookups[n] for n in numbers if n in bridges.lookups}
    levels = tuple(Level(np.zeros(1), 1.0) for _ in numbers)
    places = {n: numbers.index(n) if n in numbers else -1 for n in bridges.lookups}
    columns = Columns(
        own=own,
        smoothed=None,
        references=Imputed(numbers, (), looked_up, levels),
        expected=Expected(np.zeros(len(numbers)), np.zeros((len(numbers), 1)), Level(np.zeros(1), 1.0)),
        learned=None,
        taught=None,
        diffused=Diffused("own", problem.start, bridges, places, path.coefficients),
        refined=None,
    )
    transport, weights = path.references, final_weights(path)
    support = support_of_rows(transport.row_sums * transport.reached, typical_row_sums(problem, transport), weights)
    scored = Scored(problem.units, None, 1.0, None)
    refiner = Refiner(
        problem.main, Joining.of(bridges.graph), columns, scored, scores, Refined(refined, support, None)
    )
    return Conclusion(verdict, path, refiner, None, gain, {}, None)


def _learn(prepared: Prepared) -> Conclusion:
    """Let labels and references teach."""
    problem, method, bridges = prepared.problem, prepared.setup.method, prepared.bridges
    given = Given(
        problem=problem,
        bridges=bridges,
        fidelity=np.array([seen.fidelity for seen in prepared.pair_evidence]),
        taking_part=prepared.taking_part,
        score=prepared.score,
        groups=prepared.groups,
        nearest=prepared.nearest,
        same_target=method.same_target,
        seed=prepared.setup.seed,
    )
    found = refine_columns(given)
    columns, fitted, own = found.columns, found.known.fitted, problem.main.scores
    honest = None
    if found.labels is not None:
        trials = found.known.trials.get(columns.last, found.known.trials["taught"])
        rows = found.labels.score.rows
        honest = Honest.of(problem.units, own[rows], trials, found.labels.score, found.labels.folds)
    verdict = judge_learned(found.agreement, None if honest is None else honest.gain, safeguarded=method.safeguarded)
    scored = Scored(problem.units, None, verdict.certainty, None) if honest is None else honest.scored
    scored, gain, errors = replace(scored, certainty=verdict.certainty), None, None
    if honest is not None:
        scored, gain = _measured(found, honest, scored, own)
        errors = standard_errors(fitted["variance"], scored.error_scale or 0.0)
    support = support_of(found.doubt, found.agreement.pulls)
    refiner = Refiner(
        main=problem.main,
        joining=None if columns.smoothed is None else Joining.of(bridges.graph),
        columns=columns,
        scored=scored,
        before=fitted[columns.before_diffusion].ravel(),
        fitted=Refined(scored.scores(own, fitted[columns.last]), support, errors),
    )
    return Conclusion(verdict, found.path, refiner, found, gain, *_worths(given, found, honest))


def _measured(found: Found, honest: Honest, scored: Scored, own: FloatArray) -> tuple[Scored, Gain]:
    """Calibrate standard errors, and measure the gain, by refined scores of held-out labelled rows."""
    assert found.labels is not None, "there are labels"
    assert found.variances is not None, "there are labels"
    score, folds = found.labels.score, found.labels.folds
    there = own[score.rows]
    refined = (1.0 - scored.certainty) * there + scored.certainty * honest.values
    scale = error_scale_of(refined, found.variances, score, folds)
    return replace(scored, error_scale=scale), score.gain(there, refined, folds)


def _worths(given: Given, found: Found, honest: Honest | None) -> tuple[Mapping[int, Gain], Gain | None]:
    """What references are worth: by labels, or by what the references say of each other."""
    if honest is not None:
        return worths_by_labels(given, found, honest)
    asked = found.agreement
    each = {
        number: Gain(float(worth), float(error), len(reference.main_rows), "correlation")
        for (number, reference), worth, error in zip(
            given.taking_part.items(), asked.worths, asked.worth_errors, strict=True
        )
        if np.isfinite(worth) and np.isfinite(error)
    }
    if not np.isfinite(asked.gain + asked.standard_error):
        return each, None
    pairs = max(len(reference.main_rows) for reference in given.taking_part.values())
    return each, Gain(asked.gain, asked.standard_error, pairs, "correlation")
